"""The pieces of evidence for the kind of a column, each a vote with a weight and a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from tabsoda.schema.codes import CodeBook, as_number
from tabsoda.schema.column import Code, ColumnKind
from tabsoda.schema.content import sorted_codes
from tabsoda.schema.facts import MOST_STEPS, ColumnFacts
from tabsoda.schema.file_evidence import KIND_OF_MEASURE, FileEvidence, label_set
from tabsoda.schema.scales import Scale, recognize_scale
from tabsoda.schema.scales.lexicon import Found, PhraseFinder, languages, load_words
from tabsoda.schema.scales.numbers import number_words, read_amounts
from tabsoda.schema.scales.questions import asked_for
from tabsoda.schema.words import words

_NOMINAL, _ORDINAL, _CONTINUOUS = ColumnKind.NOMINAL, ColumnKind.ORDINAL, ColumnKind.CONTINUOUS
# Scales are only searched for in lists of at most this many labels.
_MOST_LABELS = 30
_MIN_ALPHABETICAL = 4
# A list with more labels is hardly ever a verbal scale.
_LONG_LIST = 11
_FEW_COLUMNS, _MANY_COLUMNS = 3, 6
# Least steps on each side of zero of a scale with two sides.
_MIN_SIDE = 2
_MANY_NUMBERS = 20
# Amounts of money are larger than codes of bands.
_MOST_INCOME_CODES = 30
# The mode of a rating scale exceeds an equal share by this factor.
_PEAK = 1.3


@dataclass(frozen=True)
class Vote:
    """One piece of evidence for a kind."""

    kind: ColumnKind
    weight: float
    reason: str


@dataclass(frozen=True)
class Labelled:
    """The levels of a column that labels describe, and the scale that these form.

    Attributes
    ----------
    codes : tuple of Code
        In increasing order.
    texts : tuple of str
        The label of each.
    scale : Scale or None
    in_order : bool
        Whether the codes are numbers, which have an order.
    """

    codes: tuple[Code, ...]
    texts: tuple[str, ...]
    scale: Scale | None
    in_order: bool

    @property
    def is_alphabetical(self) -> bool:
        """Whether codes are alphabetical, as given by Stata's encode, and so carry no order."""
        texts = [text.casefold() for text in self.texts]
        return len(texts) >= _MIN_ALPHABETICAL and texts == sorted(texts)

    @property
    def has_two_sides(self) -> bool:
        """Whether codes run from -k to k, as only those of scales with two sides do."""
        if not self.in_order or len(self.codes) < 2 * _MIN_SIDE + 1:
            return False
        return _are_consecutive(self.codes) and as_number(self.codes[0]) == -(
            as_number(self.codes[-1]) or 0.0
        )

    @property
    def can_be_ordinal(self) -> bool:
        """Whether an order is known: from the scale, or from codes that the scale confirms."""
        if (self.scale is not None and self.scale.order is not None) or self.has_two_sides:
            return True
        return self.in_order and (self.scale is None or not self.scale.contradicts_codes)


def labelled_levels(facts: ColumnFacts) -> Labelled:
    """Return the labelled levels; text answers are their own labels."""
    labels = facts.informative_labels
    if not labels and facts.numbers is None:
        labels = {a: str(a) for a in facts.answers if a not in facts.codes_beyond}
    found = _labelled(labels)
    if not labels or len(labels) > _MOST_LABELS:
        return found
    if found.scale is None or found.scale.order is None:
        # An unused label must not hide the scale of the others.
        book = CodeBook(facts.answers)
        seen = {code: text for code, text in labels.items() if book.find(code) is not None}
        among_seen = _labelled(seen) if len(seen) < len(labels) else found
        if among_seen.scale is not None and among_seen.scale.order is not None:
            return among_seen
    return found


def _labelled(labels: Mapping[Code, str]) -> Labelled:
    codes = sorted_codes(labels)
    in_order = all(as_number(code) is not None for code in codes)
    texts = tuple(labels[code] for code in codes)
    scale = recognize_scale(texts, in_order=in_order) if len(codes) <= _MOST_LABELS else None
    return Labelled(codes, texts, scale, in_order)


