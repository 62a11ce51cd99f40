"""The methods under comparison: from a table with missing cells to completed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tabsoda.bench.methods.chained_equations import ChainedEquations
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.mode_mean import ModeMean
from tabsoda.bench.methods.r_mice import RMice
from tabsoda.bench.metrics.coverage import Array
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.presets import quality_settings
from tabsoda.table import CodedTable

N_DRAWS = 10

Method = Callable[[CodedTable, int], list[Array]]


def default_engine(quality: str, **changes: dict[str, Any]) -> Method:
    """Draw from the default engine, without trees: they contribute to point estimates alone."""

    def impute(seen: CodedTable, seed: int) -> list[Array]:
        settings = quality_settings(quality, *seen.shape)
        settings = settings.replace(trees={"effort": "none"}, **changes)
        engine = DefaultEngine.fit(seen, settings, seed=seed, device="cpu")
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
    "balanced": default_engine("balanced"),
    "fast": default_engine("fast"),
    "balanced, from the heads": default_engine("balanced", draws={"method": "sequential"}),
    "MICE": chained,
    "mice (R)": r_mice,
    "mode/mean": mode_mean,
}
