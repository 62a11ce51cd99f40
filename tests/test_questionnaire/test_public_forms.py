"""Public forms with the answers that were collected with them.

``TABSODA_FORMS`` names a folder with copies of the public repositories
``ceat-epfl/household-surveys-thesis-vpc`` (KoboToolbox forms, households in Abidjan and Nairobi)
and ``emma-morgan/QualtricsTools`` (Qualtrics surveys with exports of two generations), each in a
folder of the repository's name.
"""

import os
from pathlib import Path

import polars as pl
import pytest

from tabsoda import check, read_survey_with_form

FORMS = Path(os.environ.get("TABSODA_FORMS", ""))
KOBO = FORMS / "household-surveys-thesis-vpc"
QUALTRICS = FORMS / "QualtricsTools" / "data" / "Sample Surveys"

pytestmark = pytest.mark.skipif(
    "TABSODA_FORMS" not in os.environ, reason="TABSODA_FORMS does not name a folder of forms"
)


@pytest.mark.parametrize(
    ("city", "form", "n_rows", "n_rules", "n_skipped"),
    [
        ("Abidjan", "Abidjan_2022.xls", 567, 15, 3_324),
        ("Nairobi", "Nairobi_2021.xls", 1_147, 15, 4_133),
    ],
)
def test_households_follow_their_form(
    city: str, form: str, n_rows: int, n_rules: int, n_skipped: int
) -> None:
    answers = pl.read_csv(KOBO / "data" / "household_data.csv", infer_schema_length=0)
    answers = answers.drop("").filter(pl.col("City") == city)
    found = read_survey_with_form(answers, KOBO / "questionnaires" / form)
    totals = check(found.survey.table, found.rules).totals
    assert (answers.height, len(found.rules), totals["skipped"]) == (n_rows, n_rules, n_skipped)
    assert totals["answered_although_skipped"] == 0
    # The data have no column for the consent and for one of the items, which others depend on.
    reasons = {one.why for one in found.untranslated if one.part != "answers"}
    assert "'Informed_consent' is not in the data" in reasons
    assert "the data have no column for option 'Table' of 'HHITEMS'" in reasons


@pytest.mark.parametrize(
    ("form", "answers", "n_rules"),
    [
        ("Sample Survey/Sample_Survey.qsf", "Sample_Survey.csv", 26),
        ("Better Sample Survey/Better_Sample_Survey.qsf", "Better_Sample_Survey.csv", 23),
    ],
)
def test_respondents_follow_the_logic_of_qualtrics(form: str, answers: str, n_rules: int) -> None:
    place = QUALTRICS / form
    found = read_survey_with_form(place.with_name(answers), place, unlisted="missing")
    totals = check(found.survey.table, found.rules).totals
    assert (len(found.rules), totals["answered_although_skipped"]) == (n_rules, 0)


@pytest.mark.parametrize(
    ("folder", "form", "answers"),
    [
        ("Multiple Answer Matrix Questions", "Multiple_Answer_Matrix_Questions", " (Insights)"),
        ("Single Answer Matrix Questions", "Single_Answer_Matrix_Questions", " (Insights)"),
        ("No Basis for Evaluation", "No_Basis_for_Evaluation", " (Insights)"),
        ("No Basis for Evaluation", "No_Basis_for_Evaluation", " (Legacy)"),
        ("Multiple Answer Multiple Choices Questions", "Multiple_Answer_MC_Questions", ""),
        ("Matrix Single Answer Survey", "Matrix_Single_Answer_Testing", ""),
    ],
)
def test_all_questions_of_qualtrics_have_their_columns(
    folder: str, form: str, answers: str
) -> None:
    place = QUALTRICS / folder
    found = read_survey_with_form(
        place / f"{form}{answers}.csv", place / f"{form}.qsf", unlisted="missing"
    )
    assert found.absent == ()
    # No header row was taken for a respondent.
    assert found.survey.frame[:, 0].str.starts_with("R_").all()
