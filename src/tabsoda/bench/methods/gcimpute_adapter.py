"""gcimpute: a Gaussian copula with latent thresholds for ordinals, if it is installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.pooled_draws import pool_draws
from tabsoda.bench.methods.skip_views import as_shown
from tabsoda.errors import InputError
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable


def available() -> bool:
    """Whether gcimpute is installed with a compatible numpy."""
    return find_spec("gcimpute") is not None and int(np.__version__.split(".")[0]) < 2


@dataclass(frozen=True)
class GaussianCopula:
    """The copula's draws, pooled; nominals with three or more levels get their mode.

    The model supports numbers, ordinals and two-level questions only. Shown as a level, a skip is
    an additional indicator, and the skipped cells themselves are blanks. Tested with gcimpute 0.0.4
    and numpy 1.26; it does not run with numpy 2.

    Parameters
    ----------
    n_draws : int
    max_rounds : int
        Of its EM algorithm.
    """

    n_draws: int = 20
    max_rounds: int = 50

    name = "Gaussian copula"
    knows_skips = False

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell."""
        if not available():
            raise InputError(
                "gcimpute is not installed, or numpy is too new for it",
                found=f"numpy {np.__version__}",
                expected="gcimpute with numpy below 2",
                next_step="Install both in a separate environment",
            )
        from gcimpute.gaussian_copula import GaussianCopula as Model

        shown = as_shown(table, skip_view)
        modelled = _modelled(shown)
        skips = shown.states.skipped[:, shown.states.skipped.any(axis=0)]
        # Questions skipped by the same people would give the copula identical columns.
        skips = np.unique(skips.astype(np.float64), axis=1)
        matrix = np.column_stack([shown.values[:, modelled], skips])
        ordinal = [
            place
            for place in range(matrix.shape[1])
            if place >= modelled.size or shown.columns[modelled[place]].is_categorical
        ]
        draws = [np.full(table.shape, np.nan) for _ in range(self.n_draws)]
        if modelled.size and table.states.missing[:, modelled].any():
            state = int(numpy_generator(seed, "gcimpute").integers(2**31 - 1))
            model = Model(random_state=state, max_iter=self.max_rounds)
            numbers = [place for place in range(matrix.shape[1]) if place not in ordinal]
            model.fit(matrix, continuous=numbers, ordinal=ordinal)
            samples = model.sample_imputation(matrix, num=self.n_draws)
            for number, draw in enumerate(draws):
                draw[:, modelled] = samples[:, : modelled.size, number]
        return pool_draws(table, draws)


def _modelled(shown: CodedTable) -> NDArray[np.intp]:
    """Return the positions of the questions that the copula can model."""
    kept = []
    for position, column in enumerate(shown.columns):
        ordered = column.kind is not ColumnKind.NOMINAL or column.n_levels == 2
        answers = shown.values[shown.states.answered[:, position], position]
        if ordered and np.unique(answers).size > 1:
            kept.append(position)
    return np.array(kept, dtype=np.intp)
