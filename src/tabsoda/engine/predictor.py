"""The protocol that the network, the trees and the regressions implement."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tabsoda.table import CodedTable

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
State = tuple[dict[str, NDArray[Any]], dict[str, Any]]


class CellAnswers(NamedTuple):
    """A predictor's answers for the cells of some rows.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (n, n_categorical, max_levels)
        Probabilities of the levels of each categorical column of the codec; 0 in the padding.
    numbers : ndarray of float64, shape (n, n_numbers)
        Expected numbers, in standard deviations from the mean.
    bins : ndarray of float64, shape (n, n_numbers, MAX_BINS), or None
        Probabilities of each number's bins, if the predictor has them.
    abstains : ndarray of bool, shape (n, n_categorical + n_numbers), or None
        Cells for which the predictor should not be used; the next one's answers are used there.
    """

    probabilities: Values
    numbers: Values
    bins: Values | None = None
    abstains: Mask | None = None


class UsualShares(NamedTuple):
    """A predictor's default share of the blend, by kind of question."""

    nominals: float
    ordinals: float
    numbers: float

    def of_levels(self, ordered: Mask) -> Values:
        """Return the share of each categorical column, shape (n_categorical,)."""
        return np.where(ordered, self.ordinals, self.nominals)


class Predictor(Protocol):
    """Predicts missing cells from the visible answers of their rows.

    A predictor is fitted by its own function or class method, from a
    :class:`~tabsoda.engine.training_table.TrainingTable`; held-out answers are hidden from it.
    """

    name: ClassVar[str]
    usual: ClassVar[UsualShares]

    def answers(self, table: CodedTable, cells: Mask, network: CellAnswers | None) -> CellAnswers:
        """Return probabilities and expected numbers.

        Parameters
        ----------
        table : CodedTable
            Only the rows to predict.
        cells : ndarray of bool, shape (n, d)
            The cells to predict; the results for other cells are undefined.
        network : CellAnswers or None
            The network's answers for these rows; None for the network itself.
        """

    def to_state(self) -> State:
        """Return the state to save: arrays, and content for JSON."""
