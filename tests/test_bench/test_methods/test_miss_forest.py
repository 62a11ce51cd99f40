from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from tabsoda.bench.methods import miss_forest
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.miss_forest import MissForest

# Few trees leave some rows in every bag; the defaults do not.
pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


def test_stops_when_the_out_of_bag_error_rises_and_returns_the_round_before(small_survey):
    table = small_survey.table
    run = MissForest(n_trees=6, n_jobs=1).run(table, 1, SkipView.LEVEL)
    *improving, last = run.errors
    assert len(run.errors) < 10
    assert last >= improving[-1]
    assert all(later < earlier for earlier, later in pairwise(improving))
    shorter = MissForest(n_trees=6, n_jobs=1, max_rounds=len(improving))
    before = shorter.run(table, 1, SkipView.LEVEL).estimates
    assert np.array_equal(before.mode, run.estimates.mode, equal_nan=True)


def test_the_number_of_rounds_is_limited(monkeypatch, small_survey):
    falling = iter(np.linspace(0.9, 0.1, 20))
    monkeypatch.setattr(MissForest, "_round", lambda *_: ({}, next(falling)))
    complete = small_survey.table
    monkeypatch.setattr(miss_forest, "estimates_from", lambda *_: None)
    run = MissForest(max_rounds=4).run(complete, 1, SkipView.LEVEL)
    assert len(run.errors) == 4


def test_threads_change_nothing(small_survey):
    first, second = (
        MissForest(n_trees=10, max_rounds=1, n_jobs=jobs).impute(
            small_survey.table, 3, SkipView.BLIND
        )
        for jobs in (1, 2)
    )
    assert np.array_equal(first.mode, second.mode, equal_nan=True)


@pytest.mark.parametrize(
    ("changes", "leaves"),
    [({}, (5, 1)), ({"number_leaf_rows": 1, "level_leaf_rows": 5}, (1, 5))],
)
def test_forests_get_the_square_root_of_predictors_and_leaves_by_kind(
    changes, leaves, monkeypatch, small_survey
):
    made = []
    for name in ("RandomForestClassifier", "RandomForestRegressor"):
        original = getattr(miss_forest, name)

        def build(original=original, **options):
            forest = original(**options)
            made.append((original is RandomForestRegressor, forest))
            return forest

        monkeypatch.setattr(miss_forest, name, build)
    forests = MissForest(n_trees=3, max_rounds=1, n_jobs=1, **changes)
    forests.impute(small_survey.table, 1, SkipView.LEVEL)
    assert {number for number, _ in made} == {True, False}
    for number, forest in made:
        assert forest.min_samples_leaf == leaves[0 if number else 1]
        assert forest.max_features == int(np.sqrt(forest.n_features_in_))
