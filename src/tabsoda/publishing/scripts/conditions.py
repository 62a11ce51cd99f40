"""Conditions of subsets, such as ``AGE >= 18 and not SEX == 2``, in other languages.

Languages treat blanks differently: Stata counts them as infinite, numpy says that a blank differs
from every number. So ``not`` is moved inwards until only comparisons are left, and every comparison
is written so that it does not hold where one of its columns is blank.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tabsoda.analysis.variables import Variable, find_variable
from tabsoda.analysis.where import named_column
from tabsoda.schema.codes import CodeBook, plain
from tabsoda.schema.column import Code

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

_SIGNS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
ARITHMETIC: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class ConditionWriter(ABC):
    """Writes conditions that :func:`tabsoda.analysis.where.selected_rows` accepts.

    Parameters
    ----------
    result : Imputations
    """

    def __init__(self, result: Imputations) -> None:
        self.result = result

    def write(self, where: str) -> str:
        """Return the condition in this language."""
        return self._written(ast.parse(where.strip(), mode="eval").body, negated=False)

    @abstractmethod
    def column(self, name: str) -> str:
        """Return a column of numbers."""

    @abstractmethod
    def position(self, name: str) -> str:
        """Return the position, from 1, of each answer among levels that are texts."""

    @abstractmethod
    def level(self, name: str, sign: str, level: Code) -> str:
        """Compare a column of texts with a level, by == or !=."""

    @abstractmethod
    def blank(self, name: str, *, negated: bool) -> str:
        """Return where a column is blank, or is not."""

    @abstractmethod
    def compared(self, left: str, sign: str, right: str, names: Sequence[str]) -> str:
        """Compare numbers; false where one of the named columns is blank."""

    @abstractmethod
    def joined(self, parts: Sequence[str], *, every: bool) -> str:
        """Join conditions by *and* (every) or *or*."""

    def _written(self, node: ast.expr, *, negated: bool) -> str:
        if isinstance(node, ast.UnaryOp):
            return self._written(node.operand, negated=not negated)
        if isinstance(node, ast.BoolOp):
            parts = [self._written(value, negated=negated) for value in node.values]
            return self.joined(parts, every=isinstance(node.op, ast.And) != negated)
        if not isinstance(node, ast.Compare):
            raise TypeError("only conditions that selected_rows accepts can be written")
        sides = [node.left, *node.comparators]
        links = [
            self._link(left, sign, right, negated=negated)
            for left, sign, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return links[0] if len(links) == 1 else self.joined(links, every=not negated)

    def _link(self, left: ast.expr, sign: ast.cmpop, right: ast.expr, *, negated: bool) -> str:
        if isinstance(sign, ast.In | ast.NotIn):
            differs = isinstance(sign, ast.NotIn) != negated
            listed = right.elts  # type: ignore[attr-defined]
            parts = [self._compared(left, "!=" if differs else "==", one) for one in listed]
            return parts[0] if len(parts) == 1 else self.joined(parts, every=differs)
        if isinstance(sign, ast.Is | ast.IsNot):
            name = named_column(left) or ""
            return self.blank(name, negated=isinstance(sign, ast.IsNot) != negated)
        text = _SIGNS[type(sign)]
        return self._compared(left, _OPPOSITE[text] if negated else text, right)

    def _compared(self, left: ast.expr, sign: str, right: ast.expr) -> str:
        first, second = self._variable(left), self._variable(right)
        if first is not None and isinstance(right, ast.Constant | ast.UnaryOp):
            found = self._with_level(first, sign, right)
        elif second is not None and isinstance(left, ast.Constant | ast.UnaryOp):
            turned = sign.replace("<", "x").replace(">", "<").replace("x", ">")
            found = self._with_level(second, turned, left)
        else:
            found = None
        if found is not None:
            return found
        names = [name for side in (left, right) for name in column_names(side)]
        texts = [self._number(left), self._number(right)]
        return self.compared(texts[0], sign, texts[1], names)

    def _with_level(self, variable: Variable, sign: str, constant: ast.expr) -> str | None:
        """Compare a categorical column with a code or a label; None for plain numbers."""
        column, value = variable.column, ast.literal_eval(constant)
        if variable.has_numbers() and not isinstance(value, str):
            return None
        level = CodeBook(column.levels).find(value)
        if level is None:
            level = next(one for one in column.levels if column.level_labels.get(one) == value)
        if variable.has_numbers():
            return self.compared(self.column(column.name), sign, str(plain(level)), [column.name])
        if sign in ("==", "!="):
            return self.level(column.name, sign, level)
        place = str(column.levels.index(level) + 1)
        return self.compared(self.position(column.name), sign, place, [column.name])

    def _variable(self, node: ast.expr) -> Variable | None:
        name = named_column(node)
        return None if name is None else find_variable(self.result, name)

    def _number(self, node: ast.expr) -> str:
        variable = self._variable(node)
        if variable is not None:
            name = variable.column.name
            return self.column(name) if variable.has_numbers() else self.position(name)
        if isinstance(node, ast.BinOp):
            left, right = self._number(node.left), self._number(node.right)
            return f"({left} {ARITHMETIC[type(node.op)]} {right})"
        return f"({ast.unparse(node)})" if isinstance(node, ast.UnaryOp) else ast.unparse(node)


def column_names(node: ast.AST) -> list[str]:
    """Return the columns of an expression, each once.

    Examples
    --------
    >>> column_names(ast.parse("A + Q('b c') > A", mode="eval"))
    ['A', 'b c']
    """
    found: dict[str, None] = {}
    inside: set[ast.AST] = set()
    for child in ast.walk(node):
        name = named_column(child) if isinstance(child, ast.expr) else None
        if name is not None and child not in inside:
            found[name] = None
            inside |= set(ast.walk(child))
    return list(found)
