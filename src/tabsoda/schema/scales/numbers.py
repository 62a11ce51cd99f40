"""Read bands of numbers and rates from labels: "18-29", "Under $10,000", "2-3 times a month"."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from tabsoda.schema.scales.label_text import without_parentheses
from tabsoda.schema.scales.lexicon import Found, PhraseFinder, load_words, phrases_of
from tabsoda.schema.scales.places import Place, falls, rises
from tabsoda.schema.words import words

# 10,000 and 10.000 and 10 000 and 10'000 are ten thousand; 2.5 and 2,5 are not.
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+(?!\d)")
_DECIMAL = re.compile(r"(?<=\d)[.,](?=\d)")
_OPEN_ABOVE = re.compile(r"(?<=\d)\s*\+")
_DIGITS = re.compile(r"(\d+(?:p\d+)?)(k|m|st|nd|rd|th|o|a|e|er|eme|ste|de)?")
_ORDINAL = ("st", "nd", "rd", "th")
# Signs, replaced by words that occur in no language.
_SIGNS = {"<": " zless ", "≤": " zless ", ">": " zmore ", "≥": " zmore "}
_BOUND_OF_SIGN = {"zless": "less", "zmore": "more"}

_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.4, "year": 365.0}
# "Every few weeks" lies between every week and every month.
_PER_YEAR = {
    "day": 365.0,
    "few_days": 120.0,
    "week": 52.0,
    "few_weeks": 20.0,
    "month": 12.0,
    "few_months": 4.0,
    "year": 1.0,
}
# "Several times" stays below the next period: several times a week is less than daily.
_SEVERAL = {"day": Place(2, 20), "week": Place(2, 6), "month": Place(2, 4), "year": Place(2, 11)}
_VAGUE = {"few": Place(2, 6), "several": Place(3, 9), "many": Place(10, 50)}
_TIMES = {"thousand": 1e3, "ten_thousand": 1e4, "lakh": 1e5, "million": 1e6}
# Words that stand for a number; for durations, in days.
_AS_NUMBERS = {"none": 0.0, "never": 0.0, "today": 0.0, "yesterday": 1.0, "life": math.inf}
# "I did not drink soda yesterday" has this many words or more; "not sure" is another answer.
_WORDS_OF_SENTENCE = 3
# If a phrase has several meanings, the first of these counts.
_PRECEDENCE = ("words", "period", "bounds", "amounts", "almost", "units", "times", "")
# Frequencies without a number, as rates.
_LOOSE_RATES = {
    "less_often": Place(0.001, 0.002),
    "rarely": Place(0.003, 12.0),
    "sometimes": Place(1.0, 100.0),
    "often": Place(12.0, 1000.0),
    "constantly": Place(1500.0, math.inf),
    "more_often": Place(100_000.0, math.inf),
}


@dataclass(frozen=True)
class Amount:
    """The number or numbers in one label.

    They describe a band, an interval of numbers (durations in days), or a rate, an interval of
    times per year.

    Attributes
    ----------
    numbers : tuple of (float, str)
        Each with its unit of time, or with none.
    bound : str
        ``"less"``, ``"more"`` or empty.
    word : str
        ``"none"``, ``"never"``, ``"life"`` or a vague frequency, where there is no number.
    period : str
        What a rate refers to: a key of ``_PER_YEAR``, or empty.
    is_almost : bool
        "Nearly every day".
    is_quantity : bool
        Whether the number comes first or is an ordinal: "2 children", "J - 1st decile", unlike
        "Person 2".
    rest : tuple of str
        Words in no list.
    """

    numbers: tuple[tuple[float, str], ...] = ()
    bound: str = ""
    word: str = ""
    period: str = ""
    is_almost: bool = False
    is_quantity: bool = False
    rest: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether the label gives an amount."""
        return bool(self.numbers or self.word or self.period)

    def interval(self, unit: str | None = None) -> Place:
        """Return the band of numbers, in days if a unit is given for numbers without one."""
        low, high = math.inf, -math.inf
        for number, own in self.numbers:
            value = number if unit is None else number * _DAYS.get(own or unit, 1.0)
            low, high = min(low, value), max(high, value)
        if len(self.numbers) == 1 and self.bound:
            return Place(-math.inf, high) if self.bound == "less" else Place(low, math.inf)
        if low < 1000 <= high and low * 1000 < high and len(self.numbers) == 2:
            low *= 1000  # "$20-49,999".
        return Place(low, high)

    def rate(self) -> Place:
        """Return the times per year."""
        if self.word in _LOOSE_RATES and not self.numbers and not self.period:
            return _LOOSE_RATES[self.word]
        times = _PER_YEAR.get(self.period, 1.0)
        count = self.interval() if self.numbers else _VAGUE.get(self.word, Place(1.0, 1.0))
        if self.word in ("few", "several") and not self.numbers:
            count = _SEVERAL.get(self.period, count)
        if self.is_almost:
            return Place(0.5 * times, 0.99 * times)
        if self.bound and not self.numbers:
            # "Less than weekly".
            count = Place(-math.inf, 1.0) if self.bound == "less" else Place(1.0, math.inf)
        return Place(max(0.001, count.low * times), count.high * times)


@cache
def _finder(language: str) -> PhraseFinder:
    lists = load_words(language)
    phrases = phrases_of("numbers", lists["numbers"])
    return PhraseFinder([*phrases, *((text, ("filler", "", "")) for text in lists["fillers"])])


