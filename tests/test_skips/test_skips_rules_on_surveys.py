"""Rules mined from real surveys: saved, read back, applied and drawn."""

import pytest

from tabsoda.reading import read_survey
from tabsoda.skips.checking import check
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.rule_set import RuleSet

SURVEYS = [
    "nhanes2015_16",
    "nhts2022_person",
    "nlsy97_religion_panel",
    "nsduh2023_youth",
    "nsfg2006_2010_male",
    "nyts2019_products",
]


@pytest.mark.parametrize("name", SURVEYS)
def test_mined_rules_survive_their_file_and_give_the_mined_mask(surveys, tmp_path, name):
    folder = surveys / name
    survey = read_survey(folder / "values.parquet", folder / "schema.json")
    mined = SkipMiner().mine(survey.table)
    rules = RuleSet.from_mined(mined, survey.table.columns)
    rules.to_toml(tmp_path / "rules.toml")
    again = RuleSet.from_toml(tmp_path / "rules.toml")
    assert again == rules
    assert again.apply(survey.table) == mined.states

    result = check(survey.table, again)
    assert result.states == mined.states
    assert result.totals["skipped"] == int(mined.states.skipped.sum())
    for rule, finding in zip(again, result.rules, strict=True):
        assert finding.fired == rule.evidence.fired_blank + rule.evidence.fired_answered
        assert finding.answered == rule.evidence.fired_answered
    assert len(rules.graph().edges) >= len(rules)
