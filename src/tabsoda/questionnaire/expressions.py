"""Expressions of forms as data, and the parser of XLSForm's expressions.

XLSForm writes conditions in a part of XPath 1.0: ``${age} >= 18 and selected(${drinks}, 'beer')``.
Nothing is executed: an expression is parsed into the classes below, or rejected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# By precedence, loosest first; all are left-associative.
_LEVELS = (("or",), ("and",), ("=", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "div", "mod"))
_MAX_LENGTH = 10_000
_MAX_DEPTH = 50
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<reference>\$\{\s*[^}]+?\s*\})
    | (?P<number>\d+\.?\d*|\.\d+)
    | (?P<text>'[^']*'|"[^"]*"|[‘’][^‘’]*[‘’]|[“”][^“”]*[“”])
    | (?P<operator><=|>=|!=|=|<|>|\+|-|\*)
    | (?P<name>[A-Za-z_][\w:-]*)
    | (?P<self>\.)
    | (?P<mark>[(),])
    )""",
    re.VERBOSE,
)


class ExpressionError(ValueError):
    """An expression that is not understood; the text says why."""


@dataclass(frozen=True)
class Reference:
    """The answer to a question, by its name; ``"."`` is the question of a constraint itself."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A number or a text."""

    value: float | str


@dataclass(frozen=True)
class Operation:
    """Two expressions joined by an operator, such as ``"and"``, ``"<="`` or ``"+"``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call:
    """A function and its arguments."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Reference | Literal | Operation | Call


def negated(expression: Expression) -> Expression:
    """Return the expression that is true where another is false."""
    return Call("not", (expression,))


def parse_xpath(text: str) -> Expression:
    """Parse an XLSForm expression.

    Parameters
    ----------
    text : str

    Raises
    ------
    ExpressionError
        If it is not an expression, or longer or more deeply nested than a person would write.

    Examples
    --------
    >>> parse_xpath("${age} >= 18")
    Operation(operator='>=', left=Reference(name='age'), right=Literal(value=18.0))
    """
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"it has more than {_MAX_LENGTH:,} characters")
    parser = _Parser(_tokens(text))
    parsed = parser.expression(0, 0)
    parser.end()
    return parsed


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"'{text[place : place + 12].strip()}' is not understood")
        kind = match.lastgroup or ""
        token = match.group(kind)
        # A name after an operand is an operator: "and", "or", "div", "mod".
        if kind == "name" and token.lower() in ("and", "or", "div", "mod"):
            kind, token = "operator", token.lower()
        tokens.append((kind, token))
        place = match.end()
    return tokens


class _Parser:
    """A recursive-descent parser over tokens."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._place = 0

    def expression(self, level: int, depth: int) -> Expression:
        """Parse operators of a level and all tighter ones."""
        if depth > _MAX_DEPTH:
            raise ExpressionError("it is nested too deeply")
        if level == len(_LEVELS):
            return self._operand(depth + 1)
        left = self.expression(level + 1, depth)
        while self._kind() == "operator" and self._token() in _LEVELS[level]:
            operator = self._take()
            left = Operation(operator, left, self.expression(level + 1, depth))
        return left

    def end(self) -> None:
        """Raise unless all tokens are used."""
        if self._place < len(self._tokens):
            raise ExpressionError(f"'{self._token()}' is not expected there")

    def _operand(self, depth: int) -> Expression:
        kind = self._kind()
        if kind == "reference":
            return Reference(self._take()[2:-1].strip())
        if kind == "number":
            return Literal(float(self._take()))
        if kind == "text":
            return Literal(self._take()[1:-1])
        if kind == "self":
            self._take()
            return Reference(".")
        if kind == "operator" and self._token() == "-":
            self._take()
            return Operation("-", Literal(0.0), self._operand(depth))
        if kind == "name":
            return self._call(depth)
        if self._accept("("):
            inner = self.expression(0, depth)
            self._require(")")
            return inner
        found = f"'{self._token()}'" if kind else "its end"
        raise ExpressionError(f"{found} is not expected there")

    def _call(self, depth: int) -> Expression:
        name = self._take()
        if not self._accept("("):
            raise ExpressionError(f"'{name}' is neither a function nor a question in ${{...}}")
        arguments: list[Expression] = []
        if not self._accept(")"):
            arguments.append(self.expression(0, depth))
            while self._accept(","):
                arguments.append(self.expression(0, depth))
            self._require(")")
        return Call(name, tuple(arguments))

    def _kind(self) -> str:
        return self._tokens[self._place][0] if self._place < len(self._tokens) else ""

    def _token(self) -> str:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._token()
        self._place += 1
        return token

    def _accept(self, mark: str) -> bool:
        if self._kind() == "mark" and self._token() == mark:
            self._place += 1
            return True
        return False

    def _require(self, mark: str) -> None:
        if not self._accept(mark):
            raise ExpressionError(f"'{mark}' is missing")
