"""Decide whether labels form a scale, and in which order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tabsoda.schema.scales.degrees import Reading, read_degrees
from tabsoda.schema.scales.education import places_of_education
from tabsoda.schema.scales.label_text import QUANTILE_WORD, without_parentheses
from tabsoda.schema.scales.lexicon import likely_languages
from tabsoda.schema.scales.numbers import (
    Amount,
    number_words,
    places_of_bands,
    places_of_rates,
    read_amounts,
)
from tabsoda.schema.scales.places import Place, certain_order, falls, is_confirmed, rises
from tabsoda.schema.words import words

_MIN_LEVELS = 3
_NUMBERED = re.compile(r"(\d{1,2})(?:\s*[-–—:=.)]+\s*(\D.*))?")
# With the number before or after the word.
_QUANTILE = re.compile(
    rf"(\d{{1,2}})\D{{0,5}}?\s?{QUANTILE_WORD}|{QUANTILE_WORD}\s*(\d{{1,2}})", re.IGNORECASE
)
# Share of the levels that must have a place for labels to count as a scale.
_MIN_PLACED = 0.6
# Unknown words that a label for the middle may have: "about the same as it was".
_WORDS_BESIDE_MIDDLE = 4
# Words that begin with this many equal letters are taken as forms of one word.
_STEM = 5
_BARE = Place(2.5, 4.5)
_MIDDLE = Place(0, 0)


@dataclass(frozen=True)
class Scale:
    """A scale that labels form.

    Attributes
    ----------
    name : str
        Such as ``"agreement"`` or ``"number bands"``.
    language : str
        Two letters.
    order : tuple of int or None
        Positions of the levels from one end to the other; None if unclear.
    follows_codes : bool
        Whether the order is that in which the labels were given.
    contradicts_codes : bool
        Whether known places go up and down in the order of the codes.
    is_certain : bool
        Whether every word is known and every level has a place.
    unsure : tuple of int
        Positions of answers like "no opinion" that are not a step of the scale.
    unplaced : tuple of int
        Positions of levels whose place is not known.
    """

    name: str
    language: str
    order: tuple[int, ...] | None
    follows_codes: bool
    contradicts_codes: bool
    is_certain: bool
    unsure: tuple[int, ...] = ()
    unplaced: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """One way to read all labels of a column."""

    name: str
    language: str
    places: list[Place | None]
    is_exact: list[bool]
    is_unsure: list[bool]

    @property
    def n_exact(self) -> int:
        pairs = zip(self.places, self.is_exact, self.is_unsure, strict=True)
        return sum((place is not None and exact) or unsure for place, exact, unsure in pairs)


@lru_cache(maxsize=4096)
def recognize_scale(labels: tuple[str, ...], *, in_order: bool = True) -> Scale | None:
    """Find the scale that labels form.

    Parameters
    ----------
    labels : tuple of str
        One per level, in the order of their codes.
    in_order : bool
        Whether the codes are numbers, so that their order may be that of the scale. Otherwise an
        order is returned only if each level's place is certain.

    Returns
    -------
    Scale or None

    Examples
    --------
    >>> recognize_scale(("Never", "Rarely", "Sometimes", "Often")).order
    (0, 1, 2, 3)
    >>> recognize_scale(("Agree", "Disagree", "Neither agree nor disagree")).order
    (0, 2, 1)
    >>> recognize_scale(("Catholic", "Protestant", "Muslim", "None")) is None
    True
    """
    if len(labels) < _MIN_LEVELS:
        return None
    if (numbered := _numbered_steps(labels) or _quantiles(labels)) is not None:
        return numbered
    best: Scale | None = None
    best_score = (0, 0, False)
    for candidate in _candidates(labels, in_order):
        scale = _judge(candidate, in_order)
        if scale is None:
            continue
        n_placed = sum(place is not None for place in candidate.places)
        score = (candidate.n_exact, n_placed, scale.order is not None)
        if score > best_score:
            best, best_score = scale, score
        if scale.is_certain and scale.order is not None:
            break
    return best


def _numbered_steps(labels: tuple[str, ...]) -> Scale | None:
    """Read numbered steps, some with words: "1 - Strongly agree", "2", "3"."""
    found = [_NUMBERED.fullmatch(label.strip()) for label in labels]
    matches = [match for match in found if match is not None]
    if len(matches) < len(labels):
        return None
    numbers = [int(match.group(1)) for match in matches]
    n_bare = sum(match.group(2) is None for match in matches)
    is_run = sorted(numbers) == list(range(min(numbers), min(numbers) + len(numbers)))
    if not is_run or not 0 < n_bare < len(labels) or 3 * n_bare < len(labels):
        return None
    return _in_order_of("numbered steps", numbers)


def _quantiles(labels: tuple[str, ...]) -> Scale | None:
    """Read deciles, quintiles and the like: "1. Dezil", "2nd quintile", "Quartil 3".

    Other numbered words, such as districts, are names.
    """
    found = [_QUANTILE.fullmatch(label.strip()) for label in labels]
    numbers = [int(match.group(1) or match.group(2)) for match in found if match is not None]
    if len(numbers) < len(labels) or len(set(numbers)) < len(labels):
        return None
    return _in_order_of("quantiles", numbers)


def _in_order_of(name: str, numbers: list[int]) -> Scale:
    """Return the scale whose levels are in the order of their numbers."""
    order = tuple(sorted(range(len(numbers)), key=lambda position: numbers[position]))
    follows = order == tuple(range(len(numbers)))
    return Scale(name, "en", order, follows, not follows, is_certain=True)


def _candidates(labels: tuple[str, ...], in_order: bool) -> Iterator[_Candidate]:
    tokens = [words(without_parentheses(label)) for label in labels]
    full = [words(label) for label in labels]
    numbered = [number_words(label) for label in labels]
    nothing = [False] * len(labels)
    spoken = likely_languages(full)
    for language in spoken or ["en"]:
        amounts = read_amounts(numbered, language)
        exact = _share_words([amount.rest for amount in amounts])
        if sum(bool(amount.period) for amount in amounts) >= 2:
            yield _Candidate("frequency", language, places_of_rates(amounts), exact, nothing)
        elif _are_bands(amounts):
            bands = places_of_bands(amounts, in_order=in_order)
            yield _Candidate("number bands", language, bands, exact, nothing)
        yield from _of_degrees(tokens, language)
        education = places_of_education(full, language)
        known = [place is not None for place in education]
        yield _Candidate("education", language, education, known, nothing)


def _are_bands(amounts: list[Amount]) -> bool:
    """Whether numbers are quantities: "2 children" and "18-29" are, "Person 2" is not."""
    numbered = [amount for amount in amounts if amount.numbers]
    if len(numbered) < 2:
        return False
    return all(
        amount.is_quantity or amount.bound or len(amount.numbers) > 1 or not amount.rest
        for amount in numbered
    )


def _of_degrees(labels: list[tuple[str, ...]], language: str) -> Iterator[_Candidate]:
    for quality, readings in read_degrees(labels, language):
        if not quality:
            yield from _of_unknown_quality(readings, language)
            continue
        unsure = [reading.is_unsure for reading in readings]
        shared = _share_words([reading.rest for reading in readings])
        exact = [
            is_shared or (reading.is_middle and len(reading.rest) <= _WORDS_BESIDE_MIDDLE)
            for reading, is_shared in zip(readings, shared, strict=True)
        ]
        places = [reading.place for reading in readings]
        yield _Candidate(quality, language, places, exact, unsure)


def _of_unknown_quality(readings: list[Reading], language: str) -> Iterator[_Candidate]:
    """Read strengths of a quality in no list, the same in all labels or one of two."""
    stems = _stems([reading.rest for reading in readings if not reading.is_unsure])
    if len(stems) > 2:
        return
    places: list[Place | None] = []
    for reading in readings:
        place = reading.place
        if place is None and set(reading.rest) in stems:
            place = _BARE
        if place is not None and len(stems) == 2 and set(reading.rest) & stems[1]:
            place = place.mirrored()
        places.append(place)
    n_strengths = sum(reading.place is not None for reading in readings)
    if n_strengths >= (2 if len(stems) < 2 else 3):
        shared = _share_words([reading.rest for reading in readings])
        exact = [is_shared and len(stems) < 2 for is_shared in shared]
        unsure = [reading.is_unsure for reading in readings]
        yield _Candidate("degree", language, places, exact, unsure)


def _stems(rests: Sequence[tuple[str, ...]]) -> list[set[str]]:
    """Return the sets of unknown words that name the quality; sets with common words merge."""
    stems: list[set[str]] = []
    for rest in rests:
        words_of_label = set(rest)
        same = [stem for stem in stems if stem & words_of_label]
        if same:
            same[0] &= words_of_label
        elif words_of_label:
            stems.append(words_of_label)
    return stems


def _share_words(rests: Sequence[tuple[str, ...]]) -> list[bool]:
    """Whether most labels share the same unknown words, which are then uninformative."""
    filled = [{word[:_STEM] for word in rest} for rest in rests if rest]
    counts = Counter(word for rest in filled for word in rest)
    needed = max(2, len(filled) / 2)
    return [all(counts[word[:_STEM]] >= needed for word in rest) for rest in rests]


def _judge(candidate: _Candidate, in_order: bool) -> Scale | None:
    places = list(candidate.places)
    unsure = [i for i, is_unsure in enumerate(candidate.is_unsure) if is_unsure]
    for position in list(unsure):
        if in_order and _parts_the_sides(places, position):
            places[position] = _MIDDLE
            unsure.remove(position)
    levels = [i for i in range(len(places)) if i not in unsure]
    placed = [i for i in levels if places[i] is not None]
    distinct = {places[i] for i in placed}
    if len(levels) < _MIN_LEVELS or len(placed) < _MIN_PLACED * len(levels) or len(distinct) < 2:
        return None
    unplaced = tuple(i for i in levels if places[i] is None)
    is_exact = not unplaced and all(candidate.is_exact[i] for i in placed)
    order, follows = _order([places[i] for i in levels], is_exact, in_order)
    if candidate.name == "yes_no" and not follows:
        # "Yes", "no", "both": other answers than yes and no need not lie between them.
        return None
    order = None if order is None else tuple(levels[i] for i in order)
    kept = [places[i] for i in levels]
    contradicts = not (rises(kept) or falls(kept))
    return Scale(
        candidate.name,
        candidate.language,
        order,
        follows,
        contradicts,
        is_exact,
        tuple(unsure),
        unplaced,
    )


def _order(
    places: list[Place | None], is_exact: bool, in_order: bool
) -> tuple[tuple[int, ...] | None, bool]:
    """Return the order of the levels, None if not clear, and whether it is that of the codes."""
    known = [place for place in places if place is not None]
    enough = len({(p.low, p.high) for p in known}) >= _MIN_LEVELS - (len(places) - len(known))
    # A level of unknown place may be between others, but not at an end: it may not be a step.
    ends_known = places[0] is not None and places[-1] is not None
    if in_order and ends_known and enough and is_confirmed(places):
        return tuple(range(len(places))), True
    return (certain_order(places) if is_exact else None), False


def _parts_the_sides(places: Sequence[Place | None], position: int) -> bool:
    """Whether all places before are on one side of zero and all after on the other."""
    before = {_side(place) for place in places[:position] if place is not None}
    after = {_side(place) for place in places[position + 1 :] if place is not None}
    return (before, after) in (({1}, {-1}), ({-1}, {1}))


def _side(place: Place) -> int:
    return 1 if place.low > 0 else -1 if place.high < 0 else 0
