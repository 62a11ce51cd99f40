"""Tables with hidden answers, and what an estimate of them is worth."""

from dataclasses import dataclass

import numpy as np
import pytest

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.contract import Estimates
from tabsoda.datasets import make_survey
from tabsoda.schema import ColumnKind
from tabsoda.table import CodedTable


@dataclass(frozen=True)
class Hidden:
    """A survey, which of its answers were hidden, and the table that is left."""

    full: CodedTable
    hidden: np.ndarray
    table: CodedTable

    def _columns(self, kind):
        return [p for p, c in enumerate(self.full.columns) if c.kind is kind]

    def accuracy(self, estimates: Estimates) -> float:
        """Share of hidden levels that the mode hits."""
        positions = self._columns(ColumnKind.NOMINAL) + self._columns(ColumnKind.ORDINAL)
        hit = estimates.mode[:, positions] == self.full.values[:, positions]
        return hit[self.hidden[:, positions]].mean()

    def rmse(self, estimates: Estimates) -> float:
        """Root mean squared error of hidden numbers in standard deviations."""
        positions = self._columns(ColumnKind.CONTINUOUS)
        spread = np.nanstd(self.full.values[:, positions], axis=0)
        error = (estimates.mode - self.full.values)[:, positions] / spread
        return np.sqrt((error[self.hidden[:, positions]] ** 2).mean())

    def distance(self, decoded: np.ndarray) -> float:
        """Mean absolute distance in levels over hidden ordinals."""
        positions = self._columns(ColumnKind.ORDINAL)
        error = np.abs(decoded - self.full.values)[:, positions]
        return error[self.hidden[:, positions]].mean()


def hide(n_rows: int, n_columns: int, seed: int, share: float = 0.25) -> Hidden:
    full = make_survey(n_rows, n_columns, seed=seed).true_table
    hidden = full.states.answered & (numpy_generator(seed, "hide").random(full.shape) < share)
    return Hidden(full, hidden, full.with_states(full.states.hide(hidden)))


@pytest.fixture(scope="package")
def hidden_survey() -> Hidden:
    """Return the embedded survey, 800 x 25, with a quarter of its answers hidden."""
    return hide(800, 25, seed=1)


@pytest.fixture(scope="package")
def small_survey() -> Hidden:
    """Return 150 people of the embedded survey and 14 questions."""
    return hide(150, 14, seed=2)
