"""Exports of online questionnaires have more than one header row: names, texts, identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tabsoda.events import EventLog
from tabsoda.schema.hints import ColumnHints

Cells = Sequence[str | None]
# Qualtrics has written these with either kind of quotes.
_QUALTRICS = re.compile(r"""\{\s*["']ImportId["']\s*:""")
# The first column of a SurveyMonkey export, and what its second row says of plain questions.
_SURVEY_MONKEY = frozenset({"respondentid", "respondent id", "respondent_id"})
_PLAIN_ANSWERS = frozenset({"response", "open-ended response", "reponse ouverte"})
_MANY_PLAIN = 3


def more_header_rows(
    names: Sequence[str], rows: Sequence[Cells], events: EventLog
) -> tuple[list[str], dict[str, ColumnHints], int]:
    """Recognise further header rows of an export.

    Qualtrics writes the text of each question below its name, then an identifier as JSON. Its older
    exports have no identifiers; they call the first column V1 and its text ResponseID.
    SurveyMonkey writes the option of each column below the question, which it names only once.

    Parameters
    ----------
    names : sequence of str
        The first row.
    rows : sequence of sequences of str or None
        The rows below it; two are enough.
    events : EventLog

    Returns
    -------
    names : list of str
    hints : dict of str to ColumnHints
        The texts of questions, by column name.
    n_rows : int
        How many of ``rows`` are header rows.

    Examples
    --------
    >>> identifiers = ['{"ImportId":"startDate"}', '{"ImportId":"QID1"}']
    >>> names, hints, n = more_header_rows(
    ...     ["StartDate", "Q1"], [["Start Date", "Do you smoke?"], identifiers], EventLog())
    >>> names, hints["Q1"].label, n
    (['StartDate', 'Q1'], 'Do you smoke?', 2)
    """
    n_qualtrics = _qualtrics_rows(names, rows)
    if n_qualtrics:
        events.add("header_rows_read", program="Qualtrics", rows=1 + n_qualtrics)
        texts = {name: _tidy(text) for name, text in zip(names, rows[0], strict=True)}
        hints = {name: ColumnHints(label=text) for name, text in texts.items()}
        return list(names), hints, n_qualtrics
    if rows and _is_survey_monkey(names, rows[0]):
        events.add("header_rows_read", program="SurveyMonkey", rows=2)
        return _joined(names, rows[0], [_is_plain(cell) for cell in rows[0]]), {}, 1
    return list(names), {}, 0


def _qualtrics_rows(names: Sequence[str], rows: Sequence[Cells]) -> int:
    """Return how many header rows follow the names in an export of Qualtrics; 0 in other files."""
    if len(rows) > 1:
        # A comma at the end of each line makes a column without an identifier.
        written = [cell for cell in rows[1] if cell]
        if written and all(_QUALTRICS.match(cell) for cell in written):
            return 2
    is_old = rows and names[:1] == ["V1"] and (rows[0][0] or "").lower() == "responseid"
    return 1 if is_old else 0


def _is_survey_monkey(names: Sequence[str], row: Cells) -> bool:
    n_plain = sum(map(_is_plain, row))
    if not (names and names[0].strip().lower() in _SURVEY_MONKEY and not row[0]):
        # Without the respondents' numbers, no answer is "Response" to several questions.
        return n_plain >= _MANY_PLAIN
    # Columns of further options have no name.
    unnamed = (not name.strip() and cell for name, cell in zip(names, row, strict=True))
    return n_plain > 0 or any(unnamed)


def _is_plain(cell: str | None) -> bool:
    return _tidy(cell).lower() in _PLAIN_ANSWERS


def _joined(names: Sequence[str], options: Cells, plain: Sequence[bool]) -> list[str]:
    """Return "question - option" for the columns of a question with several."""
    joined, question = [], ""
    for name, option, is_plain in zip(names, options, plain, strict=True):
        question = _tidy(name) or question
        text = _tidy(option)
        joined.append(f"{question} - {text}" if text and not is_plain else question)
    return joined


def _tidy(text: str | None) -> str:
    return " ".join((text or "").split())
