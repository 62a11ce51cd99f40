"""miceforest: chained equations with LightGBM and predictive mean matching, if installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.pooled_draws import pool_draws
from tabsoda.bench.methods.skip_views import as_shown
from tabsoda.errors import InputError
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    import pandas as pd

Numbers = NDArray[np.float64]


def available() -> bool:
    """Whether miceforest is installed."""
    return find_spec("miceforest") is not None


@dataclass(frozen=True)
class MiceForest:
    """miceforest with its defaults, pooled over draws.

    Shown as a level, a skip is a separate category, and draws of it do not count; for a number it
    is an additional indicator, and the skipped cells themselves are blanks. Tested with miceforest
    6.0.5, lightgbm 4.6.0 and pandas 2.3; lightgbm 4.7 breaks it.

    Parameters
    ----------
    n_draws : int
    rounds : int
    """

    n_draws: int = 5
    rounds: int = 5

    name = "miceforest"
    knows_skips = False

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell."""
        draws = self.draws(table, seed, skip_view)
        return pool_draws(table, draws or [np.full(table.shape, np.nan)])

    def draws(self, table: CodedTable, seed: int, skip_view: SkipView) -> list[Numbers]:
        """Return completed tables, shape (n, d) each; none if no cell is missing."""
        if not available():
            raise InputError(
                "miceforest is not installed",
                next_step="Install it with: pip install tabsoda[peers]",
            )
        import miceforest

        frame = _frame(as_shown(table, skip_view))
        state = int(numpy_generator(seed, "miceforest").integers(2**31 - 1))
        draws: list[Numbers] = []
        if not frame.isna().any(axis=None):
            return draws
        # The default matches on log-odds, which are infinite if a level is certain.
        kernel = miceforest.ImputationKernel(
            frame, self.n_draws, mean_match_strategy="fast", random_state=state
        )
        kernel.mice(self.rounds, verbose=False)
        for number in range(self.n_draws):
            drawn = np.full(table.shape, np.nan)
            completed = kernel.complete_data(number)
            for name in completed.columns:
                if name.startswith("q"):
                    drawn[:, int(name[1:])] = completed[name].astype(np.float64)
            draws.append(drawn)
        return draws


def _frame(shown: CodedTable) -> pd.DataFrame:
    """Return a pandas frame: q<position> for questions that vary, s<position> for skips."""
    import pandas as pd

    columns = {}
    for position, column in enumerate(shown.columns):
        values = shown.values[:, position].copy()
        skipped = shown.states.skipped[:, position]
        if column.is_categorical:
            values[skipped] = -1.0
        elif skipped.any():
            columns[f"s{position}"] = pd.Series(skipped.astype(np.int64))
        if np.unique(values[~np.isnan(values)]).size < 2:
            continue
        series = pd.Series(values)
        # Categories as integers: miceforest passes category texts to LightGBM.
        columns[f"q{position}"] = (
            series.astype("Int64").astype("category") if column.is_categorical else series
        )
    return pd.DataFrame(columns)
