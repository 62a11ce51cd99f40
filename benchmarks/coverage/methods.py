"""The methods under comparison: from a table with missing cells to completed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tabsoda.baselines.chained_equations import ChainedEquations
from tabsoda.baselines.contract import SkipView
from tabsoda.baselines.mode_mean import ModeMean
from tabsoda.baselines.r_mice import RMice
from tabsoda.em.engine import Engine
from tabsoda.evaluation.coverage import Array
from tabsoda.quality import settings_for
from tabsoda.table import CodedTable

N_DRAWS = 10

Method = Callable[[CodedTable, int], list[Array]]


def tabsoda(quality: str, **changes: dict[str, Any]) -> Method:
    """Draw from the engine; experts enter point estimates alone, so none are grown."""

    def impute(seen: CodedTable, seed: int) -> list[Array]:
        rows, columns = seen.shape
        settings = settings_for(quality, rows, columns, {"experts": {"trees": "none"}, **changes})
        engine = Engine.fit(seen, settings, seed=seed, device="cpu")
        return [engine.draw(seen, number) for number in range(1, N_DRAWS + 1)]

    return impute


def chained(seen: CodedTable, seed: int) -> list[Array]:
    """Draw by our own chained equations."""
    chains = ChainedEquations(n_draws=N_DRAWS).draws(seen, seed, SkipView.BLIND)
    return [chain.values for chain in chains]


def r_mice(seen: CodedTable, seed: int) -> list[Array]:
    """Draw by R's mice, with its own number of draws."""
    # Its public face pools the draws to one estimate.
    drawn = RMice()._run(seen, seed)
    return [np.where(seen.states.answered, seen.values, one) for one in drawn]


def mode_mean(seen: CodedTable, seed: int) -> list[Array]:
    """Fill in the mean or the most frequent level, and take that for answers."""
    estimates = ModeMean().impute(seen, seed, SkipView.BLIND)
    return [np.where(seen.states.answered, seen.values, estimates.mode)]


METHODS: dict[str, Method] = {
    "balanced": tabsoda("balanced"),
    "fast": tabsoda("fast"),
    "balanced, 5 bootstrap members": tabsoda(
        "balanced", backbone={"members": 5, "bootstrap": True}
    ),
    "reverse": tabsoda("balanced", sampler={"draws": "reverse"}),
    "MICE": chained,
    "mice (R)": r_mice,
    "mode/mean": mode_mean,
}
