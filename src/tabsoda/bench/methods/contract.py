"""What every imputation method offers, so that they can be compared on the same cells."""

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
    """How a method that does not know skips is shown them.

    ``BLIND``: skipped cells are blanks like any other, as in the paper. ``LEVEL``: they are an
    extra level of the question, which is fair and stronger.
    """

    BLIND = "blind"
    LEVEL = "level"


@dataclass(frozen=True, eq=False)
class Estimates:
    """What a method says about the missing cells of a table.

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


# Called with the share of the work that is done, from 0 to 1.
ShareDone = Callable[[float], None]


class ImputationMethod(Protocol):
    """A method under comparison; settings are constructor arguments with documented defaults.

    Attributes
    ----------
    name : str
        As it stands in tables, such as ``"MissForest"``.
    knows_skips : bool
        Whether it reads the skip states itself; others are shown them as ``skip_view`` says.
    """

    name: str
    knows_skips: bool

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell of a table.

        Skipped cells are never scored, so a method may leave NaN or anything there. Nothing but
        the answered cells and the states may be read. A method that can report how far it is
        takes one more argument, ``progress`` (:data:`ShareDone`).
        """
        ...


def without_skips(table: CodedTable) -> CodedTable:
    """Return the table as a method sees it that takes skips for blanks."""
    states = table.states
    nothing = np.zeros(states.shape, dtype=bool)
    return table.with_states(CellStates.from_masks(states.answered, nothing, states.names))
