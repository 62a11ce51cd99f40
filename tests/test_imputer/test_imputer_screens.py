"""The screen and the preset of the miner that an imputer is given are those that it uses."""

import json
from dataclasses import replace

import numpy as np
import pytest
from small_imputers import imputer

from tabsoda import mine_rules, read_survey
from tabsoda.datasets import make_survey
from tabsoda.errors import InputError

PAPER = {
    "skips": "mine",
    "screen": "paper",
    "miner": "small-survey",
    "gate_policy": "keep",
}


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screens")
    make_survey(1500, 14, seed=4, nonresponse=0.02).write(folder)
    return read_survey(folder / "survey.csv", folder / "survey.toml")


def test_fit_and_transform_use_what_the_chosen_screen_finds(survey, tmp_path):
    fitted = imputer(**PAPER).fit(survey)
    expected = mine_rules(survey, "small-survey", screen="paper")
    assert fitted.rules_ == expected
    assert fitted.rules_ != mine_rules(survey)
    result = fitted.impute(survey, m=1)
    np.testing.assert_array_equal(result.table.states.skipped, expected.apply(survey.table).skipped)
    fitted.save(tmp_path / "model")
    loaded = type(fitted).load(tmp_path / "model", device="cpu")
    assert (loaded.screen, loaded.miner) == ("paper", "small-survey")
    content = json.loads((tmp_path / "model" / "imputer.json").read_text())
    # Models saved before had no hash of this file either.
    del content["screen"], content["miner"], content["own_sha256"]
    (tmp_path / "model" / "imputer.json").write_text(json.dumps(content))
    earlier = type(fitted).load(tmp_path / "model", device="cpu")
    assert (earlier.screen, earlier.miner) == (None, None)


def test_a_screen_that_cannot_be_used_is_an_error(survey):
    for wrong, message in (
        ({"screen": "paper"}, "screen is for mining"),
        ({"miner": "path"}, "miner is for mining"),
        ({"skips": "mine", "screen": "strict"}, "Unknown screen"),
        ({"skips": "mine", "miner": "nsduh"}, "Unknown preset of the miner"),
    ):
        with pytest.raises(InputError, match=message):
            imputer(**wrong).fit(survey)


def test_rules_that_a_survey_brings_must_be_of_the_screen_asked_for(survey):
    prepared = imputer(**PAPER).prepare(survey)
    assert imputer(**PAPER).prepare(prepared).rules is prepared.rules
    with pytest.raises(InputError, match=r"different screen.*'paper'.*'purity'"):
        imputer(skips="mine", screen="purity").prepare(prepared)
    with pytest.raises(InputError, match="different settings"):
        imputer(skips="mine", screen="paper", miner="path").prepare(prepared)
    bare = replace(prepared, rules=None)
    assert imputer(skips="mine").prepare(bare).rules.provenance.screen == "purity"
