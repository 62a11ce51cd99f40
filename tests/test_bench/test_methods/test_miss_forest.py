from itertools import pairwise

import numpy as np
import pytest

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
