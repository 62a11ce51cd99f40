"""Read from a question's text what it asks for: a count, a rating or one of a list."""

from __future__ import annotations

import re
from functools import cache

from tabsoda.schema.scales.lexicon import Found, PhraseFinder, languages, load_words, phrases_of
from tabsoda.schema.words import words

# Nouns such as "age" ask for a number if the label contains little else.
_SHORT = 4
_NAME_PART = re.compile(r"[^\W\d_]+")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@cache
def _finder(spoken: tuple[str, ...]) -> PhraseFinder:
    return PhraseFinder(
        phrase
        for language in spoken
        for phrase in phrases_of("questions", load_words(language)["questions"])
    )


def asked_for(question: str, name: str, spoken: tuple[str, ...] = ()) -> frozenset[str]:
    """Return what a question asks for: any of ``"count"``, ``"rating"``, ``"list"``.

    Parameters
    ----------
    question : str
        Its text.
    name : str
        The name of its column.
    spoken : tuple of str
        Languages to try, in two letters; all if empty.

    Examples
    --------
    >>> sorted(asked_for("How many cigarettes do you smoke?", "q7"))
    ['count']
    >>> sorted(asked_for("", "marital_status"))
    ['list']
    >>> sorted(asked_for("In uncertain times I expect the best", "op1"))
    []
    """
    finder = _finder(spoken or languages())
    tokens = words(question.replace("#", " number of "))
    result: set[str] = set()
    for position, item in enumerate(finder.parse(tokens)):
        if isinstance(item, Found):
            is_near = position == 0 or len(tokens) <= _SHORT
            result |= {m[1] for m in item.meanings if m[1] != "quantity"}
            if is_near and any(m[1] == "quantity" for m in item.meanings):
                result.add("count")
    parts = tuple(
        part for text in _NAME_PART.findall(_CAPITAL.sub("_", name)) for part in words(text)
    )
    for item in finder.parse(parts):
        if isinstance(item, Found):
            result |= {"count" if m[1] == "quantity" else m[1] for m in item.meanings}
    return frozenset(result)
