"""Find the missing codes of a column from file declarations and labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from tabsoda.schema.codes import CodeBook, as_number, is_blank_word, plain
from tabsoda.schema.column import Code, Reason
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.reasons import LabelReading, read_label
from tabsoda.schema.suspicion import is_lettered, suspicious_codes
from tabsoda.schema.vocabulary import Use, vocabulary
from tabsoda.schema.words import words

# Texts are read as labels in columns with at most this many of them.
_MAX_TEXTS = 200
# Shared words shorter than this do not show that labels belong to one scale.
_LONG_WORD = 4
# With so few other answers, "not sure" and "unknown" are not answers.
_FEW_ANSWERS = 2
_HIGH = 90


def special_codes(
    values: Iterable[object], hints: ColumnHints, texts: Collection[str] = ()
) -> dict[Code, Reason]:
    """Return the missing codes of a column, and the reason each stands for.

    A code counts if the file declares it missing, if it is a letter (``.a``), or if its label
    gives a reason for a missing answer. A label that could also be an answer ("NC", "trifft nicht
    zu") counts only if the code is declared missing or a gap separates it from the other codes.
    Declared codes without a readable label have the meaning they have in the rest of the file.

    Parameters
    ----------
    values : iterable
        Values of the column that may be codes, in addition to those in ``hints``.
    hints : ColumnHints
    texts : collection of str
        Texts that mean a missing answer, from ``texts_without_answer``.

    Examples
    --------
    >>> labels = {1: "Sí", 2: "No", 8: "NS", 9: "No responde"}
    >>> {code: why.value for code, why in special_codes([], ColumnHints("", labels)).items()}
    {8: 'dont_know', 9: 'refused'}
    """
    result: dict[Code, Reason] = {}
    labels = CodeBook(hints.level_labels)
    shared = CodeBook(hints.file_reasons)
    seen = CodeBook(())
    apart = _codes_apart(hints)
    for value in [*hints.missing_codes, *hints.level_labels, *values, *texts]:
        if value is None or seen.find(value) is not None:
            continue
        labelled = labels.find(value)
        declared = hints.is_missing(value) or is_lettered(value)
        reading = read_label(_text(value, labelled, hints), hints.language)
        certain = reading is not None and (
            reading.is_certain or labelled in apart or value in texts
        )
        if not (declared or certain):
            continue
        code = plain(value) if isinstance(value, int | float | str) else str(value)
        if labelled is not None:
            code = labelled
        elsewhere = shared.find(value)
        if reading is not None:
            result[code] = reading.reason
        elif elsewhere is not None and labelled is None:
            result[code] = hints.file_reasons[elsewhere]
        else:
            result[code] = Reason.OTHER
        seen = CodeBook(result)
    return result


def texts_without_answer(values: Iterable[object], hints: ColumnHints) -> list[str]:
    """Return the texts of a column that mean a missing answer.

    Examples
    --------
    >>> texts_without_answer(["Yes", "No", "Don't know"], ColumnHints())
    ["Don't know"]
    """
    texts = [value for value in values if isinstance(value, str) and not is_blank_word(value)]
    if len(texts) > _MAX_TEXTS:
        return []
    readings = {text: read_label(text, hints.language) for text in texts}
    n_answers = sum(reading is None for reading in readings.values())
    return [text for text, reading in readings.items() if _is_certain(reading, n_answers)]


def _is_certain(reading: LabelReading | None, n_answers: int) -> bool:
    """Whether a label is not an answer; "not sure" next to yes and no is not one, either."""
    if reading is None:
        return False
    is_third = reading.reason is Reason.DONT_KNOW and 1 < n_answers <= _FEW_ANSWERS
    return reading.is_certain or (is_third and reading.is_whole and not reading.is_short)


def doubtful_labels(hints: ColumnHints) -> dict[Code, Reason | None]:
    """Return codes that count as answers although they may be missing codes.

    These are labels that may give a reason, unless they share a word with another label ("trifft
    nicht zu" next to "trifft eher zu" is an answer), and codes such as 998 far from the others
    whose label gives no known reason; their value is None.

    Examples
    --------
    >>> doubtful_labels(ColumnHints("", {1: "Sí", 2: "No", 3: "NS"}))
    {3: <Reason.DONT_KNOW: 'dont_know'>}
    >>> doubtful_labels(ColumnHints("", {1: "Well", 2: "Badly", 98: "Did not watch"}))
    {98: None}
    """
    special = CodeBook(special_codes([], hints))
    answers = {c: text for c, text in hints.level_labels.items() if special.find(c) is None}
    far = CodeBook(suspicious_codes(hints.level_labels))
    doubtful: dict[Code, Reason | None] = {}
    for code, text in answers.items():
        reading = read_label(text, hints.language)
        others = {word for c, label in answers.items() if c != code for word in words(label)}
        related = any(len(word) >= _LONG_WORD and word in others for word in words(text))
        if reading is not None and not related:
            doubtful[code] = reading.reason
        elif reading is None and far.find(code) is not None and not _is_answer_apart(code, text):
            doubtful[code] = None
    return doubtful


def _is_answer_apart(code: Code, label: str) -> bool:
    """Whether a separated code is the end of a scale labelled only at its ends, or "other"."""
    number = as_number(code)
    if number is None or 0 <= number < _HIGH:
        return True
    found = vocabulary().find(words(label))
    return any(entry.use is Use.ELSE for match in found for entry in match.entries)


def _text(value: object, labelled: Code | None, hints: ColumnHints) -> str:
    """Return the label of a value; a text without one is its own label."""
    if labelled is not None:
        return hints.level_labels[labelled]
    is_text = isinstance(value, str) and as_number(value) is None and not is_lettered(value)
    return str(value) if is_text else ""


def _codes_apart(hints: ColumnHints) -> set[Code | None]:
    """Return the labelled codes that may be missing codes and are separated from the others.

    A code is separate if it is negative and the others are not, or more than one scale step
    above them. Abbreviations with different meanings ("3 NS", "4 NR") after the last answer
    support each other.
    """
    readings = {code: read_label(text, hints.language) for code, text in hints.level_labels.items()}
    far = CodeBook(suspicious_codes(hints.level_labels))
    answers = [code for code, reading in readings.items() if reading is None]
    others = [
        n for code in answers if far.find(code) is None and (n := as_number(code)) is not None
    ]
    found = {code: reading for code, reading in readings.items() if reading is not None}
    apart: set[Code | None] = {
        code
        for code, reading in found.items()
        if _is_certain(reading, len(answers))
        or ((n := as_number(code)) is not None and _is_apart(n, others))
    }
    last = max(others, default=np.inf)
    short = {
        code: reading.reason
        for code, reading in found.items()
        if reading.is_short and (n := as_number(code)) is not None and n > last
    }
    if len(set(short.values())) > 1:
        apart |= set(short)
    return apart


def _is_apart(number: float, others: list[float]) -> bool:
    if not others:
        return False
    step = float(np.diff(np.unique(others)).min()) if len(set(others)) > 1 else 1.0
    low, high = min(others), max(others)
    below = number <= 0 and number < low - step
    return (number < 0 <= low) or below or number > high + step
