"""Evaluates edits and formulas on coded answers, with three-valued logic.

An unknown answer (missing, or skipped) makes a number unknown, and a condition unknown unless the
other answers decide it: ``A == 1 or B == 1`` is true if A is 1, whatever B is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.parsing import ParsedText, Source, parse
from tabsoda.errors import InputError
from tabsoda.schema.codes import CodeBook
from tabsoda.schema.column import Code, Column, ColumnKind

Values = NDArray[np.float64]
# Sums and quotients of decimals are equal up to rounding.
_RELATIVE = 1e-9


@dataclass(frozen=True, eq=False)
class _Operand:
    """A number, a condition (1 true, 0 false, NaN unknown), a text, or levels that are texts."""

    values: Any
    column: Column | None = None
    text: str | None = None
    is_condition: bool = False

    @property
    def has_positions(self) -> bool:
        """Whether the values are positions of levels that are texts."""
        return self.column is not None and not has_numbers(self.column)


def has_numbers(column: Column) -> bool:
    """Return whether the answers of a column are numbers: all its codes are, or it is continuous.

    Examples
    --------
    >>> has_numbers(Column("smokes", ColumnKind.NOMINAL, (1, 2)))
    True
    """
    return not any(isinstance(level, str) for level in column.levels)


@dataclass(frozen=True, eq=False)
class Expression:
    """A condition or a formula over the columns of a table.

    Attributes
    ----------
    parsed : ParsedText
    columns : mapping of str to Column
        The columns of the table.

    Examples
    --------
    >>> ages = {name: Column(name, ColumnKind.CONTINUOUS) for name in ("first", "now")}
    >>> edit = Expression.of(Source("The edit", "first <= now"), ages)
    >>> edit.evaluate({"first": np.array([12.0, 40, np.nan]), "now": np.array([30.0, 30, 30])})
    array([ 1.,  0., nan])
    """

    parsed: ParsedText
    columns: Mapping[str, Column]

    @classmethod
    def of(
        cls, source: Source, columns: Mapping[str, Column], *, condition: bool | None = None
    ) -> Expression:
        """Read a text and check names and types.

        Parameters
        ----------
        source : Source
        columns : mapping of str to Column
        condition : bool, optional
            Whether it must be a condition (True) or a number (False).
        """
        parsed = parse(source)
        for name in parsed.names:
            if name not in columns:
                near = get_close_matches(name, columns, n=1)
                more = f" and {len(columns) - 5:,} more" if len(columns) > 5 else ""
                raise source.error(
                    "names a column that is not among the questions",
                    found=name,
                    expected=", ".join(list(columns)[:5]) + more,
                    next_step=f"Did you mean {near[0]}?" if near else "Check the name",
                )
        made = cls(parsed, columns)
        nobody = {name: np.empty(0) for name in parsed.names}
        with np.errstate(all="ignore"):
            found = made._operand(parsed.tree, nobody)
        is_number = found.text is None and not found.has_positions and not found.is_condition
        if condition is True and not found.is_condition:
            raise source.error("is not a condition", expected="a comparison such as A <= B")
        if condition is False and not is_number:
            raise source.error("is not a number", expected="a formula such as A + B")
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """The columns it mentions."""
        return self.parsed.names

    def evaluate(self, values: Mapping[str, Values]) -> Values:
        """Return the number per row, or 1 (true), 0 (false), NaN (unknown); shape (n_rows,).

        Parameters
        ----------
        values : mapping of str to ndarray of float64, shape (n_rows,)
            Coded answers as in :class:`tabsoda.table.CodedTable`; NaN where unknown.
        """
        with np.errstate(all="ignore"):
            found = np.asarray(self._operand(self.parsed.tree, values).values, dtype=np.float64)
        n_rows = next(iter(values.values())).shape[0] if values else 1
        return np.where(np.isfinite(found), found, np.nan) + np.zeros(n_rows)

    def residuals(self, values: Mapping[str, Values]) -> list[Values]:
        """Return left minus right side of every comparison of numbers, each of shape (n_rows,)."""
        found = []
        with np.errstate(all="ignore"):
            for node in ast.walk(self.parsed.tree):
                if not isinstance(node, ast.Compare):
                    continue
                sides = [node.left, *node.comparators]
                for left, right in pairwise(sides):
                    if isinstance(right, ast.Tuple | ast.List):
                        continue
                    one, other = self._operand(left, values), self._operand(right, values)
                    if any(side.text or side.has_positions for side in (one, other)):
                        continue
                    found.append(np.asarray(one.values - other.values, dtype=np.float64))
        return found

    @property
    def asks_for_equality(self) -> bool:
        """Whether it contains == between numbers that vary, such as a sum of its parts."""
        return any(
            isinstance(node, ast.Compare)
            and any(isinstance(op, ast.Eq) for op in node.ops)
            and not any(isinstance(side, ast.Constant) for side in (node.left, *node.comparators))
            for node in ast.walk(self.parsed.tree)
        )

    def _operand(self, node: ast.expr, values: Mapping[str, Values]) -> _Operand:
        name = self.parsed.column_of(node)
        if name is not None:
            return self._column_values(name, values[name])
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return _Operand(np.nan, text=node.value)
            return _Operand(np.float64(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.BoolOp):
            parts = [self._condition(one, values) for one in node.values]
            join = _both if isinstance(node.op, ast.And) else _either
            return _Operand(reduce(join, parts), is_condition=True)
        if isinstance(node, ast.Compare):
            return self._comparison(node, values)
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return _Operand(1 - self._condition(node.operand, values), is_condition=True)
            number = self._number(node.operand, values)
            return _Operand(-number if isinstance(node.op, ast.USub) else number)
        if isinstance(node, ast.BinOp):
            sides = self._number(node.left, values), self._number(node.right, values)
            return _Operand(_ARITHMETIC[type(node.op)](*sides))
        return _Operand(self._called(node, values))  # type: ignore[arg-type]

    def _column_values(self, name: str, coded: Values) -> _Operand:
        column = self.columns[name]
        if not column.is_categorical or not has_numbers(column):
            return _Operand(coded, column)
        codes = np.array([*(float(level) for level in column.levels), np.nan])
        places = np.where(np.isnan(coded), column.n_levels, coded).astype(np.int64)
        return _Operand(codes[places], column)

    def _number(self, node: ast.expr, values: Mapping[str, Values]) -> Any:
        operand = self._operand(node, values)
        if operand.text is not None or operand.has_positions:
            raise self._refused(node, "its answers are texts", "a number")
        return operand.values

    def _condition(self, node: ast.expr, values: Mapping[str, Values]) -> Any:
        operand = self._operand(node, values)
        if not operand.is_condition:
            raise self._refused(node, "it is not a condition", "a comparison such as A == 1")
        return operand.values

    def _called(self, node: ast.Call, values: Mapping[str, Values]) -> Any:
        name = node.func.id  # type: ignore[attr-defined]
        if name == "count":
            return sum(self._condition(one, values) for one in node.args)
        if name == "round":
            digits = node.args[1:]
            if digits and not _whole_constant(digits[0]):
                raise self._refused(digits[0], "it is not a constant", "a number of decimals")
            number = self._number(node.args[0], values)
            return np.round(number, int(digits[0].value) if digits else 0)  # type: ignore[attr-defined]
        parts = np.broadcast_arrays(*(self._number(one, values) for one in node.args))
        if name == "abs":
            return np.abs(parts[0])
        join = {"min": np.minimum, "max": np.maximum}.get(name, np.add)
        joined = reduce(join, parts)
        return joined / len(parts) if name == "mean" else joined

    def _comparison(self, node: ast.Compare, values: Mapping[str, Values]) -> _Operand:
        sides = [node.left, *node.comparators]
        links = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                options = right.elts  # type: ignore[attr-defined]
                parts = [self._compared(left, ast.Eq(), one, values) for one in options]
                found = reduce(_either, parts)
                links.append(1 - found if isinstance(op, ast.NotIn) else found)
            else:
                links.append(self._compared(left, op, right, values))
        return _Operand(reduce(_both, links), is_condition=True)

    def _compared(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, values: Mapping[str, Values]
    ) -> Any:
        one, other = self._operand(left, values), self._operand(right, values)
        if not isinstance(op, ast.Eq | ast.NotEq):
            for node, side in ((left, one), (right, other)):
                if side.has_positions and side.column.kind is not ColumnKind.ORDINAL:  # type: ignore[union-attr]
                    raise self._refused(node, "its answers have no order", "==, != or in")
        a, b = self._matched(left, one, other), self._matched(right, other, one)
        differ = one.column and other.column and one.column.levels != other.column.levels
        if one.has_positions and other.has_positions and differ:
            raise self._refused(right, "its levels differ", "a column with the same levels")
        return compared(op, a, b)

    def _matched(self, node: ast.expr, side: _Operand, other: _Operand) -> Any:
        """Return the numbers of a side to compare; a constant becomes the other side's position."""
        is_constant = side.text is not None or (side.column is None and np.ndim(side.values) == 0)
        if side.text is None and not (is_constant and other.has_positions):
            if other.has_positions and not side.has_positions:
                raise self._refused(node, "it is compared with texts", "one of their levels")
            return side.values
        if other.column is None or not other.column.is_categorical:
            raise self._refused(node, "it is compared with numbers", "a number")
        code = side.text if side.text is not None else float(side.values)
        level = find_level(other.column, code)
        if level is None:
            written = ", ".join(other.column.describe_level(one) for one in other.column.levels[:8])
            raise self._refused(node, f"'{other.column.name}' has no such answer", written)
        if other.has_positions:
            return np.float64(other.column.levels.index(level))
        return np.float64(level)

    def _refused(self, node: ast.expr, why: str, expected: str) -> InputError:
        source = self.parsed.source
        part = source.part(node, self.parsed.stand_ins)
        return source.error(
            "compares or computes what does not go together",
            found=f"{part}; {why}",
            expected=expected,
        )


