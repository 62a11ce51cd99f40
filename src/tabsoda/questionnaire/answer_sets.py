"""Sets of answers to one question, and where an expression of a form is true or false.

A form treats an unanswered question as an empty text: ``${smokes} = 'yes'`` is false and
``${smokes} != 'no'`` is true where it was skipped. So a set says of blanks, too, whether they
belong to it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from tabsoda.questionnaire.expressions import (
    Call,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Reference,
)
from tabsoda.schema.codes import as_number, numeric_if_possible, plain
from tabsoda.schema.column import Code, Column, Reason
from tabsoda.skips.rules import NAMED_REASONS, Condition

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_EVERYTHING = ((-math.inf, math.inf),)
# More alternatives than this are not what a questionnaire says.
MOST_PATHS = 64

Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Gate:
    """The column that holds the answers to a question, or to one of its options.

    Attributes
    ----------
    column : Column
    is_whole : bool
        Whether its numbers are whole.
    is_option : bool
        Whether it says only if an option was chosen.
    """

    column: Column
    is_whole: bool = False
    is_option: bool = False


# Returns the gate of a question and, where options have columns of their own, of an option; raises
# ExpressionError if there is none.
Gates = Callable[[str, str | None], Gate]


@dataclass(frozen=True)
class AnswerSet:
    """Some answers to one column.

    Attributes
    ----------
    column : Column
    levels : frozenset of Code
        Of a categorical column.
    spans : tuple of (above, up_to)
        Of a number: above < answer <= up_to; in order, apart from each other.
    reasons : frozenset of Reason
        Missing answers by their reason.
    blank : bool
        Whether a skipped question belongs to it.
    """

    column: Column
    levels: frozenset[Code] = frozenset()
    spans: Spans = ()
    reasons: frozenset[Reason] = frozenset()
    blank: bool = False

    def complement(self) -> AnswerSet:
        """Return all other answers."""
        every = self.full(self.column)
        return replace(
            self,
            levels=every.levels - self.levels,
            spans=_outside(self.spans) if every.spans else (),
            reasons=every.reasons - self.reasons,
            blank=not self.blank,
        )

    def intersection(self, other: AnswerSet) -> AnswerSet:
        """Return the answers in both sets of the same column."""
        both = [
            (max(a, c), min(b, d))
            for (a, b), (c, d) in product(self.spans, other.spans)
            if max(a, c) < min(b, d)
        ]
        return replace(
            self,
            levels=self.levels & other.levels,
            spans=tuple(sorted(both)),
            reasons=self.reasons & other.reasons,
            blank=self.blank and other.blank,
        )

    @classmethod
    def full(cls, column: Column) -> AnswerSet:
        """Return all answers of a column, and all blanks."""
        reasons = frozenset(set(column.special_codes.values()) & set(NAMED_REASONS))
        spans = () if column.is_categorical else _EVERYTHING
        return cls(column, frozenset(column.levels), spans, reasons, blank=True)

    @property
    def is_empty(self) -> bool:
        """Whether nothing belongs to it."""
        return not (self.levels or self.spans or self.reasons or self.blank)

    def conditions(self) -> list[Condition]:
        """Return conditions of which at least one holds where an answer is in the set."""
        if self.spans == _EVERYTHING:
            raise ExpressionError(f"it asks whether the number '{self.column.name}' was answered")
        name, reasons = self.column.name, tuple(self.reasons)
        if self.column.is_categorical:
            levels = tuple(level for level in self.column.levels if level in self.levels)
            return [Condition(name, levels, or_skipped=self.blank, reasons=reasons)]
        if not self.spans:
            return [Condition(name, or_skipped=self.blank, reasons=reasons)]
        found = []
        for place, (above, up_to) in enumerate(self.spans):
            found.append(
                Condition(
                    name,
                    above=None if above == -math.inf else above,
                    up_to=None if up_to == math.inf else up_to,
                    or_skipped=self.blank and place == 0,
                    reasons=reasons if place == 0 else (),
                )
            )
        return found


# All sets of a path must hold; by column.
Path = dict[str, AnswerSet]


def paths_where(expression: Expression, gates: Gates, *, true: bool) -> list[Path]:
    """Return the ways in which an expression can be true, or false.

    Parameters
    ----------
    expression : Expression
    gates : Gates
    true : bool
        Whether to look for where it is true.

    Returns
    -------
    list of dict of str to AnswerSet
        The expression has that value where all sets of at least one path hold. A path without sets
        always holds; no path never does.

    Raises
    ------
    ExpressionError
        If the expression asks for something that a rule cannot say.
    """
    if isinstance(expression, Operation) and expression.operator in ("and", "or"):
        sides = [paths_where(one, gates, true=true) for one in (expression.left, expression.right)]
        if (expression.operator == "or") == true:
            return _limited([*sides[0], *sides[1]])
        return _limited([path for a, b in product(*sides) if (path := _both(a, b)) is not None])
    if isinstance(expression, Call) and expression.function == "not":
        if len(expression.arguments) != 1:
            raise ExpressionError("not() takes one argument")
        return paths_where(expression.arguments[0], gates, true=not true)
    if isinstance(expression, Call) and expression.function in ("true", "false"):
        return [{}] if (expression.function == "true") == true else []
    found = _answer_set(expression, gates)
    found = found if true else found.complement()
    return [] if found.is_empty else [{found.column.name: found}]


def _limited(paths: list[Path]) -> list[Path]:
    if len(paths) > MOST_PATHS:
        raise ExpressionError(f"it has more than {MOST_PATHS} alternatives")
    return paths


def _both(first: Path, second: Path) -> Path | None:
    """Return a path on which two hold; None if that is impossible."""
    joined = dict(first)
    for name, found in second.items():
        joined[name] = joined[name].intersection(found) if name in joined else found
        if joined[name].is_empty:
            return None
    return joined


def _answer_set(expression: Expression, gates: Gates) -> AnswerSet:
    """Return the answers for which a comparison or selected() is true."""
    if isinstance(expression, Call) and expression.function == "selected":
        question, code = _selected(expression)
        gate = gates(question, code)
        return _chosen(gate.column) if gate.is_option else _compared(gate, "=", code)
    if isinstance(expression, Operation) and expression.operator in MIRRORED:
        left, right, sign = expression.left, expression.right, expression.operator
        if isinstance(right, Reference):
            left, right, sign = right, left, MIRRORED[sign]
        value = plain_value(right)
        if isinstance(left, Call) and left.function in ("number", "int") and left.arguments:
            left = left.arguments[0]
        if isinstance(left, Reference) and value is not None:
            return _compared(gates(left.name, None), sign, value)
        raise ExpressionError("it compares more than one question with a value")
    if isinstance(expression, Call):
        raise ExpressionError(f"the function {expression.function}() is not translated")
    raise ExpressionError("it is not a comparison")


def _chosen(column: Column) -> AnswerSet:
    chosen = frozenset(chosen_levels(column))
    if never_chosen(column):
        return AnswerSet(column)
    if not chosen or len(chosen) == len(column.levels):
        raise ExpressionError(f"'{column.name}' does not say which answer means chosen")
    return AnswerSet(column, chosen)


def _selected(call: Call) -> tuple[str, str]:
    if len(call.arguments) == 2:
        question, code = call.arguments
        if isinstance(question, Reference) and isinstance(code, Literal):
            value = code.value
            return question.name, str(plain(value))
    raise ExpressionError("selected() needs a question and the code of an option")


def plain_value(expression: Expression) -> float | str | None:
    """Return the number or text that an expression is; None if it is something else."""
    if isinstance(expression, Literal):
        return expression.value
    if (
        isinstance(expression, Operation)
        and expression.operator == "-"
        and expression.left == Literal(0.0)
        and isinstance(expression.right, Literal)
        and isinstance(expression.right.value, float)
    ):
        return -expression.right.value
    return None


def _compared(gate: Gate, sign: str, value: float | str) -> AnswerSet:
    """Return the answers to a question that compare so with a value."""
    column = gate.column
    if value == "":
        answered = replace(AnswerSet.full(column), blank=False)
        if sign not in ("=", "!="):
            raise ExpressionError(f"'{sign}' compares with an empty text")
        return answered if sign == "!=" else answered.complement()

    def fulfils(code: object) -> bool:
        if sign in _ORDERED:
            a, b = as_number(code), as_number(value)
            return a is not None and b is not None and _ORDERED[sign](a, b)
        return (_spelled(code) == _spelled(value)) == (sign == "=")

    reasons = _reasons_where(column, fulfils)
    # An empty text equals no value, and as a number it compares as false.
    blank = sign == "!="
    if column.is_categorical:
        codes = {*column.levels, *column.special_codes}
        if sign in ("=", "!=") and _spelled(value) not in {_spelled(code) for code in codes}:
            # A misspelt code would make a rule that always skips, or never.
            raise ExpressionError(f"'{_spelled(value)}' is not an answer to '{column.name}'")
        levels = frozenset(level for level in column.levels if fulfils(level))
        return AnswerSet(column, levels, (), reasons, blank)
    number = as_number(value)
    if number is None:
        raise ExpressionError(f"'{column.name}' is a number, and '{value}' is not")
    return AnswerSet(column, frozenset(), _spans(sign, number, gate.is_whole), reasons, blank)


def _reasons_where(column: Column, fulfils: Callable[[object], bool]) -> frozenset[Reason]:
    """Return the reasons whose codes fulfil a comparison; raise if codes of one reason differ."""
    found = set()
    for reason in set(column.special_codes.values()) & set(NAMED_REASONS):
        results = {fulfils(code) for code, own in column.special_codes.items() if own is reason}
        if len(results) > 1:
            raise ExpressionError(
                f"codes of '{column.name}' that mean {reason.value} are treated differently"
            )
        if results == {True}:
            found.add(reason)
    return frozenset(found)


def _spans(sign: str, value: float, whole: bool) -> Spans:
    """Return the numbers that compare so with a value, as intervals open below."""
    below = math.ceil(value) - 1.0 if whole else math.nextafter(value, -math.inf)
    value = float(math.floor(value)) if whole and sign in ("<=", ">") else value
    if sign == "<":
        return ((-math.inf, below),)
    if sign == "<=":
        return ((-math.inf, value),)
    if sign == ">":
        return ((value, math.inf),)
    if sign == ">=":
        return ((below, math.inf),)
    equal = ((below, value),)
    return equal if sign == "=" else _outside(equal)


def _outside(spans: Spans) -> Spans:
    """Return the numbers in none of the intervals."""
    ends = [-math.inf, *(end for span in sorted(spans) for end in span), math.inf]
    pairs = zip(ends[::2], ends[1::2], strict=True)
    return tuple((above, up_to) for above, up_to in pairs if above < up_to)


def _spelled(code: object) -> str:
    return str(numeric_if_possible(code)) if isinstance(code, str | int | float) else str(code)


def chosen_levels(column: Column) -> tuple[Code, ...]:
    """Return the levels of an option's column that mean that it was chosen."""
    if column.select_all:
        return tuple(level for level in column.levels if as_number(level) != 0)
    return tuple(level for level in column.levels if is_chosen(level))


def is_chosen(level: Code) -> bool:
    """Whether a level of an option's column means that it was chosen.

    Examples
    --------
    >>> is_chosen(1), is_chosen("TRUE"), is_chosen(0), is_chosen("No")
    (True, True, False, False)
    """
    return str(numeric_if_possible(level)).strip().lower() in ("1", "true", "yes")


def never_chosen(column: Column) -> bool:
    """Whether an option's column has only answers that mean that it was not chosen."""
    words = {str(numeric_if_possible(level)).strip().lower() for level in column.levels}
    return bool(words) and words <= {"0", "false", "no"}


def conjuncts(expressions: tuple[Expression, ...]) -> Iterator[Expression]:
    """Split expressions at every outer "and"."""
    for one in expressions:
        if isinstance(one, Operation) and one.operator == "and":
            yield from conjuncts((one.left, one.right))
        else:
            yield one
