"""The values that an engine imputes, and the hook that stores finished ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

# Called as keep(name, compute): returns the stored array of that name, or computes and stores it.
Keep = Callable[[str, Callable[[], Values]], Values]


def keep_nothing(name: str, compute: Callable[[], Values]) -> Values:
    """Compute the array without storing it; the :data:`Keep` of runs without a checkpoint."""
    return compute()


@dataclass(frozen=True, eq=False)
class ImputedCells:
    """Which cells were imputed, and all their imputed values.

    A *draw* is one plausible answer. A point estimate is the best single guess; point estimates
    vary less than real answers and give confidence intervals that are too short.

    Attributes
    ----------
    rows, positions : ndarray of int64, shape (n_cells,)
        Row and column of each imputed cell.
    draws : ndarray of float64, shape (n_draws, n_cells)
        Level positions or numbers, as in :class:`tabsoda.table.CodedTable`; NaN where the cell
        is skipped in that draw because of the drawn answer of its gate.
    mode, median : ndarray of float64, shape (n_cells,)
        Point estimates. ``mode``: levels by mode, numbers by mean. ``median``: nominals by mode,
        ordinals and numbers by median. NaN as in ``draws``.
    """

    rows: NDArray[np.int64]
    positions: NDArray[np.int64]
    draws: Values
    mode: Values
    median: Values

    def __post_init__(self) -> None:
        for array in (self.rows, self.positions, self.draws, self.mode, self.median):
            array.setflags(write=False)