def votes_for(facts: ColumnFacts, file: FileEvidence, labelled: Labelled) -> Iterator[Vote]:
    """Yield all evidence about one column except the declared level."""
    asked = asked_for(facts.question, facts.name, file.languages)
    unlabelled = _unlabelled(facts, labelled)
    if facts.numbers is None and not facts.informative_labels:
        yield from _of_texts(facts, labelled)
    elif _are_ends(facts, labelled, unlabelled):
        yield from _of_ends(file, labelled, asked)
    elif labelled.codes and len(unlabelled) <= max(1, len(labelled.codes) // 2):
        yield from _of_labels(facts, file, labelled, asked, len(labelled.codes) + len(unlabelled))
    else:
        yield from _of_numbers(facts, file, asked)


def declared_vote(facts: ColumnFacts, file: FileEvidence) -> Iterator[Vote]:
    """Yield the vote of the level that the file declares, weighted by its reliability."""
    kind = KIND_OF_MEASURE.get(facts.measure)
    weight = file.weights.get(facts.measure, 0.0)
    if kind is not None and weight:
        yield Vote(kind, weight, f"the file declares it {facts.measure}")


def _unlabelled(facts: ColumnFacts, labelled: Labelled) -> list[Code]:
    if not labelled.codes:
        return list(facts.answers)
    book = CodeBook(labelled.codes)
    usual = set(facts.usual.tolist())
    return [
        answer
        for answer in facts.answers
        if book.find(answer) is None and (facts.numbers is None or as_number(answer) in usual)
    ]


def _are_ends(facts: ColumnFacts, labelled: Labelled, unlabelled: list[Code]) -> bool:
    """Whether, of a few whole numbers, the first and last have a label and others do not."""
    if not facts.is_whole or len(labelled.codes) < 2 or not labelled.in_order:
        return False
    between = [as_number(code) or 0.0 for code in unlabelled]
    low, high = as_number(labelled.codes[0]) or 0.0, as_number(labelled.codes[-1]) or 0.0
    n_steps = high - low + 1
    return (
        3 <= n_steps <= MOST_STEPS
        and all(low < number < high for number in between)
        and (bool(between) or len(facts.labels) > len(labelled.codes))
    )


def _of_ends(file: FileEvidence, labelled: Labelled, asked: frozenset[str]) -> Iterator[Vote]:
    spoken = file.languages or languages()
    if any(_are_amounts(labelled.texts, language) for language in spoken):
        yield Vote(_CONTINUOUS, 2.0, "numbers, of which the first or last has a label")
        if "count" in asked:
            yield Vote(_CONTINUOUS, 2.0, "the question asks for a number")
    else:
        weight = 1.5 if "count" in asked else 4.0
        yield Vote(_ORDINAL, weight, "whole numbers with labels at the ends of a scale")
        if "count" in asked:
            yield Vote(_CONTINUOUS, 3.0, "the question asks for a number")


def _are_amounts(texts: tuple[str, ...], language: str) -> bool:
    """Whether labels at the ends are numbers: "none" and "18 or more"."""
    amounts = read_amounts([number_words(text) for text in texts], language)
    has_number = any(amount.numbers for amount in amounts)
    return has_number and all(
        (amount.numbers or amount.word in ("none", "never")) and not amount.rest
        for amount in amounts
    )


def _of_labels(
    facts: ColumnFacts,
    file: FileEvidence,
    labelled: Labelled,
    asked: frozenset[str],
    n_levels: int,
) -> Iterator[Vote]:
    if n_levels <= 2:
        yield Vote(
            _NOMINAL, 6.0, "two labelled answers" if n_levels == 2 else "one labelled answer"
        )
        return
    scale = labelled.scale
    n_sharing = file.n_sharing.get(label_set(facts), 1)
    if scale is not None and scale.order is not None:
        yield Vote(_ORDINAL, 6.0 if scale.is_certain else 3.5, _scale_reason(scale, labelled))
    elif labelled.has_two_sides:
        reason = f"labelled codes from {labelled.codes[0]} to {labelled.codes[-1]}"
        yield Vote(_ORDINAL, 4.0, reason)
    elif scale is not None:
        yield Vote(_NOMINAL, 2.0, _unclear_reason(scale, labelled))
    else:
        yield Vote(_NOMINAL, 1.0, "its values are labelled, with no visible order")
        is_run = labelled.in_order and _are_consecutive(labelled.codes)
        is_run = is_run and not labelled.is_alphabetical
        if is_run and n_levels >= 4 and n_sharing >= _FEW_COLUMNS and "list" not in asked:
            weight = 2.0 if n_sharing >= _MANY_COLUMNS else 1.5
            reason = f"{n_sharing} columns share these labels of consecutive codes"
            yield Vote(_ORDINAL, weight, reason)
        if "rating" in asked:
            yield Vote(_ORDINAL, 1.0, "the question asks for a rating")
    if n_levels > _LONG_LIST and scale is None:
        yield Vote(_NOMINAL, 1.5, f"a list of {n_levels} labels")
    n_categories = _n_categories(labelled.texts, file.languages)
    if n_categories:
        weight = 3.0 if scale is None or scale.order is None else 1.0
        yield Vote(_NOMINAL, weight, "its labels are categories without an order")
    if "list" in asked and (scale is None or scale.order is None):
        yield Vote(_NOMINAL, 2.0, "the question asks for one of a list")


def _scale_reason(scale: Scale, labelled: Labelled) -> str:
    if scale.follows_codes:
        return f"its labels form a scale ({_name(scale)}) in the order of the codes"
    if labelled.in_order:
        return f"its labels form a scale ({_name(scale)}); the words give the order, not the codes"
    return f"its texts form a scale ({_name(scale)}); the order is read from the words"


def _unclear_reason(scale: Scale, labelled: Labelled) -> str:
    if scale.unplaced:
        texts = ", ".join(repr(labelled.texts[i]) for i in scale.unplaced[:3])
        return (
            f"its labels look like a scale ({_name(scale)}), but the position of {texts} is unclear"
        )
    return f"its labels look like a scale ({_name(scale)}), but their order is unclear"


def _name(scale: Scale) -> str:
    return scale.name.replace("_", " ")


def _are_consecutive(codes: tuple[Code, ...]) -> bool:
    numbers = np.asarray([as_number(code) for code in codes], dtype=np.float64)
    return bool((np.diff(numbers) == 1).all())


@cache
def _categories(spoken: tuple[str, ...]) -> PhraseFinder:
    return PhraseFinder(
        (text, ("category",))
        for language in spoken
        for text in load_words(language)["categories"]["words"]
    )


def _n_categories(texts: tuple[str, ...], spoken: tuple[str, ...]) -> int:
    finder = _categories(spoken or languages())
    return sum(any(isinstance(item, Found) for item in finder.parse(words(text))) for text in texts)


def _of_numbers(facts: ColumnFacts, file: FileEvidence, asked: frozenset[str]) -> Iterator[Vote]:
    n_usual = facts.usual.size
    if not facts.is_whole:
        yield Vote(_CONTINUOUS, 6.0, "numbers with fractions")
        return
    if n_usual <= 2 and not ("count" in asked and facts.usual.max(initial=0) > 2):
        yield Vote(_NOMINAL, 4.0, "two different numbers" if n_usual == 2 else "always one number")
        return
    if "count" in asked:
        yield Vote(_CONTINUOUS, 3.5, "the question asks for a number")
    if "list" in asked:
        yield Vote(_NOMINAL, 2.5, "the question asks for one of a list")
    if facts.informative_labels and not any(as_number(code) for code in facts.informative_labels):
        yield Vote(_CONTINUOUS, 1.0, "numbers, of which only zero has a label")
    if "income" in asked and 3 <= facts.usual.max() <= _MOST_INCOME_CODES:
        yield Vote(_ORDINAL, 4.0, "a question about income with small codes, as of bands")
    if n_usual > MOST_STEPS:
        weight = 4.0 if n_usual > _MANY_NUMBERS else 2.5
        yield Vote(_CONTINUOUS, weight, f"{n_usual} different whole numbers")
        return
    yield from _of_few_numbers(facts, file, asked)


def _of_few_numbers(
    facts: ColumnFacts, file: FileEvidence, asked: frozenset[str]
) -> Iterator[Vote]:
    n_usual = facts.usual.size
    yield Vote(
        _NOMINAL, 0.8, f"{n_usual} different whole numbers, no labels; could be ordinal or a count"
    )
    n_items = file.batteries.get(facts.name, 0)
    if n_items:
        yield Vote(_ORDINAL, 3.5, f"{n_items} neighbouring columns have the same few whole numbers")
    if "rating" in asked:
        yield Vote(_ORDINAL, 1.5, "the question asks for a rating")
    if facts.steps is not None and facts.counts:
        shape = _shape(facts)
        if shape == "peaked":
            yield Vote(_ORDINAL, 1.0, f"{n_usual} whole numbers with one peak, no labels")
        elif shape == "falling from zero":
            yield Vote(_CONTINUOUS, 1.5, "whole numbers from zero, falling like a count")


def _shape(facts: ColumnFacts) -> str:
    """Describe the distribution of a few whole numbers; empty if nothing stands out."""
    usual = set(facts.usual.tolist())
    pairs = zip(facts.answers, facts.counts, strict=True)
    counts = np.asarray([n for answer, n in pairs if as_number(answer) in usual], dtype=np.float64)
    noise = 2 * np.sqrt(counts.max())
    mode = int(counts.argmax())
    rises = (np.diff(counts[: mode + 1]) >= -noise).all()
    falls = (np.diff(counts[mode:]) <= noise).all()
    if not (rises and falls and counts.max() >= _PEAK * counts.mean()):
        return ""
    return "falling from zero" if mode == 0 and facts.usual.min() == 0 else "peaked"


def _of_texts(facts: ColumnFacts, labelled: Labelled) -> Iterator[Vote]:
    scale = labelled.scale
    n_texts = len(facts.answers)
    numbers = [answer for answer in facts.answers if as_number(answer) is not None]
    if len(numbers) > n_texts / 2 and (scale is None or scale.order is None):
        texts = [str(answer) for answer in facts.answers if as_number(answer) is None]
        examples = ", ".join(map(repr, texts[:3]))
        yield Vote(_NOMINAL, 1.0, f"text among numbers ({examples}): list it as a code?")
    elif scale is not None and scale.order is not None:
        yield Vote(_ORDINAL, 2.5, _scale_reason(scale, labelled))
    elif scale is not None:
        yield Vote(_NOMINAL, 1.0, _unclear_reason(scale, labelled) + ": list the levels in order")
    else:
        reason = f"{n_texts} different texts" if n_texts > 1 else "always one text"
        yield Vote(_NOMINAL, 4.0, reason)
