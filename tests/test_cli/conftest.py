"""The survey that tests of ``tabsoda impute`` share."""

import pytest
from impute_runs import write_survey


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Return a folder with a survey, its rules and its mask."""
    return write_survey(tmp_path_factory.mktemp("survey"))
