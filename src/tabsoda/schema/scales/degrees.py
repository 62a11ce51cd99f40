"""Read labels made of a strength and a quality: "very satisfied", "not too important", "often".

Places run from -6 to 6. A quality has two poles (agree, disagree) or one (important); a strength
is the distance from the middle; negation changes the side. A quality that is in no word list
counts, too, if all labels share it ("very proud", "not at all proud").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tabsoda.schema.scales.lexicon import Found, PhraseFinder, load_words, phrases_of
from tabsoda.schema.scales.places import Place, span

_BARE = Place(2.5, 4.5)
_MIDDLE = Place(0, 0)
STRENGTHS: dict[str, Place] = {
    "not_at_all": Place(-6.0, -5.3),
    "at_all": Place(-6.0, -5.3),
    "very_little": Place(-4.5, -0.6),
    "not_very": Place(-2.4, -0.6),
    "slightly": Place(0.6, 1.5),
    "less_than_half": Place(2.41, 2.415),
    "somewhat": Place(1.6, 2.4),
    "moderately": Place(1.6, 3.2),
    "half": Place(2.42, 2.48),
    "fairly": Place(1.6, 4.5),
    "quite": Place(2.5, 4.5),
    "mostly": Place(2.5, 5.2),
    "very": Place(4.6, 5.2),
    "extremely": Place(5.3, 6.0),
}
# "Not" without a strength, next to "not at all" and "not very".
_NOT = Place(-4.5, -2.5)
_BOTTOM = STRENGTHS["not_at_all"]
# Qualities of one direction: "none" lies below "low", "small" and "mild".
_FROM_NOTHING = frozenset({"level", "size", "severity"})
# Steps with a fixed place: the qualities they belong to, and the place.
STEPS: dict[str, tuple[frozenset[str], Place]] = {
    name: (frozenset(qualities), place)
    for name, qualities, place in (
        ("best", ("quality",), Place(5.3, 6.0)),
        ("worst", ("quality",), Place(-6.0, -5.3)),
        ("fair", ("quality",), Place(-2.4, 2.4)),
        ("unable", ("ease",), Place(-6.0, -5.3)),
        ("coping", ("ease",), Place(-0.5, 1.5)),
        ("richest", ("wealth",), Place(5.3, 6.0)),
        ("poorest", ("wealth",), Place(-6.0, -5.3)),
        ("obese", ("weight",), Place(5.3, 6.0)),
        ("most", ("comparison",), Place(5.3, 6.0)),
        ("least", ("comparison",), Place(-6.0, -5.3)),
        ("lower_middle", ("level",), Place(-2.4, -0.6)),
        ("working", ("level",), Place(-4.5, -0.6)),
        ("upper_middle", ("level",), Place(0.6, 2.4)),
        ("never", ("frequency",), Place(-6.0, -5.8)),
        ("almost_never", ("frequency",), Place(-5.7, -4.6)),
        ("occasionally", ("frequency",), Place(-2.4, 0.5)),
        ("sometimes", ("frequency", "yes_no"), Place(-0.5, 0.5)),
        ("half", ("frequency",), Place(0.6, 2.4)),
        ("usually", ("frequency",), Place(4.6, 5.2)),
        ("almost_always", ("frequency",), Place(5.3, 5.7)),
        ("always", ("frequency",), Place(5.8, 6.0)),
        ("certain", ("likelihood",), Place(5.3, 6.0)),
        ("impossible", ("likelihood",), Place(-6.0, -5.3)),
        ("maybe", ("likelihood", "yes_no"), Place(-0.5, 0.5)),
    )
}


@dataclass(frozen=True)
class Reading:
    """The reading of one label for one quality.

    Attributes
    ----------
    place : Place or None
        None if the label does not determine a place.
    side : int or None
        1 or -1 for a pole, 0 for the middle or a step; None if the label gives only a strength,
        whose side is taken from the other labels.
    rest : tuple of str
        Words in no list.
    is_middle : bool
        Whether a word for the middle places it.
    is_unsure : bool
        "No opinion", "not sure": a middle answer or none.
    """

    place: Place | None
    side: int | None = None
    rest: tuple[str, ...] = ()
    is_middle: bool = False
    is_unsure: bool = False


@cache
def _finder(language: str, *, with_yes_no: bool) -> PhraseFinder:
    lists = load_words(language)
    poles = {k: v for k, v in lists["poles"].items() if with_yes_no or k != "yes_no"}
    phrases = phrases_of("poles", poles)
    claimed = {text for text, meaning in phrases if meaning[1] == "yes_no"}
    for section in ("strength", "steps", "middle"):
        phrases += [p for p in phrases_of(section, lists[section]) if p[0] not in claimed]
    phrases += [(text, ("filler",)) for text in lists["fillers"]]
    return PhraseFinder(phrases)


@cache
def _yes_finder(language: str) -> PhraseFinder:
    return PhraseFinder((text, ("yes",)) for text in load_words(language)["poles"]["yes_no"]["up"])


def read_degrees(
    labels: Sequence[tuple[str, ...]], language: str
) -> Iterator[tuple[str, list[Reading]]]:
    """Read the labels of one column, each a tuple of words, in one language.

    Yields
    ------
    str
        The quality; empty if it is in no list.
    list of Reading
        One per label.
    """
    # "No" is the opposite of "yes" where a label says yes, and a negation elsewhere ("no pain").
    yes = _yes_finder(language)
    says_yes = any(isinstance(item, Found) for label in labels for item in yes.parse(label))
    finder = _finder(language, with_yes_no=says_yes)
    parsed = [finder.parse(label) for label in labels]
    for quality in (*_qualities(parsed), ""):
        yield quality, _on_one_side([_read(items, quality) for items in parsed], quality)


def _qualities(parsed: list[list[Found | str]]) -> list[str]:
    """Return the qualities that the labels name, most frequent first."""
    counts: Counter[str] = Counter()
    for items in parsed:
        named: set[str] = set()
        for found in items:
            for meaning in found.meanings if isinstance(found, Found) else ():
                if meaning[0] == "poles":
                    named.add(meaning[1])
                elif meaning[0] == "steps":
                    named |= STEPS[meaning[1]][0]
        counts.update(named)
    return [quality for quality, _ in counts.most_common()]


def _read(items: list[Found | str], quality: str) -> Reading:
    meant: dict[str, list[str]] = {"poles": [], "steps": [], "strength": [], "middle": []}
    rest: list[str] = []
    for item in items:
        if isinstance(item, str):
            rest.append(item)
            continue
        meaning = _meaning(item, quality)
        if meaning is None:
            rest += item.words
        elif meaning[-1] == "not_up":
            # A verb with its negation: other words next to it strengthen it ("hiç katılmıyorum").
            meant["poles"].append("up")
            meant["strength"].append("not")
        elif meaning[0] != "filler":
            meant[meaning[0]].append(meaning[-1])
    strengths = meant["strength"]
    strength = _strength(strengths)
    steps = [STEPS[step][1] for step in meant["steps"]]
    poles = set(meant["poles"])
    is_middle = "middle" in meant["middle"]
    if "unsure" in meant["middle"] and len(poles) != 1 and not is_middle:
        return Reading(None, None, tuple(rest), is_unsure=True)
    if len(poles) == 2:
        place = _MIDDLE if is_middle or set(strengths) <= {"not"} else Place(-2.4, 2.4)
        return Reading(place, 0, tuple(rest), is_middle)
    if poles:
        # A step of another quality acts as a strength: "always wrong".
        size = steps[0] if steps else strength or (Place(0.6, 2.4) if is_middle else _BARE)
        is_up = "up" in poles
        # "No, not at all" is a strong no; "w ogóle nieważne" has its negation in the word.
        is_same_side = quality == "yes_no" or (not is_up and _is_emphasis(strengths))
        size = size.mirrored() if is_same_side and size.high < 0 else size
        return Reading(size if is_up else size.mirrored(), 1 if is_up else -1, tuple(rest))
    if steps:
        return Reading(span(steps), 0, tuple(rest))
    if is_middle:
        return Reading(_MIDDLE, 0, tuple(rest), is_middle)
    if strengths == ["not"] and not rest:
        # "I am not (a citizen)": the negated word is not in the label.
        strength = None
    return Reading(strength, None, tuple(rest))


def _meaning(found: Found, quality: str) -> tuple[str, ...] | None:
    """Choose the meaning of a phrase for a quality; None if it has none."""
    by_section = {meaning[0]: meaning for meaning in found.meanings if meaning[0] != "poles"}
    if ("poles", quality, "up") in found.meanings:
        return ("poles", quality, "up")
    if ("poles", quality, "down") in found.meanings:
        return ("poles", quality, "down")
    if ("poles", quality, "not_up") in found.meanings:
        return ("poles", quality, "not_up")
    if not quality and all(meaning[:2] == ("poles", "yes_no") for meaning in found.meanings):
        return ("filler",)  # "Yes, all of them", "some of them".
    step = by_section.get("steps")
    if step is not None:
        qualities = STEPS[step[1]][0]
        if quality in qualities or (quality and "frequency" in qualities):
            return step
    return next((by_section[s] for s in ("middle", "strength", "filler") if s in by_section), None)


def _is_emphasis(strengths: list[str]) -> bool:
    """Whether "at all" occurs without the negation that it belongs to."""
    return "at_all" in strengths and "not" not in strengths


def _strength(strengths: list[str]) -> Place | None:
    """Combine strengths: "not" inverts a strength, unless it is itself negative."""
    is_negated = "not" in strengths
    names = [name for name in strengths if name != "not"]
    if not names:
        return _NOT if is_negated else None
    place = span([STRENGTHS[name] for name in names])
    if {"very", "extremely"} & set(names) and "slightly" in names:
        place = Place(0.05, 0.5)
    return place.mirrored() if is_negated and place.low >= 0 else place


def _on_one_side(readings: list[Reading], quality: str) -> list[Reading]:
    """Assign labels without a pole to the side of the others: "somewhat difficult"."""
    sides = {reading.side for reading in readings if reading.side}
    result = []
    for reading in readings:
        place = reading.place
        if place is not None and reading.side is None:
            if quality in _FROM_NOTHING and place.high < 0:
                place = _BOTTOM
            elif sides == {-1}:
                place = place.mirrored()
        result.append(replace(reading, place=place))
    return result
