"""What is known of a kind of event: its stage, its heading, and the template of its sentence.

``{cells}`` is a value: a number with separators, a text, or a list. ``{cells:cell/cells}`` counts:
"1 cell", "2,000 cells". ``{share:.1%}`` is a number format. ``{names:quoted}`` puts quotes around
each. ``{codes:with reasons}`` writes two lists in pairs: "8 (refused), 9 (unknown)"; and
``{codes:with cells, cell/cells}`` counts in the brackets. ``{questions:product}`` writes a term:
"AGE:SEX", "AGE squared". A part in square brackets is left out
where one of its values is absent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PARTS = re.compile(r"\[([^\]]*)\]")
_FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
_WITH = re.compile(r"with (\w+)(?:, (.+))?")


@dataclass(frozen=True)
class EventText:
    """The texts of one kind of event.

    Attributes
    ----------
    stage : str
        Where the decision is taken: ``"read"``, ``"describe"``, ``"states"``, ``"skips"``,
        ``"encode"``, ``"train"``, ``"impute"``, ``"routing"``, ``"export"`` or ``"diagnose"``.
    heading : str
        What was decided, in a few words that are the same for all columns.
    detail : str
        Why, and the numbers, as a template.
    """

    stage: str
    heading: str
    detail: str = ""


def render(template: str, counts: Mapping[str, Any]) -> str | None:
    """Fill a template; None where a value that it cannot do without is absent.

    Examples
    --------
    >>> render("{rows} of {total:row/rows}[, {left} of them left]", {"rows": 1, "total": 1200})
    '1 of 1,200 rows'
    >>> render("{codes:with cells, cell/cells}", {"codes": ["a", "b"], "cells": [1, 2]})
    'a (1 cell), b (2 cells)'
    """
    written = ""
    # Every second part is one in brackets.
    for number, part in enumerate(_PARTS.split(template)):
        if all(is_given(counts.get(name)) for name in _names(part)):
            text = _FIELD.sub(lambda found: _value(found, counts), part)
            # The first of several optional parts has nothing to be parted from.
            written += text if written else text.removeprefix(", ")
        elif number % 2 == 0:
            return None
    return written


def is_given(value: Any) -> bool:
    """Whether there is something to show: 0 is, an empty text or list is not."""
    return value is not None and value != "" and value != () and value != []


def _names(part: str) -> Iterator[str]:
    for found in _FIELD.finditer(part):
        yield found.group(1)
        pair = _WITH.fullmatch(found.group(2) or "")
        if pair:
            yield pair.group(1)


def _value(found: re.Match[str], counts: Mapping[str, Any]) -> str:
    value, form = counts[found.group(1)], found.group(2) or ""
    pair = _WITH.fullmatch(form)
    if pair is None:
        return write_value(value, form)
    others = counts[pair.group(1)]
    return ", ".join(
        f"{write_value(one)} ({write_value(other, pair.group(2) or '')})"
        for one, other in zip(value, others, strict=True)
    )


def write_value(value: Any, form: str = "") -> str:
    """Write a value in one of the forms that the module's text lists."""
    if form == "product":
        return product_text(value if isinstance(value, list | tuple) else (value,))
    if isinstance(value, list | tuple):
        return ", ".join(write_value(entry, form) for entry in value)
    if form == "quoted":
        return repr(value)
    if "/" in form:
        one, many = form.split("/")
        return f"{write_value(value)} {one if value == 1 else many}"
    # A withheld number is a text.
    if isinstance(value, str):
        return value
    return f"{value:{form or (',' if isinstance(value, int) else 'g')}}"


def product_text(questions: Sequence[Any]) -> str:
    """Write the product of some questions; the same one twice is its square.

    Examples
    --------
    >>> product_text(["AGE", "SEX"]), product_text(["AGE", "AGE"]), product_text(["A", "A", "B"])
    ('AGE:SEX', 'AGE squared', 'A squared:B')
    """
    powers = {1: "", 2: " squared", 3: " cubed"}
    times = Counter(str(one) for one in questions)
    return ":".join(f"{name}{powers.get(n, f' to the power {n}')}" for name, n in times.items())
