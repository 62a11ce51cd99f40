"""The interface of imputation methods under comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable


class SkipView(StrEnum):
    """How skips are shown to a method that does not support them.

    ``BLIND``: skipped cells are blanks like any other, as in the paper. ``LEVEL``: they are an
    extra level of the question, which is a fairer and stronger comparison.
    """

    BLIND = "blind"
    LEVEL = "level"


@dataclass(frozen=True, eq=False)
class Estimates:
    """A method's estimates of the missing cells of a table.

    Attributes
    ----------
    mode, median : ndarray of float64, shape (n_rows, n_columns)
        Level positions or numbers, as in :class:`~tabsoda.table.CodedTable`; filled wherever the
        table is missing. They differ for ordinals only, and only where the method gives
        probabilities.
    probabilities : dict of int to ndarray of float64, shape (n_rows, n_levels)
        By column position, for categorical columns; rows that are not missing may hold anything.
        Empty for methods that give none.
    """

    mode: NDArray[np.float64]
    median: NDArray[np.float64]
    probabilities: dict[int, NDArray[np.float64]]


# Called with the completed share of the work, from 0 to 1.
ShareDone = Callable[[float], None]


class ImputationMethod(Protocol):
    """A method under comparison; settings are constructor arguments with documented defaults.

    Attributes
    ----------
    name : str
        The name shown in tables, such as ``"MissForest"``.
    knows_skips : bool
        Whether it reads the skip states itself; for others, ``skip_view`` applies.
    """

    name: str
    knows_skips: bool

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell of a table.

        Skipped cells are never scored, so their estimates may be anything, including NaN. Only the
        answered cells and the states may be read. A method that can report progress takes one more
        argument, ``progress`` (:data:`ShareDone`).
        """
        ...


def without_skips(table: CodedTable) -> CodedTable:
    """Return the table with skips turned into blanks."""
    states = table.states
    nothing = np.zeros(states.shape, dtype=bool)
    return table.with_states(CellStates.from_masks(states.answered, nothing, states.names))
