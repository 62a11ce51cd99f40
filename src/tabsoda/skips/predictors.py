"""Every cell as one integer code: its answer, skipped, or the reason why it is missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Reason
from tabsoda.skips.rules import NAMED_REASONS, Condition
from tabsoda.states.cell_states import reason_code
from tabsoda.table import CodedTable

# Positions of the states within a column's codes; answers follow. UNKNOWN: no reason given.
UNKNOWN, SKIPPED, REFUSED, DONT_KNOW, OTHER, FIRST_ANSWER = range(6)
CODE_OF_REASON = {Reason.REFUSED: REFUSED, Reason.DONT_KNOW: DONT_KNOW, Reason.OTHER: OTHER}
# Every way in which a cell can be missing.
MISSING = (UNKNOWN, *CODE_OF_REASON.values())


@dataclass(frozen=True)
class GateSet:
    """A set of codes of one gate: the internal form of a :class:`Condition`.

    Attributes
    ----------
    gate : int
        The gate's position.
    member : ndarray of bool, shape (n_codes of the gate,)
    """

    gate: int
    member: NDArray[np.bool_]


class CellCodes:
    """The codes of a table, with the skips known so far: those in the table and mined ones.

    With codes, counting how often a target is blank for each answer of each earlier question is
    one histogram over a matrix of integers.

    Parameters
    ----------
    table : CodedTable
        Skips known from codes or a mask are read as skips from the start.
    max_bins : int
        A numeric question with more distinct answers is cut at quantiles; the cuts are values
        that occur in the data, so that every threshold is an actual answer.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_rows, n_columns)
        Numbered through all columns: column g owns ``start[g]`` to ``start[g + 1]``.
    start : ndarray of int64, shape (n_columns + 1,)
    totals : ndarray of int64, shape (n_codes,)
        How often each code occurs.
    uppers : tuple of ndarray or None
        For numeric questions: the largest answer of each bin.
    """

    def __init__(self, table: CodedTable, max_bins: int) -> None:
        self.columns = table.columns
        self.numeric = np.array([not column.is_categorical for column in table.columns])
        answered = table.states.answered
        self.codes = np.zeros(table.shape, dtype=np.int64)
        uppers: list[NDArray[np.float64] | None] = []
        start = [0]
        for position, column in enumerate(table.columns):
            seen = answered[:, position]
            answers = table.values[seen, position]
            if column.is_categorical:
                uppers.append(None)
                local, n_answers = answers.astype(np.int64), column.n_levels
            else:
                edges = upper_edges(answers, max_bins)
                uppers.append(edges)
                local, n_answers = np.searchsorted(edges, answers), len(edges)
            self.codes[:, position] = start[-1] + _state_codes(table, position)
            self.codes[seen, position] = start[-1] + FIRST_ANSWER + local
            start.append(start[-1] + FIRST_ANSWER + n_answers)
        self.start = np.array(start, dtype=np.int64)
        # A second copy by column: rules read columns, histograms read rows.
        self._local = np.ascontiguousarray((self.codes - self.start[:-1]).T, dtype=np.int32)
        self.totals = np.bincount(self.codes.ravel(), minlength=start[-1])
        # The original codes of columns with mined skips.
        self._read: dict[int, NDArray[np.int32]] = {}
        self.uppers = tuple(uppers)

    def own(self, position: int) -> slice:
        """Return where a column's codes lie among all codes."""
        return slice(int(self.start[position]), int(self.start[position + 1]))

    def n_codes(self, position: int) -> int:
        """Return how many codes a column has."""
        return int(self.start[position + 1] - self.start[position])

    def mark_skipped(self, position: int, rows: NDArray[np.bool_]) -> None:
        """Set the mined skips of a column, in place of those set before.

        Skips known from the table stay.
        """
        read = self._read.setdefault(position, self._local[position].copy())
        self._local[position] = np.where(rows, SKIPPED, read)
        self.codes[:, position] = self.start[position] + self._local[position]
        self.totals[self.own(position)] = np.bincount(
            self._local[position], minlength=self.n_codes(position)
        )

    def marked_as_skipped(self, position: int) -> NDArray[np.bool_]:
        """Return the rows whose cell the table itself marks as a skip, shape (n_rows,)."""
        return self._read.get(position, self._local[position]) == SKIPPED

    def histogram(self, rows: NDArray[np.bool_], before: int) -> NDArray[np.int64]:
        """Count every code of the columns before a position over some rows."""
        return np.bincount(self.codes[rows, :before].ravel(), minlength=int(self.start[before]))

    def part_histogram(
        self,
        part: NDArray[np.bool_],
        whole: NDArray[np.bool_],
        whole_counts: NDArray[np.int64],
        before: int,
    ) -> NDArray[np.int64]:
        """Count codes over part of the rows of ``whole``, reading the smaller side only."""
        others = whole & ~part
        if others.sum() < part.sum():
            return whole_counts - self.histogram(others, before)
        return self.histogram(part, before)

    def holds(self, condition: GateSet) -> NDArray[np.bool_]:
        """Return the rows whose gate lies in the set, shape (n_rows,)."""
        return condition.member[self._local[condition.gate]]

    def all_hold(self, path: list[GateSet]) -> NDArray[np.bool_]:
        """Return the rows in which every condition of a path holds."""
        result = np.ones(self.codes.shape[0], dtype=bool)
        for condition in path:
            result &= self.holds(condition)
        return result

    def local(self, position: int, rows: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return a column's own codes in some rows."""
        return self._local[position][rows]

    def describe(self, condition: GateSet) -> Condition:
        """Turn a set of codes into a :class:`Condition`."""
        column = self.columns[condition.gate]
        chosen = np.flatnonzero(condition.member[FIRST_ANSWER:])
        or_skipped = bool(condition.member[SKIPPED])
        # Only the paper's screen fires on blanks, and it does not distinguish reasons.
        or_blank = bool(condition.member[UNKNOWN])
        named = [r for r in NAMED_REASONS if condition.member[CODE_OF_REASON[r]] and not or_blank]
        states = (or_skipped, or_blank, tuple(named))
        uppers = self.uppers[condition.gate]
        if uppers is None:
            levels = tuple(column.levels[code] for code in chosen)
            return Condition(column.name, levels, None, None, *states)
        if not len(chosen):
            return Condition(column.name, (), None, None, *states)
        first, last = int(chosen[0]), int(chosen[-1])
        above = float(uppers[first - 1]) if first > 0 else None
        # Open at the top, unless the condition would then have no bound.
        open_top = last == len(uppers) - 1 and above is not None
        up_to = None if open_top else float(uppers[last])
        return Condition(column.name, (), above, up_to, *states)


def _state_codes(table: CodedTable, position: int) -> NDArray[np.int64]:
    """Return the code of each cell's state, 0 where it is answered or blank; shape (n_rows,)."""
    codes = np.where(table.states.skipped[:, position], SKIPPED, UNKNOWN).astype(np.int64)
    for reason, code in CODE_OF_REASON.items():
        codes[table.states.reasons[:, position] == reason_code(reason)] = code
    return codes


def upper_edges(answers: NDArray[np.float64], max_bins: int) -> NDArray[np.float64]:
    """Largest value of each bin of a numeric question: every distinct value, or quantiles."""
    distinct = np.unique(answers)
    if len(distinct) <= max_bins:
        return distinct
    shares = np.arange(1, max_bins) / max_bins
    cuts = np.quantile(answers, shares, method="inverted_cdf")
    return np.unique(np.append(cuts, distinct[-1]))
