"""A project with two finished runs, made once and copied for every test."""

import shutil
from pathlib import Path

import pytest

from tabsoda import TabSODAImputer
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import open_survey
from tabsoda.imputer.file_imputation import impute_file


@pytest.fixture(scope="session")
def two_runs(survey_file, tmp_path_factory) -> Path:
    """Return a project folder with the survey inside and the runs ``first`` and ``second``."""
    folder = tmp_path_factory.mktemp("finished") / "study"
    (folder / "data").mkdir(parents=True)
    shutil.copy(survey_file, folder / "data" / "survey.csv")
    project = Project(folder)
    open_survey(project, project.version, folder / "data" / "survey.csv")
    imputer = TabSODAImputer(
        quality="tiny", random_state=1, skips="mine", accept_unreviewed=True, device="cpu"
    )
    data, described = folder / "data" / "survey.csv", {"description": folder / "survey.toml"}
    impute_file(data, imputer, folder / "runs" / "first", m=3, **described)
    # The same fit: fitting takes most of the time.
    imputer.set_params(random_state=2)
    impute_file(data, imputer, folder / "runs" / "second", m=4, report=False, **described)
    return folder


@pytest.fixture
def finished(two_runs, tmp_path) -> Project:
    """Return a copy of the project."""
    shutil.copytree(two_runs, tmp_path / "study")
    return Project(tmp_path / "study")
