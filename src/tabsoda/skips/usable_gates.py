"""Which columns may be gates: not keys, interviewer numbers or others with many values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import ColumnKind
from tabsoda.skips.predictors import SKIPPED, UNKNOWN, CellCodes
from tabsoda.skips.settings import PuritySettings
from tabsoda.table import CodedTable

# A categorical column with this few answers may be a gate, however few the respondents.
_FEW_ANSWERS = 10


@dataclass(frozen=True)
class GateCodes:
    """Properties of every code that do not depend on the target; arrays of shape (n_codes,).

    Attributes
    ----------
    usable : ndarray of bool
        Codes of columns that may be gates.
    replies : ndarray of bool
        Answers, and reasons such as "refused": codes of those who were asked, as opposed to
        skipped and blank.
    """

    usable: NDArray[np.bool_]
    replies: NDArray[np.bool_]

    @classmethod
    def of(cls, codes: CellCodes, unusable: Iterable[int]) -> GateCodes:
        """Return the codes of a table, given the columns that may not be gates."""
        sizes = np.diff(codes.start)
        column_of = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(codes.start[-1]) - codes.start[column_of]
        usable = ~np.isin(column_of, list(unusable))
        return cls(usable, np.asarray((place != UNKNOWN) & (place != SKIPPED)))


def unusable_gates(table: CodedTable, settings: PuritySettings) -> dict[int, tuple[int, int]]:
    """Return the columns that may not be gates, with the reason.

    A key or an interviewer number has so many values that some of them fit any blanks. A real
    gate has few answers, each given by many respondents.

    Parameters
    ----------
    table : CodedTable
    settings : PuritySettings

    Examples
    --------
    >>> from tabsoda.schema import Column
    >>> key = Column("key", ColumnKind.NOMINAL, tuple(range(100)))
    >>> table = CodedTable.from_values((key,), np.arange(100.0)[:, None])
    >>> unusable_gates(table, PuritySettings())
    {0: (100, 100)}
    """
    unusable = {}
    for place, column in enumerate(table.columns):
        answers = table.values[table.states.answered[:, place], place]
        if column.kind is ColumnKind.ORDINAL or len(answers) < _FEW_ANSWERS:
            continue
        distinct = len(np.unique(answers))
        if column.kind is ColumnKind.NOMINAL:
            allowed = min(settings.max_gate_levels, len(answers) / settings.min_level_size)
            too_many = distinct > max(allowed, _FEW_ANSWERS)
        else:
            too_many = distinct > settings.max_distinct_share * len(answers)
        if too_many:
            unusable[place] = distinct, len(answers)
    return unusable
