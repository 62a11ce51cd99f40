"""Exports of online questionnaires have more than one header row: names, texts, identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from tabsoda.events import EventLog
from tabsoda.schema.hints import ColumnHints

Cells = Sequence[str | None]
_QUALTRICS = '{"ImportId":'
# The first column of a SurveyMonkey export, and what its second row says of plain questions.
_SURVEY_MONKEY = frozenset({"respondentid", "respondent id", "respondent_id"})
_PLAIN_ANSWERS = frozenset({"response", "open-ended response", "reponse ouverte"})


def more_header_rows(
    names: Sequence[str], rows: Sequence[Cells], events: EventLog
) -> tuple[list[str], dict[str, ColumnHints], int]:
    """Recognise further header rows of an export.

    Qualtrics writes the text of each question below its name, then an identifier as JSON.
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
    if len(rows) > 1 and all(cell and cell.startswith(_QUALTRICS) for cell in rows[1]):
        events.add("header_rows_read", program="Qualtrics", rows=3)
        texts = {name: _tidy(text) for name, text in zip(names, rows[0], strict=True)}
        return list(names), {name: ColumnHints(label=text) for name, text in texts.items()}, 2
    if rows and names and names[0].strip().lower() in _SURVEY_MONKEY and not rows[0][0]:
        plain = [_tidy(cell).lower() in _PLAIN_ANSWERS for cell in rows[0]]
        if any(plain):
            events.add("header_rows_read", program="SurveyMonkey", rows=2)
            return _joined(names, rows[0], plain), {}, 1
    return list(names), {}, 0


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
