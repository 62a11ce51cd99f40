"""Generated stand-ins of the two public-use files: real names and code conventions, made-up people.

Labels repeat the code as in the published files: "1 = Yes" (PATH), "99 - LEGITIMATE SKIP" (NSDUH).
"""

from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import polars as pl
import pyreadstat

from tabsoda.datasets.listed_variables import listed_variables
from tabsoda.schema import ColumnKind

PATH_CODES = {-9: "Missing", -8: "Don't know", -7: "Refused", -1: "Inapplicable"}
NSDUH_CODES = {
    85: "BAD DATA Logically assigned",
    94: "DON'T KNOW",
    97: "REFUSED",
    98: "BLANK (NO ANSWER)",
    99: "LEGITIMATE SKIP",
}
YES_NO = ("Yes", "No")
NOW = ("Every day", "Some days", "Not at all")
AMOUNT = ("Less than 1", "1 to 10", "11 to 20", "21 to 50", "51 to 99", "100 or more")
OFTEN = (
    "All of the time",
    "Most of the time",
    "Some of the time",
    "A little of the time",
    "None of the time",
)
SECTIONS = {
    "C": "AC1002",
    "E": "AE1001",
    "G": "AG1001",
    "P": "AP1001",
    "S": "AS1001",
    "U": "AU1001",
}

Labels = dict[str, dict[int, str]]


def path_file(n_rows: int = 400) -> tuple[pl.DataFrame, Labels]:
    """Return a wave 1 adult file: in each tobacco section a gate that skips the rest of it."""
    rng = np.random.default_rng(1)
    taste = rng.standard_normal(n_rows)
    data: dict[str, object] = {"PERSONID": [f"P{i:08d}" for i in range(n_rows)]}
    labels: Labels = {}

    def add(name: str, texts: tuple[str, ...], asked: np.ndarray | None = None) -> np.ndarray:
        codes = _answers(rng, taste, len(texts))
        codes[rng.random(n_rows) < 0.03] = rng.choice([-8, -7, -9])
        if asked is not None:
            codes[~asked] = -1
        data[name] = codes
        own = dict(enumerate(texts, 1)) | PATH_CODES
        labels[name] = {code: f"{code} = {text}" for code, text in own.items()}
        return codes

    data["R01R_A_AGECAT7"] = rng.integers(1, 8, n_rows)
    bands = ("18 to 24", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 to 74")
    ages = {i: f"{i} = {text} years old" for i, text in enumerate(bands, 1)}
    labels["R01R_A_AGECAT7"] = ages | {7: "7 = 75 years old or older"}
    for letter, gate in SECTIONS.items():
        ever = add(f"R01_{gate}", YES_NO)
        asked = ever == 1
        add(f"R01_A{letter}1003" + ("FC" if letter == "G" else ""), NOW, asked)
        for number in range(6):
            add(f"R01_A{letter}2{number:03d}", YES_NO, asked)
        for number in range(4):
            add(f"R01_A{letter}3{number:03d}", AMOUNT, asked)
        if letter == "C":
            add("R01_AC0100", ("Today", "This week", "This month", "This year", "Earlier"), asked)
            years = rng.integers(8, 60, n_rows)
            data["R01_AC9050"] = np.where(asked, years, -1)
        if letter == "G":
            add("R01_AG1005FC", AMOUNT, asked)
    data["R01_AM0018"] = rng.integers(1, 7, n_rows)
    data["R01_A_PWGT"] = rng.random(n_rows) * 5000
    return pl.DataFrame(data), labels


def nsduh_file(n_rows: int = 400) -> tuple[pl.DataFrame, Labels]:
    """Return a file of 2021: the listed variables, and questionnaire items behind gates."""
    rng = np.random.default_rng(2)
    taste = rng.standard_normal(n_rows)
    adult = rng.random(n_rows) < 0.75
    data: dict[str, object] = {
        "QUESTID2": np.arange(43_295_143, 43_295_143 + n_rows),
        "FILEDATE": ["10/12/2022"] * n_rows,
    }
    labels: Labels = {}
    recency = {}
    for name in ("IRCIGRC", "IRALCRC", "IRMJRC"):
        recency[name[2:4]] = np.array([1, 2, 3, 9])[_answers(rng, taste, 4) - 1]
        data[name] = recency[name[2:4]]
    for variable in listed_variables("nsduh"):
        name = variable.names[0]
        if name in data:
            continue
        if variable.kind is ColumnKind.CONTINUOUS:
            data[name] = _number(rng, taste, name, recency)
            continue
        texts = OFTEN if variable.kind is ColumnKind.ORDINAL else YES_NO
        codes = _answers(rng, taste, len(texts))
        if not name.startswith("IR"):
            codes[rng.random(n_rows) < 0.03] = rng.choice([85, 94, 97, 98])
        if name.startswith(("DST", "IMP", "IRMARIT")):
            codes[~adult] = 99
        data[name] = codes
        own = dict(enumerate(texts, 1)) | NSDUH_CODES
        labels[name] = {code: f"{code} - {text}" for code, text in own.items()}
    for section in ("CG", "AL", "MJ", "CC", "HL"):
        gate = _answers(rng, taste, 2)
        data[f"{section}EVER"] = np.where(rng.random(n_rows) < 0.02, 94, gate)
        for number in range(15):
            codes = _answers(rng, taste, 3)
            codes[rng.random(n_rows) < 0.02] = 97
            data[f"{section}ITEM{number}"] = np.where(gate == 1, codes, 91)
    data["ANALWT2_C"] = rng.random(n_rows) * 1000
    return pl.DataFrame(data), labels


def write(content: tuple[pl.DataFrame, Labels], path: Path) -> Path:
    """Write a file in the format that its ending names."""
    frame, labels = content
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".sav":
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    elif path.suffix.lower() == ".dta":
        pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)
    else:
        frame.write_csv(path, separator="," if path.suffix == ".csv" else "\t")
    return path


def write_codebook(labels: Labels, path: Path) -> Path:
    """Write the labels as a DDI codebook, which text files come with."""
    variables = "".join(
        f'<var name="{name}">'
        + "".join(
            f"<catgry><catValu>{code}</catValu><labl>{escape(text)}</labl></catgry>"
            for code, text in own.items()
        )
        + "</var>"
        for name, own in labels.items()
    )
    path.write_text(f"<codeBook><dataDscr>{variables}</dataDscr></codeBook>", encoding="utf-8")
    return path


def _answers(rng: np.random.Generator, taste: np.ndarray, n_levels: int) -> np.ndarray:
    """Draw answers 1 to n_levels that depend on a common factor."""
    score = 0.8 * taste + 0.6 * rng.standard_normal(taste.size)
    cuts = np.quantile(score, np.arange(1, n_levels) / n_levels)
    return np.searchsorted(cuts, score) + 1


def _number(
    rng: np.random.Generator, taste: np.ndarray, name: str, recency: dict[str, np.ndarray]
) -> np.ndarray:
    if name == "BMI2":
        return np.round(27 + 4 * taste + rng.standard_normal(taste.size), 2)
    last = recency[name[2:4]]
    if name.endswith("AGE"):
        ages = np.clip(np.round(18 + 4 * taste + rng.standard_normal(taste.size)), 5, 60)
        return np.where(last == 9, 991, ages)
    days = rng.integers(1, 366, taste.size)
    return np.where(last == 9, 991, np.where(last == 3, 993, days))
