"""Which columns of a table are modelled, and how their answers are coded for the predictors.

Input: a table and its visible cells. Output: an :class:`AnswerCodec`, which all predictors share.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.coding.continuous import ContinuousCoder
from tabsoda.coding.modelled_columns import check_visible, count_levels, find_modelled_columns
from tabsoda.coding.table_checks import check_levels
from tabsoda.engine.number_bins import NumberBins
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AnswerCodec:
    """The modelled columns of a table, and the coding of their answers.

    Attributes
    ----------
    names : tuple of str
        All d columns.
    n_levels : ndarray of int64, shape (d,)
        0 for continuous columns.
    categorical, numbers : ndarray of int64, shape (n_categorical,) and (n_numbers,)
        Positions of the modelled columns, increasing.
    ordered : ndarray of bool, shape (n_categorical,)
        Which categorical columns are ordinals.
    level_counts : ndarray of int64, shape (n_categorical, max_levels)
        Visible answers per level, 0 in the padding.
    bins : NumberBins
        Bins of the numbers.
    scores : ContinuousCoder
        Normal scores of the numbers.
    constants : ndarray of float64, shape (d,)
        Value for missing cells of a column that is not modelled; NaN: they stay missing.

    Examples
    --------
    >>> from tabsoda.schema import Column
    >>> columns = (Column("age", ColumnKind.CONTINUOUS),
    ...            Column("health", ColumnKind.ORDINAL, levels=(1, 2, 3)))
    >>> table = CodedTable.from_values(columns, np.array([[30, 0], [41, 2], [53, 1.0]]))
    >>> codec = AnswerCodec.fit(table, table.states.answered, EventLog())
    >>> codec.modelled.tolist(), codec.ordered.tolist()
    ([1, 0], [True])
    """

    names: tuple[str, ...]
    n_levels: NDArray[np.int64]
    categorical: Positions
    numbers: Positions
    ordered: NDArray[np.bool_]
    level_counts: NDArray[np.int64]
    bins: NumberBins
    scores: ContinuousCoder
    constants: Values

    @classmethod
    def fit(cls, table: CodedTable, visible: NDArray[np.bool_], events: EventLog) -> AnswerCodec:
        """Fit to the visible cells.

        Parameters
        ----------
        table : CodedTable
        visible : ndarray of bool, shape (n, d)
            Answered cells that may be used.
        events : EventLog
        """
        check_visible(table, visible)
        values = np.where(visible, table.values, np.nan)
        found = find_modelled_columns(table, visible, events)
        is_number = np.array([column.kind is ColumnKind.CONTINUOUS for column in table.columns])
        n_levels = np.array([column.n_levels for column in table.columns], dtype=np.int64)
        n_levels[is_number] = 0
        categorical = np.flatnonzero(~is_number & found.modelled)
        numbers = np.flatnonzero(is_number & found.modelled)
        scores = ContinuousCoder.fit(values[:, numbers], visible[:, numbers], "normal_score")
        for position in numbers[scores.whole]:
            events.add("whole_numbers_kept_whole", column=table.names[position])
        kinds = [table.columns[position].kind for position in categorical]
        return cls(
            table.names,
            n_levels,
            categorical,
            numbers,
            np.array([kind is ColumnKind.ORDINAL for kind in kinds], dtype=bool),
            count_levels(values, n_levels)[categorical],
            NumberBins.fit(values[:, numbers], visible[:, numbers]),
            scores,
            found.constants,
        )

    @property
    def modelled(self) -> Positions:
        """Positions of all modelled columns: the categorical ones, then the numbers."""
        return np.concatenate([self.categorical, self.numbers])

    @property
    def fillable(self) -> NDArray[np.bool_]:
        """Columns whose missing cells get a value, shape (d,)."""
        fillable = ~np.isnan(self.constants)
        fillable[self.modelled] = True
        return fillable

    @property
    def max_levels(self) -> int:
        """Largest number of levels of a modelled column; at least 1."""
        return max(int(self.n_levels[self.categorical].max(initial=1)), 1)

    def check(self, table: CodedTable) -> None:
        """Raise if a table contains a level that was unknown in the fit."""
        check_levels(table.values, table.states.answered, self.n_levels, self.names)

    def with_constants(self, table: CodedTable) -> Values:
        """Return a table's answers, with constants in missing cells of columns not modelled."""
        return np.where(table.states.missing, self.constants, table.values)

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what :meth:`from_state` needs: arrays, and content for JSON."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {
            f"bins.{item.name}": getattr(self.bins, item.name) for item in fields(NumberBins)
        }
        arrays |= {f"scores.{name}": getattr(self.scores, name) for name in _SCORES}
        return arrays, {"names": list(self.names)}

    @classmethod
    def from_state(cls, arrays: dict[str, NDArray[Any]], content: dict[str, Any]) -> AnswerCodec:
        """Rebuild from :meth:`to_state`; InputError if parts are missing or inconsistent."""
        try:
            bins = NumberBins(**{i.name: arrays[f"bins.{i.name}"] for i in fields(NumberBins)})
            scores = ContinuousCoder("normal_score", *(arrays[f"scores.{n}"] for n in _SCORES))
            own = {name: arrays[name] for name in _ARRAYS}
            names = tuple(str(name) for name in content["names"])
        except (KeyError, TypeError) as error:
            raise InputError(
                "The saved coding of answers is incomplete",
                found=f"no usable {error}",
                next_step="Save the model again, or load another one",
            ) from error
        codec = cls(names=names, bins=bins, scores=scores, **own)
        n_numbers = codec.numbers.size
        fits = (
            len(names) == codec.n_levels.size == codec.constants.size
            and codec.ordered.shape == codec.categorical.shape
            and codec.level_counts.shape[0] == codec.categorical.size
            and all(getattr(scores, name).shape[0] == n_numbers for name in _SCORES)
            and all(getattr(bins, item.name).shape[0] == n_numbers for item in fields(NumberBins))
        )
        if not fits:
            raise InputError(
                "The parts of the saved coding of answers are inconsistent",
                found=f"{len(names)} columns, {codec.modelled.size} modelled",
                next_step="Save the model again, or load another one",
            )
        return codec


_ARRAYS = ("n_levels", "categorical", "numbers", "ordered", "level_counts", "constants")
_SCORES = ("mean", "scale", "whole", "knots", "scores")
