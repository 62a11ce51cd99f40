"""XLSForm expressions are parsed as XPath is, and everything else is rejected."""

import pytest

from tabsoda.questionnaire.expressions import (
    Call,
    ExpressionError,
    Literal,
    Operation,
    Reference,
    parse_xpath,
)

A, B = Reference("a"), Reference("b")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("${a} = 'x y'", Operation("=", A, Literal("x y"))),
        ("${ a }!=3", Operation("!=", A, Literal(3.0))),
        (". > -1", Operation(">", Reference("."), Operation("-", Literal(0.0), Literal(1.0)))),
        ("not(selected(${a}, “x”))", Call("not", (Call("selected", (A, Literal("x"))),))),
        ("today()", Call("today", ())),
        # "and" binds more tightly than "or", comparisons more tightly than "and".
        (
            "${a}=1 or ${b}=2 and ${a}<3",
            Operation(
                "or",
                Operation("=", A, Literal(1.0)),
                Operation("and", Operation("=", B, Literal(2.0)), Operation("<", A, Literal(3.0))),
            ),
        ),
        # Operators of one level are applied from left to right.
        ("3 - 2 - 1", Operation("-", Operation("-", Literal(3.0), Literal(2.0)), Literal(1.0))),
        ("(${a} + 1) div 2", Operation("div", Operation("+", A, Literal(1.0)), Literal(2.0))),
    ],
)
def test_parsed(text: str, parsed: object) -> None:
    assert parse_xpath(text) == parsed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its end is not expected"),
        ("${a} =", "its end is not expected"),
        ("${a} = 1)", "'\\)' is not expected"),
        ("(${a} = 1", "'\\)' is missing"),
        ("age > 3", "'age' is neither a function nor a question"),
        ("${a} = 'x", "is not understood"),
        ("__import__('os').system('true')", "'.' is not expected"),
        ("(" * 200 + "1" + ")" * 200, "nested too deeply"),
        ("1 + " * 5000 + "1", "more than 10,000 characters"),
    ],
)
def test_rejected(text: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why):
        parse_xpath(text)
