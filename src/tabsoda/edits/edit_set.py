"""All constraints of a survey, ready to evaluate: bounds, edits and derived variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.column_facts import MOST_DECIMALS, ColumnFacts, facts_of
from tabsoda.edits.expression import Expression, has_numbers
from tabsoda.edits.parsing import Source
from tabsoda.errors import InputError
from tabsoda.schema.column import Column
from tabsoda.schema.edit import Derivation
from tabsoda.schema.schema import Schema
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
Named = dict[str, Values]


@dataclass(frozen=True, eq=False)
class Constraint:
    """One condition on the answers of a respondent.

    Attributes
    ----------
    title : str
        For messages and counts.
    label : str
    kind : {"bounds", "edit", "derived"}
    expression : Expression
        The condition; for "derived", the formula of ``target``.
    target : str
        The derived variable, else empty.
    tolerance : float
        How far a derived variable may be from its formula.
    """

    title: str
    label: str
    kind: Literal["bounds", "edit", "derived"]
    expression: Expression
    target: str = ""
    tolerance: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it constrains."""
        own = self.expression.names
        return (*own, self.target) if self.target else own

    @property
    def asks_for_equality(self) -> bool:
        """Whether the other answers determine each of them, as in a sum."""
        return self.kind == "derived" or self.expression.asks_for_equality

    def truth(self, values: Mapping[str, Values]) -> Values:
        """Return 1 where it holds, 0 where it is violated, NaN where it is unknown."""
        found = self.expression.evaluate(values)
        if not self.target:
            return found
        off = np.abs(numbers_of(self.expression.columns[self.target], values[self.target]) - found)
        slack = self.tolerance + 1e-9 * np.maximum(1, np.abs(found))
        return np.where(np.isnan(off), np.nan, off <= slack)

    def residuals(self, values: Mapping[str, Values]) -> list[Values]:
        """Return what is 0 at the limits of the condition, each of shape (n_rows,)."""
        if not self.target:
            return self.expression.residuals(values)
        column = self.expression.columns[self.target]
        return [numbers_of(column, values[self.target]) - self.expression.evaluate(values)]


def numbers_of(column: Column, coded: Values) -> Values:
    """Return the numbers that coded answers stand for.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> numbers_of(Column("smokes", ColumnKind.NOMINAL, (1, 2)), np.array([0.0, np.nan, 1.0]))
    array([ 1., nan,  2.])
    """
    if not column.is_categorical:
        return coded
    codes = np.array([*(float(level) for level in column.levels), np.nan])
    return codes[np.where(np.isnan(coded), column.n_levels, coded).astype(np.int64)]


def _coded(column: Column, numbers: Values) -> Values:
    """Return coded answers for numbers; NaN where a categorical column has no such level."""
    if not column.is_categorical:
        return numbers
    codes = np.array([float(level) for level in column.levels])
    order = np.argsort(codes)
    places = np.searchsorted(codes[order], numbers).clip(0, codes.size - 1)
    found = order[places].astype(np.float64)
    return np.where(codes[order][places] == numbers, found, np.nan)


@dataclass(frozen=True, eq=False)
class Formula:
    """A derived variable and how it is computed; ``parts`` are never derived themselves."""

    column: Column
    expression: Expression
    decimals: int | None
    parts: frozenset[str]


