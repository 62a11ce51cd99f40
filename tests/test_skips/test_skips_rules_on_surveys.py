"""Rules mined from real surveys: saved, read back, applied and drawn."""

import numpy as np
import pytest

from tabsoda.reading import read_survey
from tabsoda.skips.checking import check
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.rule_set import RuleSet


@pytest.mark.parametrize("name", ["nyts2019_products", "nhanes2015_16"])
def test_mined_rules_survive_their_file_and_give_the_mined_mask(surveys, tmp_path, name):
    folder = surveys / name
    survey = read_survey(folder / "values.parquet", folder / "schema.json")
    mined = SkipMiner().mine(survey.table)
    rules = RuleSet(mined.rules, survey.table.columns)
    rules.to_toml(tmp_path / "rules.toml")
    again = RuleSet.from_toml(tmp_path / "rules.toml")
    assert again == rules
    applied = again.apply(survey.table).skipped
    # All that the miner marked; more only for respondents it took to have left the interview.
    assert not (mined.states.skipped & ~applied).any()
    withheld = [e.column for e in mined.events if e.decision.startswith("skips withheld")]
    extra = np.flatnonzero((applied & ~mined.states.skipped).any(axis=0))
    assert {survey.table.names[position] for position in extra} <= set(withheld)

    result = check(survey.table, again)
    assert result.totals["skipped"] == int(applied.sum())
    for rule, finding in zip(again, result.rules, strict=True):
        assert finding.fired == rule.evidence.fired_blank + rule.evidence.fired_answered
        assert finding.answered == rule.evidence.fired_answered
    assert len(rules.graph().edges) >= len(rules)