def compared(op: ast.cmpop, a: Any, b: Any) -> Any:
    """Return 1 where a comparison of numbers holds, 0 where not, NaN where a side is unknown.

    Examples
    --------
    >>> compared(ast.LtE(), np.array([0.1 + 0.2, 1, np.nan]), 0.3)
    array([ 1.,  0., nan])
    """
    known = np.isfinite(a) & np.isfinite(b)
    close = np.abs(a - b) <= _RELATIVE * np.maximum(1, np.maximum(np.abs(a), np.abs(b)))
    return np.where(known, _TRUTH[type(op)](a, b, close), np.nan)


def find_level(column: Column, code: str | float) -> Code | None:
    """Return the level with a code, or else with a label, if it is unique.

    Examples
    --------
    >>> labels = {1: "yes", 2: "no"}
    >>> find_level(Column("smokes", ColumnKind.NOMINAL, (1, 2), level_labels=labels), "no")
    2
    """
    level = CodeBook(column.levels).find(code)
    if level is not None:
        return level
    labelled = [one for one in column.levels if column.level_labels.get(one) == code]
    return labelled[0] if len(labelled) == 1 else None


def _whole_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and 0 <= node.value <= 12


def _both(a: Any, b: Any) -> Any:
    """Return where both hold: false if one is false, even if the other is unknown."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def _either(a: Any, b: Any) -> Any:
    """Return where one holds: true if one is true, even if the other is unknown."""
    return 1 - _both(1 - a, 1 - b)


_ARITHMETIC: dict[type, Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_TRUTH: dict[type, Any] = {
    ast.Eq: lambda a, b, close: close,
    ast.NotEq: lambda a, b, close: ~close,
    ast.Lt: lambda a, b, close: (a < b) & ~close,
    ast.LtE: lambda a, b, close: (a < b) | close,
    ast.Gt: lambda a, b, close: (a > b) & ~close,
    ast.GtE: lambda a, b, close: (a > b) | close,
}
