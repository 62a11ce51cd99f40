"""What decoder heads need to know of a table: which columns are ordered, and the numbers' bins."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.encoding.number_bins import NumberBins
from tabsoda.encoding.table_codec import TableCodec
from tabsoda.errors import InputError
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class AnswerCodec:
    """Answers as decoder heads learn them.

    Attributes
    ----------
    ordered : ndarray of bool, shape (n_categorical,)
        Which of the codec's categorical columns are ordinals, with a latent or not.
    bins : NumberBins
        Of the codec's continuous columns.
    """

    ordered: NDArray[np.bool_]
    bins: NumberBins

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        visible: NDArray[np.bool_],
        codec: TableCodec,
        as_ordinals: bool = True,
    ) -> AnswerCodec:
        """Learn the bins from the visible cells; ordinals may be taken for nominals."""
        numbers = codec.layout.continuous_columns
        kinds = [table.columns[position].kind for position in codec.categorical_columns]
        return cls(
            np.array([as_ordinals and kind is ColumnKind.ORDINAL for kind in kinds], dtype=bool),
            NumberBins.fit(table.values[:, numbers], visible[:, numbers]),
        )

    def to_state(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`from_state` needs."""
        arrays = {item.name: getattr(self.bins, item.name) for item in fields(NumberBins)}
        return {"ordered": self.ordered, **arrays}

    @classmethod
    def from_state(cls, arrays: dict[str, NDArray[Any]], codec: TableCodec) -> AnswerCodec:
        """Rebuild from :meth:`to_state`."""
        try:
            bins = NumberBins(**{item.name: arrays[item.name] for item in fields(NumberBins)})
            ordered = arrays["ordered"]
        except KeyError as error:
            raise InputError(
                "The saved bins of numbers are incomplete",
                found=f"no {error}",
                next_step="Save the model again, or load another one",
            ) from error
        n_numbers = codec.layout.continuous_columns.size
        fits = ordered.shape == codec.categorical_columns.shape and all(
            getattr(bins, item.name).shape[0] == n_numbers for item in fields(NumberBins)
        )
        if not fits:
            raise InputError(
                "The saved bins of numbers do not fit the encoding",
                found=f"{bins.counts.size} numbers, {ordered.size} other columns",
                expected=f"{n_numbers} and {codec.categorical_columns.size}",
                next_step="Save the model again, or load another one",
            )
        return cls(ordered, bins)
