"""Subsets as conditions on columns, such as ``AGE >= 18 and SEX == 2``.

A condition may contain names, constants, comparisons, arithmetic, ``and``, ``or`` and ``not``. It
is parsed, not executed as Python. Blanks follow three-valued logic: a comparison with a blank is
neither true nor false.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.rows import OUTSIDE, UNDECIDED, Rows
from tabsoda.analysis.variables import Variable, column_names, find_variable, written_levels
from tabsoda.errors import InputError
from tabsoda.schema.codes import CodeBook
from tabsoda.schema.column import ColumnKind

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

Mask = NDArray[np.bool_]
_LONGEST = 2_000
_FORM = "a condition such as AGE >= 18 and SEX == 2, or REGION in ('north', 'south')"
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def selected_rows(result: Imputations, where: str | Mask | Rows | None) -> Rows:
    """Return which rows belong to a subset, per draw.

    Parameters
    ----------
    result : Imputations
    where : str, array of bool, Rows or None
        A condition; or a mask of shape (n_rows,) or (n_draws, n_rows); None for all rows. If the
        condition contains an imputed question, membership may differ between draws.
    """
    if isinstance(where, Rows):
        return where
    rows = Rows.everybody(result)
    if where is None:
        return rows
    if isinstance(where, str):
        tree = _parsed(where)
        draws = range(1, len(result) + 1)
        try:
            found = [_Reader(result, draw, where).truth(tree) for draw in draws]
        except (RecursionError, OverflowError) as error:
            raise _unreadable(where) from error
        known = np.array([truth.yes | truth.no for truth in found])
        inside = np.array([truth.yes for truth in found])
        names = [named_column(node) for node in ast.walk(tree) if isinstance(node, ast.expr)]
        columns = set(column_names(result))
        rows = rows.by(sorted({name for name in names if name in columns}))
        return rows.keep(~known | inside, OUTSIDE).keep(known, UNDECIDED)
    mask = np.asarray(where)
    shapes = (rows.counted.shape, rows.counted.shape[1:])
    if mask.dtype != bool or mask.shape not in shapes:
        raise InputError(
            "The subset is not a mask of the rows",
            found=f"{mask.dtype} of shape {mask.shape}",
            expected=f"bool of shape {shapes[1]} or {shapes[0]}, or a condition as text",
        )
    return rows.keep(mask, OUTSIDE)


def _parsed(where: str) -> ast.expr:
    text = where.strip()
    try:
        if len(text) > _LONGEST:
            raise ValueError(f"{len(text):,} characters")
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(text) from error


def _unreadable(text: str) -> InputError:
    has_single = re.search(r"(?<![=!<>])=(?!=)", text)
    return InputError(
        "The condition in where cannot be read",
        found=repr(text) if len(text) < 200 else f"{text[:200]!r} and more",
        expected=_FORM,
        next_step="Write == for equals" if has_single else None,
    )


@dataclass(frozen=True, eq=False)
class _Truth:
    """Where a condition is true and where it is false; neither if it is undecided."""

    yes: Mask
    no: Mask

    def __and__(self, other: _Truth) -> _Truth:
        return _Truth(self.yes & other.yes, self.no | other.no)

    def __or__(self, other: _Truth) -> _Truth:
        return _Truth(self.yes | other.yes, self.no & other.no)

    def __invert__(self) -> _Truth:
        return _Truth(self.no, self.yes)


@dataclass(frozen=True, eq=False)
class _Operand:
    """One side of a comparison: numbers, positions of text levels, or a constant text."""

    values: Any = None
    variable: Variable | None = None
    text: str | None = None

    @property
    def is_constant(self) -> bool:
        return self.variable is None and (self.text is not None or np.ndim(self.values) == 0)

    @property
    def has_positions(self) -> bool:
        return self.variable is not None and not self.variable.has_numbers()


@dataclass(frozen=True)
class _Reader:
    """Evaluates a parsed condition on one draw."""

    result: Imputations
    draw: int
    source: str

    def truth(self, node: ast.expr) -> _Truth:
        if isinstance(node, ast.BoolOp):
            join = operator.and_ if isinstance(node.op, ast.And) else operator.or_
            return reduce(join, [self.truth(value) for value in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.truth(node.operand)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            links = [
                self._compared(left, comparison, right)
                for left, comparison, right in zip(sides, node.ops, sides[1:], strict=False)
            ]
            return reduce(operator.and_, links)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            raise self._refusal(node, "write and, or instead of &, |")
        raise self._refusal(node, "write a comparison, joined by and, or, not")

    def _compared(self, left: ast.expr, comparison: ast.cmpop, right: ast.expr) -> _Truth:
        if isinstance(comparison, ast.In | ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
                raise self._refusal(right, "after in comes a list of values, such as (1, 2)")
            parts = [self._compared(left, ast.Eq(), one) for one in right.elts]
            joined = reduce(operator.or_, parts)
            return ~joined if isinstance(comparison, ast.NotIn) else joined
        first = self._operand(left)
        if isinstance(comparison, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise self._refusal(right, "use is only with None; write == to compare")
            blank = np.broadcast_to(np.isnan(first.values), (self.result.table.shape[0],))
            found = _Truth(blank, ~blank)
            return ~found if isinstance(comparison, ast.IsNot) else found
        second = self._operand(right)
        self._check_comparable(first, second)
        a, b = self._matched(first, second), self._matched(second, first)
        if isinstance(comparison, _ORDERS):
            self._check_order(first, second)
        known = ~(np.isnan(a) | np.isnan(b))
        holds = _COMPARISONS[type(comparison)](a, b)
        shape = (self.result.table.shape[0],)
        return _Truth(np.broadcast_to(known & holds, shape), np.broadcast_to(known & ~holds, shape))

    def _operand(self, node: ast.expr) -> _Operand:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _Operand(text=node.value)
        name = named_column(node)
        if name is not None:
            variable = find_variable(self.result, name, "where")
            coded = variable.numbers if variable.has_numbers() else variable.coded
            return _Operand(coded(self.draw), variable)
        return _Operand(self._number(node))

    def _number(self, node: ast.expr) -> Any:
        """Return a constant, a column of numbers, or the result of arithmetic."""
        if isinstance(node, ast.Constant) and _is_number(node.value):
            return np.float64(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._number(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            with np.errstate(all="ignore"):
                sides = self._number(node.left), self._number(node.right)
                return _ARITHMETIC[type(node.op)](*sides)
        if named_column(node) is None:
            raise self._refusal(node, "use names of columns, numbers, texts and + - * /")
        operand = self._operand(node)
        if operand.has_positions:
            raise self._refusal(node, "its answers are texts, not numbers")
        return operand.values

    def _matched(self, operand: _Operand, other: _Operand) -> Any:
        """Return the numbers to compare; a constant is converted to its code or position."""
        if operand.text is None and not (operand.is_constant and other.has_positions):
            return operand.values
        code = float(operand.values) if operand.text is None else operand.text
        if other.variable is None or not other.variable.column.is_categorical:
            raise InputError(
                "The condition in where compares a text with numbers",
                found=f"{code!r} in {self.source[:80]!r}",
                expected="a number",
            )
        column = other.variable.column
        level = CodeBook(column.levels).find(code)
        if level is None:
            labelled = [one for one in column.levels if column.level_labels.get(one) == code]
            if len(labelled) != 1:
                raise InputError(
                    "does not have the answer given in where",
                    column=column.name,
                    found=repr(code),
                    expected=f"one of {written_levels(column)}",
                )
            level = labelled[0]
        return float(column.levels.index(level) if other.has_positions else level)

    def _check_comparable(self, one: _Operand, other: _Operand) -> None:
        """Raise if positions of different levels, or positions and numbers, are compared."""
        for side, against in ((one, other), (other, one)):
            if side.variable is None or not side.has_positions or against.is_constant:
                continue
            column = side.variable.column
            if against.variable is None or against.variable.column.levels != column.levels:
                raise InputError(
                    "is compared in where with a column that has other levels",
                    column=column.name,
                    found=repr(self.source[:80]),
                    expected=f"one of {written_levels(column)}",
                )

    def _check_order(self, first: _Operand, second: _Operand) -> None:
        for side in (first, second):
            variable = side.variable
            if variable is None or not side.has_positions:
                continue
            if variable.column.kind is not ColumnKind.ORDINAL:
                raise InputError(
                    "has unordered answers, but where compares them with < or >",
                    column=variable.column.name,
                    found=written_levels(variable.column),
                    expected="==, != or in",
                )

    def _refusal(self, node: ast.AST, advice: str) -> InputError:
        part = ast.get_source_segment(self.source.strip(), node) or self.source
        return InputError(
            "The condition in where contains something that is not allowed",
            found=repr(part[:80]),
            expected=_FORM,
            next_step=advice[0].upper() + advice[1:],
        )


def _is_number(value: object) -> TypeGuard[int | float]:
    # Python treats True and False as numbers, but they are not numbers here.
    return isinstance(value, int | float) and not isinstance(value, bool)


def named_column(node: ast.expr) -> str | None:
    """Return the column of a name or of ``Q('a name')``; None for other nodes.

    Examples
    --------
    >>> [named_column(ast.parse(text, mode="eval").body) for text in ("AGE", "Q('a b')", "1")]
    ['AGE', 'a b', None]
    """
    if isinstance(node, ast.Name):
        return node.id
    is_quote = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Q"
        and len(node.args) == 1
        and not node.keywords
    )
    if is_quote:
        quoted = node.args[0]  # type: ignore[attr-defined]
        if isinstance(quoted, ast.Constant) and isinstance(quoted.value, str):
            return quoted.value
    return None