def read_amounts(labels: Sequence[tuple[str, ...]], language: str) -> list[Amount]:
    """Read the numbers in each label, given as ``number_words`` splits it."""
    finder = _finder(language)
    denying = _denying(language)
    amounts = [_amount(finder.parse(label)) for label in labels]
    return [
        replace(amount, numbers=(), word="none") if _denies(amount, denying) else amount
        for amount in amounts
    ]


@cache
def _denying(language: str) -> frozenset[str]:
    """Return the single words for "not"."""
    texts = load_words(language)["strength"]["not"]
    return frozenset(found[0] for text in texts if len(found := words(text)) == 1)


def _denies(amount: Amount, denying: frozenset[str]) -> bool:
    """Whether a sentence says that something was not done: "I did not drink any juice"."""
    is_amount = amount.is_quantity or amount.bound or amount.period
    return (
        not is_amount
        and amount.word in ("", "today", "yesterday")
        and len(amount.rest) >= _WORDS_OF_SENTENCE
        and not denying.isdisjoint(amount.rest)
    )


def number_words(label: str) -> tuple[str, ...]:
    """Split a label into words; thousands, decimals and signs stay recognisable.

    Examples
    --------
    >>> number_words("Under $10,000"), number_words("2.5+")
    (('under', '10000'), ('2p5', 'zmore'))
    """
    text = _first_of_alternatives(unicodedata.normalize("NFKC", without_parentheses(label)))
    text = _GROUPED.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    text = _OPEN_ABOVE.sub(" zmore ", _DECIMAL.sub("p", text))
    for sign, meaning in _SIGNS.items():
        text = text.replace(sign, meaning)
    return words(text)


def _first_of_alternatives(text: str) -> str:
    """Keep the first of equivalent amounts: "$96-$143 weekly/$417-624 monthly"."""
    parts = text.split("/")
    has_digit = [any(map(str.isdigit, part)) for part in parts]
    return parts[0] if sum(has_digit) > 1 and has_digit[0] else text


def _amount(items: list[Found | str]) -> Amount:
    numbers: list[tuple[float, str]] = []
    bounds: list[str] = []
    rest: list[str] = []
    word = period = ""
    is_almost = is_ordinal = False
    lone_unit = ""
    first_number, first_word = math.inf, math.inf
    for position, item in enumerate(items):
        if isinstance(item, str):
            if item in _BOUND_OF_SIGN:
                bounds.append(_BOUND_OF_SIGN[item])
                continue
            digits = _DIGITS.fullmatch(item)
            if digits is None:
                rest.append(item)
                first_word = min(first_word, position)
                continue
            times = {"k": 1e3, "m": 1e6}.get(digits.group(2) or "", 1.0)
            is_ordinal = is_ordinal or digits.group(2) in _ORDINAL
            numbers.append((float(digits.group(1).replace("p", ".")) * times, ""))
            first_number = min(first_number, position)
            continue
        _, group, key = min(item.meanings, key=lambda meaning: _PRECEDENCE.index(meaning[1]))
        if group == "words":
            numbers.append((float(key), ""))
            first_number = min(first_number, position)
        elif group == "units":
            lone_unit = lone_unit or key
            numbers = [(number, unit or key) for number, unit in numbers]
        elif group == "times":
            numbers = _multiplied(numbers, _TIMES[key])
        elif group == "period":
            period = period or key
        elif group == "bounds":
            bounds.append(key)
        elif group == "almost":
            is_almost = True
        elif group == "amounts":
            # "No police here, or they would never come": "never" is more specific than "no".
            word = key if key == "never" else word or key
    bound = bounds[0] if bounds else ""
    if not numbers and not word and bound and lone_unit:
        numbers = [(1.0, lone_unit)]  # "Within the past week".
    is_quantity = first_number < first_word or is_ordinal
    return Amount(tuple(numbers), bound, word, period, is_almost, is_quantity, tuple(rest))


def _multiplied(numbers: list[tuple[float, str]], times: float) -> list[tuple[float, str]]:
    """Multiply the last number, and those before it without a multiplier of their own."""
    if not numbers:
        return [(times, "")]
    last = numbers[-1][0]
    return [(n * times if n <= last else n, unit) for n, unit in numbers]


def places_of_bands(amounts: Sequence[Amount], *, in_order: bool) -> list[Place | None]:
    """Place bands of numbers; ``in_order`` if they are given in the order of their codes."""
    # "Less than a year" is less than one.
    amounts = [
        replace(amount, numbers=((1.0, amount.period),))
        if amount.period and amount.bound and not amount.numbers
        else amount
        for amount in amounts
    ]
    units = [unit for amount in amounts for _, unit in amount.numbers if unit]
    is_mixed = len(set(units)) > 1
    usual = max(set(units), key=units.count) if units else ""
    places: list[Place | None] = []
    for amount in amounts:
        if amount.numbers:
            places.append(amount.interval(usual if is_mixed else None))
        elif amount.word in _AS_NUMBERS:
            number = _AS_NUMBERS[amount.word]
            places.append(Place(number, number))
        else:
            places.append(None)
    if units and not (rises(places) or falls(places)):
        # "When did you last ...?": never comes after the longest time.
        ended = [
            Place(math.inf, math.inf) if amount.word == "never" else place
            for amount, place in zip(amounts, places, strict=True)
        ]
        if in_order and (rises(ended) or falls(ended)):
            return ended
    return places


def places_of_rates(amounts: Sequence[Amount]) -> list[Place | None]:
    """Place rates by their times per year."""
    return [
        None
        if not amount.is_known
        else Place(0, 0)
        if amount.word in ("none", "never") and not amount.numbers
        else amount.rate()
        for amount in amounts
    ]
