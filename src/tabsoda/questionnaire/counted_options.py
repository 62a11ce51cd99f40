"""Rewrite how many options were chosen as conditions on the single options."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import combinations

from tabsoda.questionnaire.answer_sets import MIRRORED, MOST_PATHS, plain_value
from tabsoda.questionnaire.expressions import (
    Call,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Reference,
    negated,
)

_COUNT = "count-selected"


def without_counts(expression: Expression, options: Mapping[str, Sequence[str]]) -> Expression:
    """Return an expression in which no number of chosen options is compared with a value.

    Parameters
    ----------
    expression : Expression
    options : mapping of str to sequence of str
        The codes of all options, by question.

    Raises
    ------
    ExpressionError
        If the question has no options, or too many for the combinations to be listed.

    Examples
    --------
    >>> count = Call("count-selected", (Reference("drinks"),))
    >>> found = without_counts(Operation(">", count, Literal(0.0)), {"drinks": ["beer", "wine"]})
    >>> found.operator, found.left.function, found.left.arguments[1]
    ('or', 'selected', Literal(value='beer'))
    """
    if isinstance(expression, Call):
        inner = (without_counts(one, options) for one in expression.arguments)
        return Call(expression.function, tuple(inner))
    if not isinstance(expression, Operation):
        return expression
    sign, left, right = expression.operator, expression.left, expression.right
    if _is_count(right):
        sign, left, right = MIRRORED.get(sign, sign), right, left
    if not _is_count(left):
        sides = (without_counts(one, options) for one in (left, right))
        return Operation(sign, *sides)
    value = plain_value(right)
    if sign not in MIRRORED or not isinstance(value, float):
        raise ExpressionError("a number of options is compared with something else than a number")
    reference = left.arguments[0]  # type: ignore[union-attr]
    return _counted(reference, options.get(reference.name, ()), sign, value)  # type: ignore[union-attr]


def _is_count(expression: Expression) -> bool:
    return (
        isinstance(expression, Call)
        and expression.function == _COUNT
        and len(expression.arguments) == 1
        and isinstance(expression.arguments[0], Reference)
    )


def _counted(question: Expression, codes: Sequence[str], sign: str, value: float) -> Expression:
    if not codes:
        raise ExpressionError(f"{_COUNT}() needs a question with several answers")
    if sign == "=":
        return _all(_counted(question, codes, one, value) for one in ("<=", ">="))
    if sign == "!=":
        return negated(_counted(question, codes, "=", value))
    if sign in ("<", "<="):
        return negated(_counted(question, codes, ">=" if sign == "<" else ">", value))
    least = math.floor(value) + 1 if sign == ">" else math.ceil(value)
    if least <= 0 or least > len(codes):
        return Call("true" if least <= 0 else "false", ())
    if math.comb(len(codes), least) > MOST_PATHS:
        raise ExpressionError(f"it has more than {MOST_PATHS} alternatives")
    chosen = [Call("selected", (question, Literal(code))) for code in codes]
    return reduce(
        lambda one, other: Operation("or", one, other), map(_all, combinations(chosen, least))
    )


def _all(expressions: Iterable[Expression]) -> Expression:
    return reduce(lambda one, other: Operation("and", one, other), expressions)
