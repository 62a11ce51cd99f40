"""A real SAS file: nothing here can write one, so the one that R's haven package ships is read."""

import os
from pathlib import Path

import numpy as np
import pytest

from tabsoda.reading import read_survey

_PLACES = ("/usr/lib/R/site-library", "/usr/local/lib/R/site-library", "/usr/lib/R/library")


@pytest.fixture
def iris() -> Path:
    places = [os.environ.get("R_LIBS_SITE", ""), *_PLACES]
    for place in places:
        file = Path(place) / "haven" / "examples" / "iris.sas7bdat"
        if file.is_file():
            return file
    pytest.skip("haven's example file is not here")


def test_answers_of_a_real_sas_file(iris):
    survey = read_survey(iris)
    assert survey.table.shape == (150, 5)
    assert survey.table.states.answered.all()
    # Fisher's iris data: known means, and fifty flowers of each species.
    assert survey.table.values[:, :4].mean(axis=0) == pytest.approx(
        [5.843, 3.057, 3.758, 1.199], abs=0.001
    )
    assert np.bincount(survey.table.values[:, 4].astype(int)).tolist() == [50, 50, 50]
