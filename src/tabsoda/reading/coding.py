"""Code the values of a file as numbers: the position of a level, or the value itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda.schema.codes import CodeBook, as_number, is_blank_word
from tabsoda.schema.column import Column, Reason
from tabsoda.schema.values import comparable
from tabsoda.states.cell_states import reason_code


@dataclass(frozen=True)
class CodedColumn:
    """One question as numbers.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows,)
        NaN where there is no answer.
    reasons : ndarray of uint8, shape (n_rows,)
        0 where answered, else the code from :func:`tabsoda.states.reason_code`.
    unlisted : dict of str to int
        Values not in the description, with their counts; treated as missing.
    blank_words : dict of str to int
        Undeclared words such as "NA" that were read as an empty cell, with their counts.
    """

    values: NDArray[np.float64]
    reasons: NDArray[np.uint8]
    unlisted: dict[str, int] = field(default_factory=dict)
    blank_words: dict[str, int] = field(default_factory=dict)


def code_column(
    series: pl.Series,
    column: Column,
    tags: NDArray[np.object_] | None = None,
    *,
    blank_is_text: bool = False,
) -> CodedColumn:
    """Code one question.

    Parameters
    ----------
    series : polars.Series
        The values as published.
    column : Column
    tags : ndarray of object, optional
        Lettered missings per row (``".a"``), null in ``series``.
    blank_is_text : bool
        Whether the code ``""`` means an empty cell of a numeric column, too.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> smoked = Column("smoked", ColumnKind.NOMINAL, (1, 2), special_codes={-1: Reason.SKIP})
    >>> coded = code_column(pl.Series(["1", "2", "-1", None]), smoked)
    >>> coded.values.tolist(), coded.reasons.tolist()
    ([0.0, 1.0, nan, nan], [0, 0, 1, 4])
    """
    data = comparable(series)
    coded = (_code_levels if column.is_categorical else _code_numbers)(data, column)
    empty = _empty_reason(column, blank_is_text or data.dtype == pl.String)
    coded.reasons[data.is_null().to_numpy()] = reason_code(empty)
    if tags is not None:
        _apply_tags(coded.reasons, tags, column)
    return coded


def _code_levels(data: pl.Series, column: Column) -> CodedColumn:
    """Look up each distinct value once, then map all rows."""
    levels, special = CodeBook(column.levels), CodeBook(column.special_codes)
    position = {level: number for number, level in enumerate(column.levels)}
    distinct = data.drop_nulls().unique()
    texts = distinct.to_list()
    # The last entry stands for empty cells, whose reason is set by the caller.
    values = np.full(len(texts) + 1, np.nan)
    reasons = np.zeros(len(texts) + 1, dtype=np.uint8)
    unlisted: list[Any] = []
    blank_words: list[str] = []
    for index, value in enumerate(texts):
        # A value that is literally a level is not a special code that spells the same number.
        code = None if levels.spells(value) else special.find(value)
        level = levels.find(value) if code is None else None
        if level is None and code is None and data.dtype == pl.Float32:
            # .1 in single precision differs from .1.
            level = levels.find(float(str(np.float32(value))))
        if level is not None:
            values[index] = position[level]
        elif code is not None:
            reasons[index] = reason_code(column.special_codes[code])
        else:
            blank = is_blank_word(value)
            reasons[index] = reason_code(Reason.BLANK if blank else Reason.OTHER)
            (blank_words if blank else unlisted).append(value)
    index_of = _indices(data, distinct)
    return CodedColumn(
        values[index_of],
        reasons[index_of],
        _count(data, unlisted),
        _count(data, [word for word in blank_words if word.strip()]),
    )


def _code_numbers(data: pl.Series, column: Column) -> CodedColumn:
    """Keep numbers except special codes; other texts are unlisted values."""
    reasons = np.zeros(len(data), dtype=np.uint8)
    unlisted: list[str] = []
    blank_words: list[str] = []
    if data.dtype == pl.String:
        numbers = data.str.strip_chars().cast(pl.Float64, strict=False)
        # "inf" and "nan" parse as floats; in a survey they are texts.
        numbers = numbers.set(~numbers.is_finite(), None)
        texts = data.filter(numbers.is_null()).drop_nulls().unique()
        special = CodeBook(column.special_codes)
        why = np.zeros(len(texts) + 1, dtype=np.uint8)
        for index, text in enumerate(texts.to_list()):
            code = special.find(text)
            if code is not None:
                why[index] = reason_code(column.special_codes[code])
                continue
            blank = is_blank_word(text)
            why[index] = reason_code(Reason.BLANK if blank else Reason.OTHER)
            (blank_words if blank else unlisted).append(text)
        reasons = why[_indices(data, texts)]
    else:
        numbers = data.cast(pl.Float64)
    values = numbers.fill_null(np.nan).to_numpy().copy()
    for code, reason in column.special_codes.items():
        number = as_number(code)
        if number is not None:
            hit = values == number
            reasons[hit] = reason_code(reason)
            values[hit] = np.nan
    words = _count(data, [word for word in blank_words if word.strip()])
    return CodedColumn(values, reasons, _count(data, unlisted), words)


def _indices(data: pl.Series, distinct: pl.Series) -> NDArray[np.int64]:
    """Return each value's index among ``distinct``, and their number for any other value."""
    other = len(distinct)
    if not other:
        return np.zeros(len(data), dtype=np.int64)
    places = pl.Series(range(other), dtype=pl.Int64)
    found = data.replace_strict(distinct, places, default=other, return_dtype=pl.Int64)
    return found.fill_null(other).to_numpy()


def _count(data: pl.Series, wanted: list[Any]) -> dict[str, int]:
    if not wanted:
        return {}
    found = data.filter(data.is_in(pl.Series(wanted, dtype=data.dtype).implode()))
    counts = found.value_counts(sort=True)
    return {_written(value): count for value, count in counts.iter_rows()}


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _empty_reason(column: Column, text: bool) -> Reason:
    """Return why a cell is empty: the code ``""`` is for texts, ``"."`` for other types."""
    codes = ("", ".") if text else (".",)
    return next((column.special_codes[c] for c in codes if c in column.special_codes), Reason.BLANK)


def _apply_tags(reasons: NDArray[np.uint8], tags: NDArray[np.object_], column: Column) -> None:
    known = {str(code).lower(): why for code, why in column.special_codes.items()}
    for letter in {tag for tag in tags if tag is not None}:
        reasons[tags == letter] = reason_code(known.get(letter, Reason.OTHER))
