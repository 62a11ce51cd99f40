"""The table that predictors are fitted to: rows in a fixed order, some answers held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.coding.row_order import canonical_order, hold_out_cells
from tabsoda.engine.codec import AnswerCodec
from tabsoda.events import EventLog
from tabsoda.followers import find_followers, unresolved_followers
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The input of a fit.

    Attributes
    ----------
    whole : CodedTable
        All answers; the order of the rows depends only on their content.
    shown : CodedTable
        The same with held-out answers missing.
    held_out : ndarray of bool, shape (n, d)
    codec : AnswerCodec
        Fitted to ``shown``.
    row_keys : ndarray of int64, shape (n,)
    weights : ndarray of float64, shape (n,), or None
        Weights of the rows.
    followers : ndarray of bool, shape (d, d)
        True at (gate, follower) if the follower is not informative about a missing gate, because
        it is then missing too, whether or not it was asked.
    """

    whole: CodedTable
    shown: CodedTable
    held_out: Mask
    codec: AnswerCodec
    row_keys: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    followers: Mask

    @classmethod
    def build(
        cls,
        table: CodedTable,
        held_out_share: float,
        seed: int,
        events: EventLog,
        weights: NDArray[np.float64] | None = None,
    ) -> TrainingTable:
        """Order the rows, hold out answers and fit the codec.

        Parameters
        ----------
        table : CodedTable
        held_out_share : float
        seed : int
        events : EventLog
        weights : ndarray of float64, shape (n,), optional
        """
        order, keys = canonical_order(table, weights)
        whole = table.rows(order)
        categorical = [column.is_categorical for column in table.columns]
        held_out = hold_out_cells(
            whole.states.answered,
            np.ones(table.shape[1], dtype=bool),
            held_out_share,
            seed,
            np.where(categorical, whole.values, np.nan),
        )
        codec = AnswerCodec.fit(whole, whole.states.answered & ~held_out, events)
        return cls(
            whole,
            without_cells(whole, held_out),
            held_out,
            codec,
            keys,
            None if weights is None else weights[order],
            unresolved_followers(whole, find_followers(whole, known_only=True)),
        )

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """Weights with mean 1, shape (n,)."""
        if self.weights is None:
            return np.ones(self.whole.shape[0])
        return self.weights / self.weights.mean()


def without_cells(table: CodedTable, hidden: Mask) -> CodedTable:
    """Return the table with some of its answers missing."""
    answered = table.states.answered & ~hidden
    states = CellStates.from_masks(answered, table.states.skipped, table.states.names)
    return CodedTable(table.columns, np.where(answered, table.values, np.nan), states)
