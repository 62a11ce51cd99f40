"""Changes imputed cells of a completed table such that every row satisfies its constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.candidates import Cell
from tabsoda.edits.edit_set import EditSet, Named
from tabsoda.edits.respondent import Respondent
from tabsoda.edits.row_solver import solved
from tabsoda.schema.column import ColumnKind

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Returns new draws of the open cells: redraw(rows, values, open, attempt) -> values; of shape
# (n,), (n, d), (n, d), () and (n, d).
Redraw = Callable[[NDArray[np.int64], Values, Mask, int], Values]
# Values that must not change: allowed(position, rows, drawn, tried) -> bool; of shape (), (n,),
# (n,), (n, n_tried) and (n, n_tried).
Allowed = Callable[[int, NDArray[np.int64], Values, Values], Mask]
# How well the levels of nominal columns fit: scores(rows, values, open) -> by position, logarithms
# of probabilities of shape (n, n_levels).
Scores = Callable[[NDArray[np.int64], Values, Mask], Mapping[int, Values]]

ATTEMPTS = 5
# Cells changed one after the other in a row.
_ROUNDS = 12
# Values times rows evaluated at a time.
_BLOCK = 400_000


@dataclass(frozen=True, eq=False)
class Repaired:
    """A table after repair.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
    before, after : ndarray of bool, shape (n_rows, n_constraints)
        Which rows violated which constraints before, and still do; only constraints with an
        imputed cell in the row count.
    """

    values: Values
    before: Mask
    after: Mask


@dataclass(frozen=True, eq=False)
class Repairer:
    """Repairs the completed tables of one survey.

    Attributes
    ----------
    edits : EditSet
    imputed : ndarray of bool, shape (n_rows, n_columns)
        The cells that may change.
    fixed : frozenset of int
        Columns that a redraw must not change, because of the routes that follow from them.
    allowed : callable
        Which values a cell may take instead of the drawn one; only of ``fixed`` columns.
    scores : callable
        Probabilities of nominal levels for each respondent; without it, the observed shares.
    """

    edits: EditSet
    imputed: Mask
    fixed: frozenset[int] = frozenset()
    allowed: Allowed | None = None
    scores: Scores | None = None

    def repair(self, values: Values, redraw: Redraw | None = None) -> Repaired:
        """Compute derived variables and repair every row that violates a constraint.

        Determined cells are computed. Other rows are drawn again a few times; then single cells
        take the nearest value that satisfies all constraints. Where several cells have to change
        together, a solver finds the smallest change.

        Parameters
        ----------
        values : ndarray of float64, shape (n_rows, n_columns)
            A completed table; NaN at skips and in cells that stay missing.
        redraw : callable, optional
            Draws some cells of some rows again; None for point estimates.
        """
        values = self.derived(values, np.arange(values.shape[0]))
        before = self.violations(values, np.arange(values.shape[0]))
        rows = np.flatnonzero(before.any(axis=1))
        if not rows.size:
            return Repaired(values, before, before)
        determined = rows[self._determined(values, rows)]
        values[determined] = self._replaced(values[determined], determined)
        if redraw is not None:
            self._redraw(values, rows, redraw)
        self._replace_cells(values, rows)
        after = np.zeros_like(before)
        after[rows] = self.violations(values[rows], rows)
        return Repaired(values, before, after)

    def replaced(self, values: Values, rows: NDArray[np.int64]) -> Values:
        """Return a table in which cells of some rows take the nearest values that fit."""
        values = values.copy()
        self._replace_cells(values, rows)
        return values

    def _replace_cells(self, values: Values, rows: NDArray[np.int64]) -> None:
        """Change one cell after the other; in rows that this does not help, several at once."""
        rows = rows[self.violations(values[rows], rows).any(axis=1)]
        if not rows.size:
            return
        drawn, scores = values[rows], self._scored(values[rows], rows)
        values[rows] = self._replaced(drawn, rows, scores)
        left = self.violations(values[rows], rows).sum(axis=1)
        for at in np.flatnonzero(left):
            found = self._solved(drawn[at], rows[at], {p: own[at] for p, own in scores.items()})
            if self.violations(found, rows[[at]]).sum() < left[at]:
                values[rows[at]] = found[0]

    def _scored(self, values: Values, rows: NDArray[np.int64]) -> Mapping[int, Values]:
        """Return the scores of nominal levels of cells that may have to change."""
        if self.scores is None:
            return {}
        cells = self.implicated(self.violations(values, rows), values, rows)
        cells = self.linked(cells, values, rows)
        columns = list(self.edits.columns.values())
        nominal = [column.kind is ColumnKind.NOMINAL for column in columns]
        nominal += [False] * (values.shape[1] - len(columns))
        return self.scores(rows, values, cells) if cells[:, nominal].any() else {}

    def _solved(self, drawn: Values, row: np.int64, scores: Mapping[int, Values]) -> Values:
        """Return one row with all its imputed cells solved together, shape (1, n_columns)."""
        at = np.array([row])

        def permitted(position: int) -> Callable[[Values], Mask]:
            own = drawn[[position]]
            return lambda tried: self.allowed(position, at, own, tried[None, :])[0]  # type: ignore[misc]

        gates = {} if self.allowed is None else {p: permitted(p) for p in self.fixed}
        found = solved(Respondent(self.edits, drawn, self.imputed[row], gates, scores))
        # Numbers with many decimals satisfy an equality up to rounding; the last one is computed.
        return self._replaced(self.derived(found[None, :], at), at)

    def violations(self, values: Values, rows: NDArray[np.int64]) -> Mask:
        """Return which rows violate which constraints in which an imputed cell takes part."""
        violated = self.edits.violated(self.edits.named(values))
        return violated & self._changeable(values, rows)

    def implicated(self, violated: Mask, values: Values, rows: NDArray[np.int64]) -> Mask:
        """Return the imputed cells in violated constraints, shape (n_rows, n_columns)."""
        cells = np.zeros(values.shape, dtype=bool)
        for number, constraint in enumerate(self.edits.constraints):
            at = [self.edits.place[name] for name in sorted(self.edits.roots(constraint))]
            cells[:, at] |= violated[:, [number]]
        return cells & self.imputed[rows] & ~np.isnan(values)

    def linked(self, cells: Mask, values: Values, rows: NDArray[np.int64]) -> Mask:
        """Return cells and all imputed cells that share a constraint with one of them."""
        touched = np.zeros((rows.size, len(self.edits.constraints)), dtype=bool)
        for number, constraint in enumerate(self.edits.constraints):
            at = [self.edits.place[name] for name in self.edits.roots(constraint)]
            touched[:, number] = cells[:, at].any(axis=1)
        return cells | self.implicated(touched, values, rows)

    def _changeable(self, values: Values, rows: NDArray[np.int64]) -> Mask:
        """Return the constraints with an imputed cell, shape (n_rows, n_constraints)."""
        open_cells = self.imputed[rows] & ~np.isnan(values)
        found = np.zeros((rows.size, len(self.edits.constraints)), dtype=bool)
        for number, constraint in enumerate(self.edits.constraints):
            at = [self.edits.place[name] for name in self.edits.roots(constraint)]
            found[:, number] = open_cells[:, at].any(axis=1)
        return found

    def _computed(self, rows: NDArray[np.int64]) -> dict[str, Mask]:
        """Return the cells of derived variables that follow their parts."""
        place = self.edits.place
        return {name: self.imputed[rows, place[name]] for name in self.edits.derived}

    def derived(self, values: Values, rows: NDArray[np.int64]) -> Values:
        """Return the values of some rows with derived variables computed where imputed."""
        values = values.copy()
        named = self.edits.derive(self.edits.named(values), self._computed(rows))
        for name in self.edits.derived:
            values[:, self.edits.place[name]] = named[name]
        return values

    def _determined(self, values: Values, rows: NDArray[np.int64]) -> Mask:
        """Return the rows in which one cell is left and an equality determines it."""
        violated = self.violations(values[rows], rows)
        cells = self.implicated(violated, values[rows], rows)
        equality = np.array([one.asks_for_equality for one in self.edits.constraints])
        derived = [self.edits.place[name] for name in self.edits.derived]
        cells[:, derived] = False
        return np.asarray((cells.sum(axis=1) == 1) & violated[:, equality].any(axis=1))

    def _redraw(self, values: Values, rows: NDArray[np.int64], redraw: Redraw) -> None:
        """Draw the cells of violated constraints again, given all others; keep what satisfies."""
        derived = [self.edits.place[name] for name in self.edits.derived]
        for attempt in range(1, ATTEMPTS + 1):
            violated = self.violations(values[rows], rows)
            # Fractional numbers never satisfy an equality by chance.
            violated[self._hopeless(violated)] = False
            again = violated.any(axis=1)
            rows, violated = rows[again], violated[again]
            open_cells = self.implicated(violated, values[rows], rows)
            if attempt > ATTEMPTS // 2:
                open_cells = self.linked(open_cells, values[rows], rows)
            open_cells[:, sorted(self.fixed)] = False
            some = open_cells.any(axis=1)
            rows, open_cells, violated = rows[some], open_cells[some], violated[some]
            if not rows.size:
                return
            open_cells[:, derived] |= self.imputed[rows][:, derived]
            drawn = redraw(rows, values[rows], open_cells, attempt)
            drawn = np.where(open_cells & ~np.isnan(values[rows]), drawn, values[rows])
            drawn = self.derived(drawn, rows)
            now = self.violations(drawn, rows)
            better = now.sum(axis=1) < self.violations(values[rows], rows).sum(axis=1)
            values[rows[better]] = drawn[better]

    def _hopeless(self, violated: Mask) -> Mask:
        fractional = {n for n, one in self.edits.facts.items() if not one.is_whole}
        hopeless = [
            bool(one.asks_for_equality and fractional & self.edits.roots(one))
            for one in self.edits.constraints
        ]
        only = violated.any(axis=1) & ~violated[:, ~np.array(hopeless)].any(axis=1)
        return np.asarray(only)

    def _replaced(
        self, values: Values, rows: NDArray[np.int64], scores: Mapping[int, Values] | None = None
    ) -> Values:
        """Replace one cell per row and round by the nearest value with the fewest violations.

        ``values`` and ``scores`` are those of ``rows`` alone.
        """
        values, open_rows = values.copy(), np.arange(rows.size)
        for _ in range(_ROUNDS):
            violated = self.violations(values[open_rows], rows[open_rows])
            some = violated.any(axis=1)
            open_rows, violated = open_rows[some], violated[some]
            if not open_rows.size:
                break
            best = _Best.of(violated.sum(axis=1))
            cells = self.implicated(violated, values[open_rows], rows[open_rows])
            for position in self._replaceable(cells):
                at = np.flatnonzero(cells[:, position])
                own = open_rows[at]
                score = (scores or {}).get(position)
                found = self._nearest(
                    values[own], rows[own], position, None if score is None else score[own]
                )
                best.take(at, position, *found)
            helped = best.position >= 0
            open_rows = open_rows[helped]
            values[open_rows, best.position[helped]] = best.value[helped]
            values[open_rows] = self.derived(values[open_rows], rows[open_rows])
        return values

    def _replaceable(self, cells: Mask) -> list[int]:
        derived = {self.edits.place[name] for name in self.edits.derived}
        return [int(p) for p in np.flatnonzero(cells.any(axis=0)) if int(p) not in derived]

    def _nearest(
        self, values: Values, rows: NDArray[np.int64], position: int, scores: Values | None
    ) -> tuple[NDArray[np.int64], Values, Values]:
        """Return violations left, distance and value of the best candidate of each row."""
        name = list(self.edits.columns)[position]
        named, computed = self.edits.named(values), self._computed(rows)
        cell = Cell(self.edits, name, named, computed, scores)
        tried, distance = cell.candidates()
        if self.allowed is not None:
            kept = self.allowed(position, rows, values[:, position], tried)
            tried = np.where(kept, tried, np.nan)
        changeable = self._changeable(values, rows)
        left = np.full(tried.shape, np.iinfo(np.int64).max)
        size = max(1, _BLOCK // max(tried.shape[1], 1))
        for start in range(0, rows.size, size):
            part = slice(start, start + size)
            left[part] = self._left(
                {n: v[part] for n, v in named.items()},
                {n: v[part] for n, v in computed.items()},
                name,
                tried[part],
                changeable[part],
            )
        left[np.isnan(tried)] = np.iinfo(np.int64).max
        least = left.min(axis=1)
        distance = np.where(left == least[:, None], distance, np.inf)
        chosen = np.nan_to_num(distance, nan=np.inf).argmin(axis=1)
        row = np.arange(rows.size)
        return least, distance[row, chosen], tried[row, chosen]

    def _left(
        self, named: Named, computed: dict[str, Mask], name: str, tried: Values, changeable: Mask
    ) -> NDArray[np.int64]:
        """Return how many constraints each candidate leaves violated, shape (n_rows, n_tried)."""
        n_tried = tried.shape[1]
        values = {n: np.repeat(v, n_tried) for n, v in named.items()}
        where = {n: np.repeat(v, n_tried) for n, v in computed.items()}
        cell = Cell(self.edits, name, values, where)
        violated = self.edits.violated(cell.with_values(tried.ravel()))
        violated &= np.repeat(changeable, n_tried, axis=0)
        return np.asarray(violated.sum(axis=1).reshape(tried.shape))


@dataclass(eq=False)
class _Best:
    """The best replacement of each row so far: the fewest violations, then the nearest."""

    left: NDArray[np.int64]
    distance: Values
    position: NDArray[np.int64]
    value: Values

    @classmethod
    def of(cls, violated: NDArray[np.int64]) -> _Best:
        n_rows = violated.size
        return cls(
            violated.astype(np.int64),
            np.full(n_rows, -np.inf),
            np.full(n_rows, -1),
            np.full(n_rows, np.nan),
        )

    def take(
        self,
        at: NDArray[np.int64],
        position: int,
        left: NDArray[np.int64],
        distance: Values,
        value: Values,
    ) -> None:
        """Take the replacements that are better; the first has to reduce the violations."""
        fewer = left < self.left[at]
        better = fewer | ((left == self.left[at]) & (distance < self.distance[at]))
        rows = at[better]
        self.left[rows], self.distance[rows] = left[better], distance[better]
        self.position[rows], self.value[rows] = position, value[better]


def same_groups(groups: Mapping[int, Callable[[Values], NDArray[np.int64]]]) -> Allowed:
    """Return a condition under which some columns stay in the group of their drawn value.

    Parameters
    ----------
    groups : mapping of int to callable
        By column position, the group of every value, such as the route of a gate.
    """

    def allowed(position: int, rows: NDArray[np.int64], drawn: Values, tried: Values) -> Mask:
        if position not in groups:
            return np.ones(tried.shape, dtype=bool)
        own, other = groups[position](drawn), groups[position](tried.ravel())
        return np.asarray(other.reshape(tried.shape) == own[:, None])

    return allowed
