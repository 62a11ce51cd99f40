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
from tabsoda.em.engine import Engine
from tabsoda.quality import settings_for
from tabsoda.table import CodedTable

N_DRAWS = 10

Method = Callable[[CodedTable, int], list[Array]]


_last: dict[str, Any] = {}


def fitted(seen: CodedTable, seed: int, quality: str, changes: dict[str, dict[str, Any]]) -> Engine:
    """Fit the engine, or give the last one again where the same is asked for.

    Trees enter point estimates alone, so none are grown.
    """
    key = (seen.values.tobytes(), seed, quality, repr(changes))
    if _last.get("key") != key:
        rows, columns = seen.shape
        settings = settings_for(quality, rows, columns, {"experts": {"trees": "none"}, **changes})
        _last.update(key=key, engine=Engine.fit(seen, settings, seed=seed, device="cpu"))
    engine: Engine = _last["engine"]
    return engine


def other(quality: str, **changes: dict[str, Any]) -> Method:
    """Draw from the engine with other settings."""

    def impute(seen: CodedTable, seed: int) -> list[Array]:
        engine = fitted(seen, seed, quality, changes)
        return [engine.draw(seen, number) for number in range(1, N_DRAWS + 1)]

    return impute


def bootstrap(seen: CodedTable, seed: int) -> list[Array]:
    """Draw from the heads of a bootstrap member each; the first network draws nothing."""
    changes = {
        "backbone": {"members": N_DRAWS + 1, "bootstrap": True},
        "sampler": {"draws": "sequential"},
    }
    engine = fitted(seen, seed, "balanced", changes)
    return [engine.draw(seen, number) for number in range(2, N_DRAWS + 2)]


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
    "balanced": other("balanced"),
    "fast": other("fast"),
    "balanced, from the heads": other("balanced", sampler={"draws": "sequential"}),
    "balanced, from the heads of bootstrap members": bootstrap,
    "balanced, by the reverse process": other("balanced", sampler={"draws": "reverse"}),
    "MICE": chained,
    "mice (R)": r_mice,
    "mode/mean": mode_mean,
}
