"""Translates edits into linear conditions on the imputed cells of one respondent."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from tabsoda.edits.expression import Expression, compared, find_level, has_numbers
from tabsoda.edits.program import ALWAYS, NEVER, AllOf, AnyOf, AtMost, Condition, Linear, Program
from tabsoda.schema.column import Column

_OPPOSITE: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# The value of a column or a part of an edit; None if it is unknown.
Number = Linear | None


class NotLinearError(Exception):
    """An edit multiplies imputed answers with each other, or the like."""


@dataclass(frozen=True, eq=False)
class Translator:
    """Translates the edits of one respondent.

    Attributes
    ----------
    program : Program
        Gets auxiliary variables, for maxima and the like.
    cells : mapping of str to Linear or None
        By column: the observed number, a form of the program's variables, or None if the
        answer is unknown. Text levels count as their positions.
    """

    program: Program
    cells: Mapping[str, Number]

    def kept(self, expression: Expression) -> Condition:
        """Return the condition under which an edit is not violated.

        Raises :exc:`NotLinearError` if it is not a combination of linear comparisons.
        """
        return _Reader(self, expression).condition(expression.parsed.tree, wanted=True)

    def number(self, expression: Expression) -> Number:
        """Return the value of a formula."""
        return _Reader(self, expression).number(expression.parsed.tree)


@dataclass(frozen=True, eq=False)
class _Reader:
    translator: Translator
    expression: Expression

    @property
    def program(self) -> Program:
        return self.translator.program

    def condition(self, node: ast.expr, *, wanted: bool) -> Condition:
        """Return when a condition is ``wanted`` or unknown; an unknown edit is not violated."""
        if isinstance(node, ast.BoolOp):
            parts = tuple(self.condition(one, wanted=wanted) for one in node.values)
            return AllOf(parts) if isinstance(node.op, ast.And) == wanted else _any_of(parts)
        if isinstance(node, ast.UnaryOp):
            return self.condition(node.operand, wanted=not wanted)
        if not isinstance(node, ast.Compare):
            raise NotLinearError
        sides = [node.left, *node.comparators]
        links = tuple(
            self._link(left, type(op) if wanted else _OPPOSITE[type(op)], right)
            for (left, right), op in zip(pairwise(sides), node.ops, strict=True)
        )
        return AllOf(links) if wanted else _any_of(links)

    def _link(self, left: ast.expr, op: type, right: ast.expr) -> Condition:
        if op is ast.In:
            return _any_of(tuple(self._link(left, ast.Eq, one) for one in right.elts))  # type: ignore[attr-defined]
        if op is ast.NotIn:
            return AllOf(tuple(self._link(left, ast.NotEq, one) for one in right.elts))  # type: ignore[attr-defined]
        one, other = self._side(left, right), self._side(right, left)
        if one is None or other is None:
            return ALWAYS
        return self._compared(op, one, other)

    def _compared(self, op: type, one: Linear, other: Linear) -> Condition:
        form = one - other
        if not form.weights:
            holds = compared(op(), np.float64(one.constant), np.float64(other.constant))
            return ALWAYS if holds != 0 else NEVER
        chosen = self.program.choices.get(next(iter(form.weights)))
        if chosen is not None and set(form.weights) <= set(chosen):
            # An answer out of a list: those that satisfy the comparison are known.
            values = np.array([form.constant + form.weights.get(at, 0.0) for at in chosen])
            fits = compared(op(), values, np.zeros(values.size)) == 1
            good = {at: -1.0 for at, fit in zip(chosen, fits, strict=True) if fit}
            return AtMost(Linear(1.0, good))
        below, above = AtMost(form), AtMost(form.times(-1.0))
        if op is ast.Eq:
            return AllOf((below, above))
        if op is ast.NotEq:
            return AnyOf((AtMost(below.form, strict=True), AtMost(above.form, strict=True)))
        chosen_side = below if op in (ast.Lt, ast.LtE) else above
        return AtMost(chosen_side.form, strict=op in (ast.Lt, ast.Gt))

    def _side(self, node: ast.expr, other: ast.expr) -> Number:
        """Return one side of a comparison; a constant is a level of the other side's column."""
        column = self._column(other)
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        found = None if is_text else self.number(node)
        if column is None or not (is_text or self._is_level(node, column)):
            return found
        code = node.value if is_text else found.constant  # type: ignore[union-attr, attr-defined]
        # The expression was checked: the level exists.
        level = find_level(column, code)
        place = column.levels.index(level)
        return Linear(float(level) if has_numbers(column) else float(place))  # type: ignore[arg-type]

    def _is_level(self, node: ast.expr, column: Column) -> bool:
        """Return whether a number names a level of a column whose levels are texts."""
        return self._column(node) is None and not has_numbers(column)

    def _column(self, node: ast.expr) -> Column | None:
        name = self.expression.parsed.column_of(node)
        return None if name is None else self.expression.columns[name]

    def number(self, node: ast.expr) -> Number:
        """Return a number as a form of the variables; None where it is unknown."""
        name = self.expression.parsed.column_of(node)
        if name is not None:
            return self.translator.cells[name]
        if isinstance(node, ast.Constant):
            return Linear(float(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            found = self.number(node.operand)
            minus = isinstance(node.op, ast.USub)
            return found.times(-1.0) if found is not None and minus else found
        if isinstance(node, ast.BinOp):
            sides = self.number(node.left), self.number(node.right)
            if sides[0] is None or sides[1] is None:
                return None
            return self._arithmetic(node.op, sides[0], sides[1])
        if isinstance(node, ast.Call):
            return self._called(node)
        return self._whether(node)

    def _arithmetic(self, op: ast.operator, one: Linear, other: Linear) -> Number:
        if isinstance(op, ast.Add):
            return one + other
        if isinstance(op, ast.Sub):
            return one - other
        if isinstance(op, ast.Mult) and not one.weights:
            one, other = other, one
        if other.weights:
            raise NotLinearError
        factor = other.constant
        if isinstance(op, ast.Mult):
            return one.times(factor)
        if isinstance(op, ast.Pow):
            if one.weights and factor != 1:
                raise NotLinearError
            return one if one.weights else _finite(np.power(one.constant, factor))
        if factor == 0:
            return None
        if isinstance(op, ast.Div):
            return one.times(1 / factor)
        if factor < 0:
            raise NotLinearError
        low, high = self.program.limits(one)
        times = Linear(0.0, {self.program.variable(low // factor, high // factor): factor})
        self.program.require(AtMost(times - one))
        self.program.require(AtMost(one - times - Linear(factor), strict=True))
        return times.times(1 / factor) if isinstance(op, ast.FloorDiv) else one - times

    def _called(self, node: ast.Call) -> Number:
        name = node.func.id  # type: ignore[attr-defined]
        if name == "count":
            return _sum([self._whether(one) for one in node.args])
        parts = [self.number(one) for one in (node.args[:1] if name == "round" else node.args)]
        if name == "round":
            digits = int(node.args[1].value) if len(node.args) > 1 else 0  # type: ignore[attr-defined]
            return None if parts[0] is None else rounded(self.program, parts[0], digits)
        if name in ("sum", "mean"):
            found = _sum(parts)
            return found if found is None or name == "sum" else found.times(1 / len(parts))
        known = [one for one in parts if one is not None]
        if len(known) < len(parts):
            return None
        if name == "abs":
            return self._largest([known[0], known[0].times(-1.0)])
        if name == "max":
            return self._largest(known)
        return self._largest([one.times(-1.0) for one in known]).times(-1.0)

    def _largest(self, parts: list[Linear]) -> Linear:
        if not any(one.weights for one in parts):
            return Linear(max(one.constant for one in parts))
        low, high = np.array([self.program.limits(one) for one in parts]).max(axis=0)
        found = Linear(0.0, {self.program.variable(float(low), float(high), whole=False): 1.0})
        self.program.require(AllOf(tuple(AtMost(one - found) for one in parts)))
        self.program.require(AnyOf(tuple(AtMost(found - one) for one in parts)))
        return found

    def _whether(self, node: ast.expr) -> Number:
        """Return a variable that is 1 if a condition holds, and 0 if not."""
        cells = self.translator.cells
        own = [self.expression.parsed.column_of(one) for one in ast.walk(node)]  # type: ignore[arg-type]
        if any(name in cells and cells[name] is None for name in own if name is not None):
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                return None
            raise NotLinearError
        yes = self.program.variable(0, 1)
        holds = AllOf((self.condition(node, wanted=True), AtMost(Linear(1.0, {yes: -1.0}))))
        fails = AllOf((self.condition(node, wanted=False), AtMost(Linear(0.0, {yes: 1.0}))))
        self.program.require(AnyOf((holds, fails)))
        return Linear(0.0, {yes: 1.0})


def within(one: Linear, other: Linear, distance: float) -> Condition:
    """Return the condition that two forms differ by at most a distance."""
    form, most = one - other, Linear(distance)
    return AllOf((AtMost(form - most), AtMost(form.times(-1.0) - most)))


def rounded(program: Program, number: Linear, decimals: int) -> Linear:
    """Return a number rounded to some decimals; halves go to the even neighbour, as in numpy."""
    if not number.weights:
        return Linear(float(np.round(number.constant, decimals)))
    step = 10.0**-decimals
    low, high = program.limits(number)
    half = program.variable(float(low / step) // 2 - 1, float(high / step) // 2 + 1)
    odd = program.variable(0, 1)
    found = Linear(0.0, {half: 2 * step, odd: step})
    off, most = number - found, Linear(step / 2)
    sides = off - most, off.times(-1.0) - most
    program.require(AllOf(tuple(AtMost(side) for side in sides)))
    strictly = AllOf(tuple(AtMost(side, strict=True) for side in sides))
    program.require(AnyOf((AtMost(Linear(0.0, {odd: 1.0})), strictly)))
    return found


def _any_of(parts: tuple[Condition, ...]) -> Condition:
    return ALWAYS if ALWAYS in parts else AnyOf(parts)


def _sum(parts: list[Number]) -> Number:
    known = [one for one in parts if one is not None]
    return reduce(Linear.__add__, known, Linear(0.0)) if len(known) == len(parts) else None


def _finite(number: float) -> Number:
    return Linear(float(number)) if np.isfinite(number) else None
