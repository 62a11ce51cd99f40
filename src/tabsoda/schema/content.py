"""The content of a column: its distinct answers, their counts, and its missing codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tabsoda.errors import InputError
from tabsoda.schema.codes import CodeBook, as_number, is_blank_word, plain
from tabsoda.schema.column import Code, Reason
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.special_codes import special_codes, texts_without_answer
from tabsoda.schema.suspicion import is_lettered

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Content:
    """The answers of a column, without its missing codes.

    Attributes
    ----------
    answers : tuple of Code
        Each distinct answer once: numbers by size, then texts alphabetically.
    special : mapping of Code to Reason
    n_rows : int
    is_temporal : bool
        Whether the file stores dates or times.
    counts : tuple of int
        How many rows hold each answer.
    has_clock_time : bool
        Whether the dates include a time of day.
    """

    answers: tuple[Code, ...]
    special: Mapping[Code, Reason]
    n_rows: int
    is_temporal: bool = False
    counts: tuple[int, ...] = ()
    has_clock_time: bool = False

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The answers as numbers, or None if one is a text."""
        numbers = [as_number(answer) for answer in self.answers]
        return None if None in numbers else np.asarray(numbers, dtype=np.float64)

    @property
    def n_answers(self) -> int:
        """Rows with an answer."""
        return sum(self.counts)


def content_of(
    series: pl.Series, hints: ColumnHints, tags: NDArray[np.object_] | None = None
) -> Content:
    """Collect the answers of a column.

    Parameters
    ----------
    series : polars.Series
    hints : ColumnHints
    tags : ndarray of object, optional
        Lettered missing values per row.

    Examples
    --------
    >>> import polars as pl
    >>> content = content_of(pl.Series([2, 1, 2, 9]), ColumnHints(missing_codes=(9,)))
    >>> content.answers, content.counts, content.special
    ((1, 2), (1, 2), {9: <Reason.OTHER: 'other'>})
    """
    from tabsoda.schema.values import comparable

    try:
        data = comparable(series)
    except InputError:
        return Content((), {}, len(series))
    counted = data.alias("value").drop_nulls().value_counts(name="n")
    distinct = counted["value"].to_list()
    letters = sorted({tag for tag in tags if tag is not None}) if tags is not None else []
    # Codes are among few distinct values; a long list of measurements need not be searched.
    candidates = [*letters, *_candidates(distinct, hints)]
    special = special_codes(candidates, hints, texts_without_answer(distinct, hints))
    book = CodeBook(special)
    count_of = {
        plain(value): count
        for value, count in zip(distinct, counted["n"].to_list(), strict=True)
        if not is_blank_word(value) and book.find(value) is None
    }
    answers = sorted_codes(count_of)
    kind = series.dtype
    return Content(
        answers,
        special,
        len(series),
        kind.is_temporal(),
        tuple(count_of[answer] for answer in answers),
        kind.is_temporal() and str(kind) != "Date",
    )


def _candidates(distinct: list[object], hints: ColumnHints) -> list[object]:
    if hints.missing_ranges:
        return [value for value in distinct if hints.is_missing(value)]
    return [value for value in distinct if is_lettered(value)]


def sorted_codes(values: Iterable[Code]) -> tuple[Code, ...]:
    """Sort numbers, including those written as texts, by size, then other texts alphabetically."""
    return tuple(
        sorted(
            values, key=lambda v: ((n := as_number(v)) is None, n if n is not None else 0.0, str(v))
        )
    )
