"""What the network, the trees and the regressions have in common."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tabsoda.table import CodedTable

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
State = tuple[dict[str, NDArray[Any]], dict[str, Any]]


class CellAnswers(NamedTuple):
    """What a predictor says about the cells of some rows.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (n, n_categorical, max_levels)
        Of the levels of each categorical column of the codec; 0 in the padding.
    numbers : ndarray of float64, shape (n, n_numbers)
        Expected numbers, in standard deviations from the mean.
    bins : ndarray of float64, shape (n, n_numbers, MAX_BINS), or None
        Probabilities of each number's bins, where the predictor has them.
    abstains : ndarray of bool, shape (n, n_categorical + n_numbers), or None
        Cells on which the predictor should not be asked; the next one speaks for it there.
    """

    probabilities: Values
    numbers: Values
    bins: Values | None = None
    abstains: Mask | None = None


class UsualShares(NamedTuple):
    """A predictor's share of the blend before held-out answers say otherwise, by kind."""

    nominals: float
    ordinals: float
    numbers: float

    def of_levels(self, ordered: Mask) -> Values:
        """Return the share of each categorical column, shape (n_categorical,)."""
        return np.where(ordered, self.ordinals, self.nominals)


class Predictor(Protocol):
    """Predicts missing cells from the visible answers of their rows.

    A predictor is fitted by a function or class method of its own, from a
    :class:`~tabsoda.engine.training_table.TrainingTable`; held-out answers are hidden from it.
    """

    name: ClassVar[str]
    usual: ClassVar[UsualShares]

    def answers(self, table: CodedTable, cells: Mask, network: CellAnswers | None) -> CellAnswers:
        """Return probabilities and expected numbers.

        Parameters
        ----------
        table : CodedTable
            Only the rows in question.
        cells : ndarray of bool, shape (n, d)
            The cells that are asked for; what is returned for others must not be read.
        network : CellAnswers or None
            What the network says about these rows; None when the network itself is asked.
        """

    def to_state(self) -> State:
        """Return what is saved: arrays, and content for JSON."""
