"""Forms and answers written to files, for the tests of questionnaires."""

from pathlib import Path

import numpy as np
import openpyxl
import polars as pl

SURVEY = [
    ["type", "name", "label::English (en)", "label::Français (fr)", "relevant", "constraint"],
    ["start", "start", None, None, None, None],
    ["note", "hello", "Welcome", None, None, None],
    ["integer", "age", "Age in <b>years</b>", "Âge", None, ". >= 15 and . <= 99"],
    ["select_one yn", "smokes", "Do you smoke?", None, None, None],
    ["begin_group", "smoking", "Smoking", None, "${smokes} = 'yes'", None],
    ["integer", "a_day", "Cigarettes a day", None, None, ". > 0 and . < ${age}"],
    ["select_multiple brand", "brands", "Which brands?", None, "${a_day} >= 10", None],
    ["select_one yn", "quit", "Tried to quit?", None, "selected(${brands}, 'b')", None],
    ["end_group", None, None, None, None, None],
    ["select_one agree", "tax", "Tax more", None, "${age} >= 18 or ${smokes} != 'no'", None],
    ["decimal", "income", "Income", None, "regex(${tax}, '^a') and ${age} > 17", None],
]
CHOICES = [
    ["list_name", "name", "label::English (en)"],
    ["yn", "yes", "Yes"],
    ["yn", "no", "No"],
    ["yn", "dk", "Don't know"],
    ["brand", "a", "Brand A"],
    ["brand", "b", "Brand B"],
    ["agree", 1, "Strongly disagree"],
    ["agree", 2, "Disagree"],
    ["agree", 3, "Agree"],
    ["agree", 4, "Strongly agree"],
]


def write_workbook(path: Path, **sheets: list[list[object]]) -> Path:
    """Write a workbook with sheets of rows."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return path


def smoking_answers(n: int = 300) -> pl.DataFrame:
    """Return answers that follow the form of :data:`SURVEY`, as KoboToolbox exports them."""
    random = np.random.default_rng(0)
    age = random.integers(15, 90, n)
    smokes = random.choice(["yes", "no", "dk"], n, p=[0.55, 0.4, 0.05])
    smoker = smokes == "yes"
    a_day = np.where(smoker, random.integers(1, 30, n), np.nan)
    asked = smoker & (a_day >= 10)
    a, b = (np.where(asked, random.integers(0, 2, n), np.nan) for _ in range(2))
    tries = np.where(b == 1, random.choice(["yes", "no"], n), None)
    tax = np.where((age >= 18) | (smokes != "no"), random.integers(1, 5, n).astype(float), np.nan)
    income = np.where(age > 17, random.integers(0, 9999, n).astype(float), np.nan)
    return pl.DataFrame(
        {
            "_id": np.arange(n) + 5000,
            "age": age,
            "smokes": smokes,
            "smoking/a_day": a_day,
            "smoking/brands/a": a,
            "smoking/brands/b": b,
            "smoking/quit": list(tries),
            "tax": tax,
            "income": income,
        }
    ).fill_nan(None)
