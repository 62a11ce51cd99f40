"""Order levels of education by the words for schools and degrees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from tabsoda.schema.scales.lexicon import Found, PhraseFinder, load_words, phrases_of
from tabsoda.schema.scales.places import Place, span

_LEVELS: dict[str, Place] = {
    "none": Place(0.0, 0.4),
    "primary": Place(1.0, 1.4),
    "lower_secondary": Place(2.0, 2.4),
    "secondary": Place(2.0, 3.4),
    "upper_secondary": Place(2.8, 3.4),
    "vocational": Place(3.0, 4.9),
    "some_college": Place(4.0, 4.9),
    "associate": Place(5.0, 5.4),
    "bachelor": Place(5.5, 6.4),
    "postgraduate": Place(6.5, 8.4),
    "master": Place(7.0, 7.4),
    "professional": Place(6.5, 8.4),
    "doctorate": Place(8.0, 8.4),
}
# Grades of school in one of these steps: the ninth grade ends the lower secondary level.
_GRADES_PER_LEVEL = 4
_LAST_GRADE = 13
_GRADE = re.compile(r"(\d{1,2})(?:st|nd|rd|th|o|a|e)?")
_ORDINAL_GRADE = re.compile(r"\d{1,2}(?:st|nd|rd|th|o|e)")
_COLLEGE = 4.0
# An incomplete level lies between the one below and itself.
_INCOMPLETE = 0.55
# Words for schools only count if some label names one of these.
_TELLING = frozenset(_LEVELS) - {"none", "professional", "vocational"}


@cache
def _finder(language: str) -> PhraseFinder:
    return PhraseFinder(phrases_of("education", load_words(language)["education"]))


def places_of_education(labels: Sequence[tuple[str, ...]], language: str) -> list[Place | None]:
    """Place the labels of one column on a scale; all None if they are not about education.

    Examples
    --------
    >>> places_of_education([("primary",), ("some", "secondary"), ("university",)], "en")
    [Place(low=1.0, high=1.4), Place(low=1.45, high=1.95), Place(low=5.5, high=6.4)]
    """
    parsed = [_finder(language).parse(label) for label in labels]
    named = {key for items in parsed for key in _keys(items)} & _TELLING
    n_grades = sum(any(map(_ORDINAL_GRADE.fullmatch, label)) for label in labels)
    if not named or len(named) + n_grades < 2:
        return [None] * len(labels)
    return [_place(items) for items in parsed]


def _keys(items: list[Found | str]) -> list[str]:
    return [item.meanings[0][1] for item in items if isinstance(item, Found)]


def _place(items: list[Found | str]) -> Place | None:
    keys = _keys(items)
    levels = [_LEVELS[key] for key in keys if key in _LEVELS]
    grades = [
        int(found.group(1))
        for item in items
        if isinstance(item, str) and (found := _GRADE.fullmatch(item))
    ]
    if grades and max(grades) <= _LAST_GRADE:
        place = Place(min(grades), max(grades))
        if not levels:
            return place.times(1 / _GRADES_PER_LEVEL)
        if isinstance(items[0], str) and _GRADE.fullmatch(items[0]):
            # "2 years of college".
            return Place(_COLLEGE + place.low / 10, _COLLEGE + place.high / 10)
    if not levels:
        return None
    if "incomplete" not in keys or "some_college" in keys:
        return span(levels)
    low = min(level.low for level in levels)
    return Place(low - _INCOMPLETE, low - 0.05)