@dataclass(frozen=True, eq=False)
class EditSet:
    """The constraints of a survey.

    Attributes
    ----------
    columns : dict of str to Column
        The questions.
    constraints : tuple of Constraint
    formulas : tuple of Formula
        Derived variables, those that others build on first.
    facts : dict of str to ColumnFacts
        Of the columns that are involved.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind, Edit
    >>> ages = tuple(Column(name, ColumnKind.CONTINUOUS) for name in ("first", "now"))
    >>> table = CodedTable.from_values(ages, np.array([[12.0, 30], [40, 30], [np.nan, 30]]))
    >>> edits = EditSet.of(Schema(ages, (Edit("first <= now"),)), table)
    >>> edits.violated(edits.named(table.values)).tolist()
    [[False], [True], [False]]
    """

    columns: dict[str, Column]
    constraints: tuple[Constraint, ...]
    formulas: tuple[Formula, ...]
    facts: dict[str, ColumnFacts]
    place: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = {name: position for position, name in enumerate(self.columns)}
        object.__setattr__(self, "place", places)

    @classmethod
    def of(
        cls,
        schema: Schema,
        table: CodedTable | None,
        facts: Mapping[str, ColumnFacts] | None = None,
    ) -> EditSet:
        """Compile the constraints of a schema; raise if one is wrong.

        Parameters
        ----------
        schema : Schema
            With the columns of derived variables.
        table : CodedTable or None
            Its answers give the facts, unless ``facts`` are given.
        facts : mapping of str to ColumnFacts, optional
        """
        columns = {column.name: column for column in schema.questions}
        constraints = [*_bounds(columns), *_edits(schema, columns)]
        ordered = _in_order(schema.derivations, columns)
        used = {name for one in constraints for name in one.names}
        used |= {name for d, e in ordered for name in (d.name, *e.names)}
        names = [name for name in columns if name in used]
        if facts is None:
            facts = {} if table is None else facts_of(table, names)
        formulas, parts = [], dict[str, frozenset[str]]()
        for derivation, expression in ordered:
            parts[derivation.name] = frozenset().union(
                *(parts.get(name, frozenset({name})) for name in expression.names)
            )
            own = facts.get(derivation.name)
            # More decimals than anybody writes down: computed, and not rounded again.
            rounded = own is not None and own.donors.size and own.decimals < MOST_DECIMALS
            decimals = own.decimals if own is not None and rounded else None
            column = columns[derivation.name]
            formulas.append(Formula(column, expression, decimals, parts[derivation.name]))
            constraints.append(_of_formula(derivation, expression, decimals))
        return cls(
            columns, tuple(constraints), tuple(formulas), {n: facts[n] for n in names if n in facts}
        )

    def __bool__(self) -> bool:
        return bool(self.constraints)

    @cached_property
    def involved(self) -> tuple[str, ...]:
        """The columns in constraints and formulas, in questionnaire order."""
        used = {name for one in self.constraints for name in one.names}
        return tuple(name for name in self.columns if name in used)

    @cached_property
    def derived(self) -> dict[str, Formula]:
        """The formulas by the name of their variable."""
        return {formula.column.name: formula for formula in self.formulas}

    def roots(self, constraint: Constraint) -> frozenset[str]:
        """Return the columns that decide about a constraint; the parts of derived variables."""
        return self._roots[id(constraint)]

    @cached_property
    def _roots(self) -> dict[int, frozenset[str]]:
        found = {}
        for one in self.constraints:
            own = (self.derived[n].parts if n in self.derived else {n} for n in one.names)
            target = {one.target} if one.target else set()
            found[id(one)] = frozenset().union(*own, target)
        return found

    def named(self, values: Values) -> Named:
        """Return the involved columns of a table by name, each of shape (n_rows,)."""
        return {name: values[:, self.place[name]] for name in self.involved}

    def truth(self, values: Mapping[str, Values]) -> Values:
        """Return 1, 0 or NaN (unknown) for rows and constraints."""
        n_rows = next(iter(values.values())).shape[0] if values else 0
        found = np.empty((n_rows, len(self.constraints)))
        for number, constraint in enumerate(self.constraints):
            found[:, number] = constraint.truth(values)
        return found

    def violated(self, values: Mapping[str, Values]) -> Mask:
        """Return which rows violate which constraints, shape (n_rows, n_constraints)."""
        return np.asarray(self.truth(values) == 0)

    def derive(self, values: Named, where: Mapping[str, Mask]) -> Named:
        """Return the values with derived variables computed in some cells.

        Parameters
        ----------
        values : dict of str to ndarray of float64, shape (n_rows,)
        where : mapping of str to ndarray of bool, shape (n_rows,)
            The cells to compute, by derived variable.
        """
        result = dict(values)
        for formula in self.formulas:
            name = formula.column.name
            if name in where and where[name].any():
                found = formula.expression.evaluate(result)
                for part in formula.expression.names:
                    # "A == 1 or B == 1" may be known without B, but B was not answered.
                    found = np.where(np.isnan(result[part]), np.nan, found)
                if formula.decimals is not None:
                    found = np.round(found, formula.decimals)
                result[name] = np.where(where[name], _coded(formula.column, found), result[name])
        return result


