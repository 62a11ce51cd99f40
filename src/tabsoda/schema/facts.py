"""Facts about a column that are known before its kind is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.codes import CodeBook, as_number
from tabsoda.schema.column import Code
from tabsoda.schema.content import sorted_codes
from tabsoda.schema.scales.label_text import without_codes
from tabsoda.schema.suspicion import suspicious_codes

# At most this many whole numbers without labels can be the steps of a rating scale.
MOST_STEPS = 11
_FEWEST_STEPS = 3
_ENDS = 40


@dataclass(frozen=True)
class ColumnFacts:
    """One column: its distinct answers, their labels and what the file declares.

    Attributes
    ----------
    name : str
    question : str
        The text of the question.
    answers : tuple of Code
        Distinct answers found, in increasing order, without missing codes.
    counts : tuple of int
        How often each answer occurs.
    labels : mapping of Code to str
        Labels of answers, whether or not they occur in the data.
    measure : str
        ``"nominal"``, ``"ordinal"``, ``"scale"`` or empty.
    order : tuple of Code
        An order that the table itself gives.
    is_temporal : bool
    is_category : bool
        Whether the table stores the column as unordered categories; these are never numbers.
    """

    name: str
    question: str = ""
    answers: tuple[Code, ...] = ()
    counts: tuple[int, ...] = ()
    labels: Mapping[Code, str] = field(default_factory=dict)
    measure: str = ""
    order: tuple[Code, ...] = ()
    is_temporal: bool = False
    is_category: bool = False

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The answers as numbers, or None if one is a text."""
        numbers = [as_number(answer) for answer in self.answers]
        return None if None in numbers else np.asarray(numbers, dtype=np.float64)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all answers are whole numbers."""
        return self.numbers is not None and bool((self.numbers == np.round(self.numbers)).all())

    @cached_property
    def informative_labels(self) -> dict[Code, str]:
        """Labels that differ from their code: "3" for 3 does not."""
        codes = list(self.labels)
        bare = without_codes([self.labels[code] for code in codes], codes)
        return {
            code: text
            for code, text in zip(codes, bare, strict=True)
            if text.strip() and as_number(text) != as_number(code)
        }

    @cached_property
    def levels(self) -> tuple[Code, ...]:
        """Labelled codes and answers found, each once, in increasing order."""
        if not self.labels:
            return self.answers
        book = CodeBook(self.labels)
        return sorted_codes(
            [*self.labels, *(answer for answer in self.answers if book.find(answer) is None)]
        )

    @cached_property
    def _odd(self) -> CodeBook:
        """The answers that look like missing codes and are not steps of a scale."""
        ends = self.answers
        if len(ends) > 2 * _ENDS:
            # Missing codes are at the ends of a long list of numbers.
            ends = (*ends[:_ENDS], *ends[-_ENDS:])
        numbers = [n for answer in ends if (n := as_number(answer)) is not None]
        odd = suspicious_codes(ends)
        if numbers and min(numbers) == -max(numbers):
            odd = ()  # From -3 to 3.
        labelled = [n for code in self.labels if (n := as_number(code)) is not None]
        low, high = min(labelled, default=0.0), max(labelled, default=0.0)
        inside = {code for code in odd if low < (as_number(code) or 0.0) < high}
        return CodeBook(code for code in odd if code not in inside)

    @cached_property
    def usual(self) -> NDArray[np.float64]:
        """The numeric answers, without those that look like missing codes."""
        if self.numbers is None:
            return np.empty(0)
        ends = (*self.numbers[:_ENDS], *self.numbers[-_ENDS:])
        return self.numbers[
            ~np.isin(self.numbers, [n for n in ends if self._odd.find(n) is not None])
        ]

    @cached_property
    def codes_beyond(self) -> tuple[Code, ...]:
        """Unlabelled answers that look like missing codes, such as a 99 after 1 to 5."""
        labelled = CodeBook(self.labels)
        return tuple(
            answer
            for answer in (*self.answers[:_ENDS], *self.answers[_ENDS:][-_ENDS:])
            if self._odd.find(answer) is not None and labelled.find(answer) is None
        )

    @cached_property
    def steps(self) -> tuple[int, int] | None:
        """The first and last of a few whole numbers that could be the steps of a rating scale."""
        found = self.usual
        if not self.is_whole or not _FEWEST_STEPS <= found.size <= MOST_STEPS:
            return None
        low, high = int(found.min()), int(found.max())
        return (low, high) if low in (0, 1, -high) and high < MOST_STEPS + low else None
