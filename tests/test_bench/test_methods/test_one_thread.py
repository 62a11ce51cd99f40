"""Methods that fit many small models use one thread: more would wait longer than they compute."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tabsoda.bench.methods.boosting import Boosting
from tabsoda.bench.methods.chained_equations import ChainedEquations
from tabsoda.bench.methods.contract import SkipView
from tabsoda.datasets import make_survey


@pytest.mark.parametrize(
    ("method", "part"),
    [
        (Boosting(max_rounds=2), "_classify"),
        (ChainedEquations(n_draws=1, rounds=1), "_chain"),
    ],
    ids=["boosting", "mice"],
)
def test_small_models_get_one_thread(method, part, monkeypatch) -> None:
    original, used = getattr(type(method), part), []

    def recording(*arguments):
        used.append(max(library["num_threads"] for library in threadpool_info()))
        return original(*arguments)

    monkeypatch.setattr(type(method), part, recording)
    table = make_survey(200, n_columns=10, seed=1).true_table
    table = table.with_states(table.states.hide(table.states.answered & (table.values == 1)))
    with threadpool_limits(2):
        if max(library["num_threads"] for library in threadpool_info()) < 2:
            pytest.skip("no library here uses two threads")
        method.impute(table, 1, SkipView.LEVEL)
    assert used
    assert set(used) == {1}