def _bounds(columns: Mapping[str, Column]) -> Iterable[Constraint]:
    for name, column in columns.items():
        low, high = column.minimum, column.maximum
        if low is None and high is None:
            continue
        before = "" if low is None else f"{low!r} <= "
        after = "" if high is None else f" <= {high!r}"
        source = Source("The bounds", f"{before}Q({name!r}){after}")
        expression = Expression.of(source, columns, condition=True)
        yield Constraint(f"{before}{name}{after}", "", "bounds", expression)


def _edits(schema: Schema, columns: Mapping[str, Column]) -> Iterable[Constraint]:
    titles: set[str] = set()
    for edit in schema.edits:
        source = Source("The edit", edit.rule, edit.place)
        expression = Expression.of(source, columns, condition=True)
        if not expression.names:
            raise source.error("names no column", expected="a condition on answers")
        if not edit.approved:
            continue
        if edit.title in titles:
            raise source.error("has the name of another edit", found=edit.title)
        titles.add(edit.title)
        yield Constraint(edit.title, edit.label, "edit", expression)


def _in_order(
    derivations: tuple[Derivation, ...], columns: Mapping[str, Column]
) -> list[tuple[Derivation, Expression]]:
    """Return the derivations such that each follows those it builds on; raise on a cycle."""
    found: dict[str, tuple[Derivation, Expression]] = {}
    for one in derivations:
        source = Source("The formula", one.formula, one.place)
        column = columns.get(one.name)
        if one.name in found:
            raise source.error(f"derives '{one.name}' a second time", expected="one formula")
        if column is None or not has_numbers(column):
            raise InputError(
                "is derived but is not a question whose answers are numbers",
                column=one.name,
                found=one.place or one.formula,
                next_step="Give it the role question and the kind continuous",
            )
        expression = Expression.of(source, columns, condition=False)
        if not expression.names:
            raise source.error("names no column", expected="a formula such as A + B")
        found[one.name] = one, expression
    ordered: dict[str, tuple[Derivation, Expression]] = {}
    while len(ordered) < len(found):
        ready = [
            name
            for name, (_, expression) in found.items()
            if name not in ordered
            and all(part in ordered or part not in found for part in expression.names)
        ]
        if not ready:
            circle = [name for name in found if name not in ordered]
            raise InputError(
                "Derived variables are computed from each other in a circle",
                found=", ".join(circle[:5]),
                expected="formulas that lead back to questions",
                next_step=f"Correct one of them{_at(found[circle[0]][0].place)}",
            )
        ordered |= {name: found[name] for name in ready}
    return list(ordered.values())


def _at(place: str) -> str:
    return f"; the first is in {place}" if place else ""


def _of_formula(derivation: Derivation, expression: Expression, decimals: int | None) -> Constraint:
    tolerance = derivation.tolerance
    if tolerance is None:
        tolerance = 0.5 * 10.0 ** -(MOST_DECIMALS if decimals is None else decimals)
    title = f"{derivation.name} = {derivation.formula}"
    return Constraint(
        title, derivation.label, "derived", expression, derivation.name, float(tolerance)
    )
