"""Finds answers for all imputed cells of one respondent that satisfy every constraint together.

The constraints become a mixed-integer linear program, whose solution changes as few cells, and
these as little, as possible (Fellegi and Holt 1976). Constraints that multiply imputed answers with
each other are not linear; :mod:`tabsoda.edits.backtracking` searches for these.

References
----------
Fellegi, I. P. and Holt, D. (1976). A systematic approach to automatic edit and imputation. Journal
of the American Statistical Association, 71(353), 17-35.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.backtracking import found_by_search
from tabsoda.edits.candidates import OUTSIDE
from tabsoda.edits.column_facts import MOST_DECIMALS
from tabsoda.edits.edit_set import Constraint, Formula, numbers_of
from tabsoda.edits.expression import has_numbers
from tabsoda.edits.linear_conditions import NotLinearError, Number, Translator, rounded, within
from tabsoda.edits.program import AllOf, AtMost, Condition, Linear, Program
from tabsoda.edits.respondent import CHANGE, Respondent

Values = NDArray[np.float64]
# Cost of a constraint that stays violated, where not all can hold.
_VIOLATED = 10_000.0


def solved(respondent: Respondent) -> Values:
    """Return a row that satisfies all constraints, or as many as the solver finds.

    Examples
    --------
    >>> from tabsoda import CodedTable, Column, ColumnKind, Schema
    >>> from tabsoda.edits.edit_set import EditSet
    >>> from tabsoda.schema import Edit
    >>> columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "ABCT")
    >>> table = CodedTable.from_values(columns, np.array([[0.0, 0, 0, 0], [9, 9, 9, 27]]))
    >>> rules = tuple(map(Edit, ("A + B + C == T", "A < B", "B < C")))
    >>> edits = EditSet.of(Schema(columns, rules), table)
    >>> free = np.array([True, True, True, False])
    >>> solved(Respondent(edits, np.array([3.0, 3, 3, 12]), free)).tolist()
    [3.0, 4.0, 5.0, 12.0]
    """
    values = respondent.drawn.copy()
    for constraints in respondent.components:
        found = _solved_part(respondent, constraints)
        if found is not None:
            at = [respondent.edits.place[name] for name in respondent.free_names(constraints)]
            values[at] = found[at]
    return values


def _solved_part(respondent: Respondent, constraints: Sequence[Constraint]) -> Values | None:
    """Return a row that satisfies some constraints; as many as possible if all cannot hold."""
    try:
        for on_grid, all_hold in ((True, True), (False, True), (True, False)):
            found = _Model(respondent, constraints, on_grid, all_hold).solve()
            if found is not None:
                return found
    except NotLinearError:
        return found_by_search(respondent, constraints)
    return None


@dataclass(eq=False)
class _Model:
    """The program of one respondent.

    Attributes
    ----------
    respondent : Respondent
    constraints : sequence of Constraint
    on_grid : bool
        Whether numbers have as many decimals as the observed answers; whole ones stay whole.
    all_hold : bool
        Whether all constraints must hold; otherwise, as many as possible.
    """

    respondent: Respondent
    constraints: Sequence[Constraint]
    on_grid: bool = True
    all_hold: bool = True
    program: Program = field(default_factory=Program)
    cells: dict[str, Number] = field(default_factory=dict)
    listed: dict[str, tuple[Values, tuple[int, ...]]] = field(default_factory=dict)

    def solve(self) -> Values | None:
        """Return the row at the least cost; None if there is none."""
        names = self.respondent.free_names(self.constraints)
        self._add_observed()
        for name in names:
            self._add_cell(name)
        translator = Translator(self.program, self.cells)
        formulas = [one for one in self.respondent.edits.formulas if self._follows(one)]
        for formula in formulas:
            self._add_derived(formula, translator)
        followed = {formula.column.name for formula in formulas}
        for constraint in self.constraints:
            if constraint.target in followed:
                continue
            kept = self._kept(constraint, translator)
            guard = None
            if not self.all_hold:
                guard = self.program.variable(0, 1, cost=-_VIOLATED)
            self.program.require(kept, guard)
        found = self.program.solve()
        return None if found is None else self._read(found, names)

    def _add_observed(self) -> None:
        edits, drawn = self.respondent.edits, self.respondent.drawn
        for name in edits.involved:
            column, coded = edits.columns[name], drawn[[edits.place[name]]]
            number = float((numbers_of(column, coded) if has_numbers(column) else coded)[0])
            self.cells[name] = None if np.isnan(number) else Linear(number)

    def _add_cell(self, name: str) -> None:
        respondent = self.respondent
        column, facts = respondent.edits.columns[name], respondent.edits.facts[name]
        place = respondent.edits.place[name]
        if column.is_categorical or place in respondent.permitted:
            tried, costs = respondent.options(name, respondent.drawn)
            chosen = self.program.choice(costs.tolist())
            self.listed[name] = tried, chosen
            numbers = numbers_of(column, tried) if has_numbers(column) else tried
            weights = {at: float(n) for at, n in zip(chosen, numbers, strict=True) if n != 0}
            self.cells[name] = Linear(0.0, weights)
            return
        drawn = float(respondent.drawn[place])
        low, high = self._reach(name, drawn)
        step = 10.0**-facts.decimals
        whole = facts.is_whole or (self.on_grid and facts.decimals < MOST_DECIMALS)
        # A drawn number between two steps of the grid may stay as it is.
        start = np.round(drawn / step) * step if whole else drawn
        units = step if whole else 1.0
        at = self.program.variable(
            float(np.ceil((low - 1e-9) / units)),
            float(np.floor((high + 1e-9) / units)),
            whole=whole,
        )
        self.cells[name] = number = Linear(0.0, {at: units})
        self._add_costs(number, float(start), low, high, name)

    def _reach(self, name: str, drawn: float) -> tuple[float, float]:
        """Return how far a number may go: its bounds, or else as far as all others together."""
        edits = self.respondent.edits
        involved = {n for one in self.constraints for n in edits.roots(one)}
        sizes = [0.0]
        for one in involved:
            facts, value = edits.facts[one], self.respondent.drawn[edits.place[one]]
            known = [abs(x) for x in (facts.low, facts.high, value) if np.isfinite(x)]
            sizes.append(max(known, default=0.0))
        facts, column = edits.facts[name], edits.columns[name]
        far = 2 * sum(sizes) + 10 * facts.spread + 100.0
        low, high = facts.domain(column)
        return max(low, min(drawn, 0.0) - far), min(high, max(drawn, 0.0) + far)

    def _add_costs(self, number: Linear, drawn: float, low: float, high: float, name: str) -> None:
        """Add the distance from the drawn number, and what any change costs."""
        facts, program = self.respondent.edits.facts[name], self.program
        furthest = max(high - drawn, drawn - low, 1.0)
        distance = program.variable(0, furthest, cost=1 / facts.spread, whole=False)
        program.require(within_variable(number - Linear(drawn), distance, 1.0))
        changed = program.variable(0, 1, cost=CHANGE)
        program.require(within_variable(number - Linear(drawn), changed, furthest))
        if np.isfinite(facts.low) and (low < facts.low or high > facts.high):
            beyond = program.variable(0, 1, cost=OUTSIDE)
            above, below = max(high - facts.high, 0.0), max(facts.low - low, 0.0)
            program.require(AtMost(number - Linear(facts.high, {beyond: above})))
            program.require(AtMost(Linear(facts.low, {beyond: -below}) - number))

    def _follows(self, formula: Formula) -> bool:
        involved = {name for one in self.constraints for name in one.names}
        return formula.column.name in involved and self.respondent.is_free(formula.column.name)

    def _add_derived(self, formula: Formula, translator: Translator) -> None:
        """Add a derived variable as a form of its parts, rounded as it will be."""
        name, column = formula.column.name, formula.column
        exact = translator.number(formula.expression)
        if exact is None or (formula.decimals is None and not column.is_categorical):
            self.cells[name] = exact
            return
        self.cells[name] = rounded(self.program, exact, formula.decimals or 0)

    def _kept(self, constraint: Constraint, translator: Translator) -> Condition:
        if not constraint.target:
            return translator.kept(constraint.expression)
        # The value of a derived variable was observed: its parts have to fit.
        value, formula = self.cells[constraint.target], translator.number(constraint.expression)
        if value is None or formula is None:
            return AllOf()
        return within(formula, value, constraint.tolerance)

    def _read(self, found: Values, names: list[str]) -> Values:
        values, edits = self.respondent.drawn.copy(), self.respondent.edits
        for name in names:
            place, facts = edits.place[name], edits.facts[name]
            if name in self.listed:
                tried, chosen = self.listed[name]
                values[place] = tried[int(np.argmax(found[list(chosen)]))]
                continue
            form = self.cells[name]
            at, unit = next(iter(form.weights.items()))  # type: ignore[union-attr]
            number, drawn = found[at] * unit, self.respondent.drawn[place]
            on_grid = self.program.whole[at]
            unchanged = abs(number - drawn) <= (unit / 2 if on_grid and unit < 1 else 1e-6)
            rounded = np.round(number, facts.decimals) if on_grid else number
            values[place] = drawn if unchanged else rounded
        return values


def within_variable(form: Linear, variable: int, factor: float) -> Condition:
    """Return the condition that a form is at most ``factor`` times a variable, in size."""
    most = Linear(0.0, {variable: factor})
    return AllOf((AtMost(form - most), AtMost(form.times(-1.0) - most)))
