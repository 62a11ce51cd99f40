"""Routing rules from a questionnaire form: read them, compare them with the data, impute.

    python examples/questionnaire.py [FOLDER] [QUALITY]

Writes a small Qualtrics survey (survey.qsf) and answers collected with it; an XLSForm of ODK,
KoboToolbox or SurveyCTO is read the same way.
"""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl

from tabsoda import TabSODAImputer, check, read_survey_with_form


def main(folder: Path, quality: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_form(folder / "survey.qsf")
    answers().write_csv(folder / "answers.csv")

    found = read_survey_with_form(folder / "answers.csv", folder / "survey.qsf")
    print(*found.rules.sentences(), sep="\n")
    for one in found.untranslated:
        print(f"not translated: {one.question}, {one.text} ({one.why})")
    totals = check(found.survey.table, found.rules).totals
    print(f"{totals['answered_although_skipped']} answers against the form")
    print(f"{totals['skipped']} skips, {totals['unexplained']} blanks to impute")

    # The form approves its rules, so no review is needed.
    imputer = TabSODAImputer(quality=quality, description=found.survey.schema, rules=found.rules)
    result = imputer.fit(found.survey).impute(found.survey, m=3)
    for number, table in enumerate(result, 1):
        asked = table.filter(pl.col("smokes") == 1)["per_day"].null_count()
        others = table.filter(pl.col("smokes") == 2)["per_day"].drop_nulls().len()
        print(f"draw {number}: {asked} smokers without an answer, {others} others with one")


def write_form(path: Path) -> None:
    """Write a survey in which cigarettes per day are asked of smokers only."""
    smokes = {
        "QuestionID": "QID1",
        "DataExportTag": "smokes",
        "QuestionText": "Do you smoke?",
        "QuestionType": "MC",
        "Selector": "SAVR",
        "Choices": {"1": {"Display": "Yes"}, "2": {"Display": "No"}},
    }
    condition = {
        "LogicType": "Question",
        "LeftOperand": "q://QID1/SelectableChoice/1",
        "Operator": "Selected",
    }
    per_day = {
        "QuestionID": "QID2",
        "DataExportTag": "per_day",
        "QuestionText": "How many cigarettes per day?",
        "QuestionType": "TE",
        "Validation": {"Settings": {"ContentType": "ValidNumber"}},
        "DisplayLogic": {"0": {"0": condition, "Type": "If"}, "Type": "BooleanExpression"},
    }
    block = {
        "Type": "Default",
        "ID": "BL1",
        "BlockElements": [{"Type": "Question", "QuestionID": q} for q in ("QID1", "QID2")],
    }
    elements = [
        {"Element": "BL", "Payload": [block]},
        {"Element": "FL", "Payload": {"Flow": [{"Type": "Block", "ID": "BL1"}]}},
        {"Element": "SQ", "Payload": smokes},
        {"Element": "SQ", "Payload": per_day},
    ]
    path.write_text(json.dumps({"SurveyElements": elements}), encoding="utf-8")


def answers() -> pl.DataFrame:
    """Return 300 interviews; some smokers do not say how much they smoke."""
    random = np.random.default_rng(1)
    smokes = random.choice([1, 2], 300)
    per_day = np.where(smokes == 1, random.integers(1, 30, 300), 0).astype(float)
    silent = (random.random(300) < 0.15) & (smokes == 1)
    age = random.integers(18, 90, 300)
    blank = silent | (smokes == 2)
    numbers = [None if hidden else value for hidden, value in zip(blank, per_day, strict=True)]
    return pl.DataFrame({"age": age, "smokes": smokes, "per_day": numbers})


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(Path(given.get(1, "example_output")), given.get(2, "balanced"))
