"""A gate that comes after its follower in the file is drawn before it."""

import numpy as np
import polars as pl

from tabsoda import RuleSet, TabSODAImputer, read_survey
from tabsoda.skips.rules import Condition, SkipRule


def test_no_draw_breaks_a_rule_whose_gate_comes_later():
    rng = np.random.default_rng(3)
    form = rng.integers(0, 2, 300).astype(float)
    answer = np.where(form == 0, rng.integers(1, 4, 300), np.nan)
    form[:60] = np.nan
    answer[30:45] = np.nan
    columns = {"A2": answer, "AGE": rng.integers(18, 90, 300).astype(float), "FORM": form}
    frame = pl.DataFrame(columns).fill_nan(None)
    survey = read_survey(
        frame,
        [
            {"name": "A2", "type": "nominal", "levels": [1, 2, 3]},
            {"name": "AGE", "type": "continuous"},
            {"name": "FORM", "type": "nominal", "levels": [0, 1]},
        ],
    )
    follower, other, gate = survey.table.columns
    rule = SkipRule("r1", "A2", ((Condition("FORM", (1,)),),))
    # The order of the rule set is that of the interview.
    rules = RuleSet((rule,), (gate, follower, other)).approve()

    imputer = TabSODAImputer(quality="tiny", rules=rules, random_state=1)
    result = imputer.fit(survey).impute(survey, m=4)

    answered = ~np.isnan(answer)
    for number in range(1, 5):
        values = result.values(number)
        assert not np.isnan(values[:, 2]).any()
        # Who answered A2 had form 0; who has form 1 in a draw has no answer to A2 in it.
        assert (values[answered, 2] == 0).all()
        assert np.array_equal(np.isnan(values[:, 0]), values[:, 2] == 1)
    drawn = np.array([result.values(number)[:60, 2] for number in range(1, 5)])
    unknown = drawn[:, ~answered[:60]]
    assert 0 < unknown.mean() < 1
