"""Whether value labels read like steps of a scale (agreement, frequency, amounts, ranges).

The words decide only whether a scale is proposed as ordinal. The order proposed is always that of
the codes: an order read out of words goes wrong silently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

# Each scale lists patterns from one end to the other; the first that matches gives the step.
_SCALES: dict[str, tuple[str, ...]] = {
    "agreement": (
        r"(strongly|completely|totally|definitely) disagree|disagree (strongly|completely|a lot)",
        r"(somewhat|slightly|tend to|moderately|mostly) disagree|disagree (somewhat|a little)",
        r"^disagree",
        r"neither|neutral|undecided",
        r"(somewhat|slightly|tend to|moderately|mostly) agree|agree (somewhat|a little)",
        r"^agree$",
        r"(strongly|completely|totally|definitely) agree|agree (strongly|completely|a lot)",
    ),
    "frequency": (
        r"\bnever\b|not at all|^none",
        r"almost never|rarely|seldom|hardly ever|less than|once a year|a few times a year",
        r"occasional|several days|once a month|some of the time|^some days",
        r"sometimes|about half|more than half",
        r"often|most of the time|usually|once a week|most days|several times|nearly every day",
        r"always|every ?day|daily|all of the time",
    ),
    "quality": (
        r"very (poor|bad)|terrible",
        r"poor|^bad",
        r"fair",
        r"^good",
        r"very good",
        r"excel",
    ),
    "satisfaction": (
        r"(very|completely|extremely) (dissatisfied|unhappy)",
        r"(somewhat |fairly )?(dissatisfied|unhappy|not (very|too) (happy|satisfied))",
        r"neither|neutral",
        r"^(somewhat |fairly |pretty )(satisfied|happy)|^(satisfied|happy)",
        r"(very|completely|extremely) (satisfied|happy)",
    ),
    "degree": (
        r"not at all|^no |^not \w+$|^none",
        r"not (very|too|so)|a little|slightly|^low",
        r"somewhat|moderately|fairly|some\b|medium",
        r"quite|^very|a lot|mostly|much|^high",
        r"extremely|completely|a great deal",
    ),
    "likelihood": (
        r"(definitely|very) (not|unlikely)|definitely (will|would) not",
        r"probably not|unlikely",
        r"neither|maybe|50",
        r"probably|^(somewhat )?likely",
        r"definitely|very likely",
    ),
    "education": (
        r"no (formal )?school|none|less than (9|high)",
        r"elementary|primary|grade|9-?11",
        r"high school|secondary|ged",
        r"some college|associate|vocational|trade",
        r"bachelor|college grad|^college|four.year",
        r"master|graduate|doctor|professional|phd",
    ),
}
_COMPILED = {
    name: tuple(re.compile(pattern) for pattern in patterns) for name, patterns in _SCALES.items()
}
_NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def ordered_scale(labels: Sequence[str]) -> str:
    """Name the scale that labels, in the order of their codes, step through; empty if none.

    Examples
    --------
    >>> ordered_scale(["Never", "Rarely", "Sometimes", "Often"])
    'frequency'
    >>> ordered_scale(["Less than $10,000", "$10,000 - $19,999", "$20,000 or more"])
    'number ranges'
    >>> ordered_scale(["Male", "Female"]), ordered_scale(["Yes", "No", "Both"])
    ('', '')
    """
    texts = [label.strip().lower() for label in labels]
    if len(texts) < 3:
        return ""
    for name, patterns in _COMPILED.items():
        if _is_monotone([_step(text, patterns) for text in texts]):
            return name
    if _is_monotone([_first_number(text) for text in texts]):
        return "number ranges"
    return ""


def _step(text: str, patterns: tuple[re.Pattern[str], ...]) -> float | None:
    """Prefer the longest match: "very good" is also "good", "almost never" also "never"."""
    matches = [
        (found.end() - found.start(), -step)
        for step, pattern in enumerate(patterns)
        if (found := pattern.search(text))
    ]
    return float(-max(matches)[1]) if matches else None


def _first_number(text: str) -> float | None:
    found = _NUMBER.search(text)
    if found is None:
        return -1.0 if re.search(r"\bnone\b|\bnever\b", text) else None
    number = float(found.group().replace(",", "").rstrip("."))
    # "Less than 5" comes before "5 to 9".
    return number - 0.5 if re.match(r"less|under|below|<|fewer", text) else number


def _is_monotone(steps: list[float | None]) -> bool:
    """Whether every label has a step and steps go one way, ties allowed but not everywhere."""
    known = [step for step in steps if step is not None]
    if len(known) < len(steps) or len(set(known)) < 3:
        return False
    rising = all(a <= b for a, b in pairwise(known))
    falling = all(a >= b for a, b in pairwise(known))
    return rising or falling
