"""Stata: one .dta in flong style, with a do-file that imports it.

In Stata ``.`` in the observed data (m = 0) is a value to impute; ``.a`` to ``.z`` are *hard*
missing, and ``mi update`` puts them back into every imputation. So a skip is ``.a`` (or the letter
the survey had) and an imputed cell is ``.`` in m = 0; reasons.dta says why it was missing.
"""

from __future__ import annotations

import string
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyreadstat
from numpy.typing import NDArray

from tabsoda._internal.files import write_text
from tabsoda.events import EventLog
from tabsoda.exchange.names import NameRule
from tabsoda.exchange.portable import (
    REASON_LABELS,
    PortableColumn,
    PortableSurvey,
    require_survey,
)
from tabsoda.exchange.written import check_written
from tabsoda.schema.column import Column, Reason
from tabsoda.states.cell_states import REASONS, reason_code

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

_RESERVED = (
    "_all _b _coef _cons _n _pi _pred _rc _skip byte double float if in int long strl using with"
)
_NAMES = NameRule(
    "Stata",
    32,
    frozenset([*_RESERVED.split(), *(f"str{length}" for length in range(1, 2046))]),
    ignores_case=False,
)
_MI = ("_mi_m", "_mi_id", "_mi_miss")
_LABEL_LENGTH = 80
# The oldest version of Stata with Unicode files.
_VERSION = 14
_LETTERS = {Reason.SKIP: "a", Reason.REFUSED: "r", Reason.DONT_KNOW: "d", Reason.OTHER: "o"}


def portable(result: Imputations, events: EventLog) -> PortableSurvey:
    """Return the survey with names that Stata accepts and numbers for all levels."""
    return PortableSurvey.of(result, _names(result), events, (*_MI, "tabsoda_m", "tabsoda_id"))


def write(result: Imputations, folder: Path, events: EventLog) -> None:
    """Write imputations.dta, reasons.dta and imputations.do."""
    survey = portable(result, events)
    numbers = range(len(result) + 1)
    columns: dict[str, pl.Series] = dict(_index(survey))
    labels: dict[str, dict[Any, str]] = {
        name: {int(n): text for n, text in found.items() if n == round(n)}
        for name, found in survey.level_labels_of_others().items()
    }
    letters: dict[str, list[str]] = {}
    for name, series in _other_columns(survey, labels, letters):
        columns[name] = pl.concat([series] * len(numbers))
    values = [survey.values(number) for number in numbers]
    reasons = [survey.reasons(number) for number in numbers]
    imputed = _imputed_cells(result)
    for question in survey.questions:
        at = question.position
        answers = np.concatenate([question.answers(table[:, at]) for table in values])
        of_reason = _letters(question.column)
        own = _own_letters(survey, question)
        lettered = [_lettered(table[:, at], reasons[0][:, at], of_reason, own) for table in reasons]
        lettered[0][imputed[:, at]] = None
        columns[question.name], used = _series(answers, np.concatenate(lettered))
        if used:
            letters[question.name] = used
        labels[question.name] = _labels(question, used, of_reason, events)
    texts = {question.name: question.column.label for question in survey.questions}
    texts |= survey.labels_of_others()
    pyreadstat.write_dta(
        pl.DataFrame(columns),
        folder / "imputations.dta",
        column_labels={n: _cut(n, text, events) for n, text in texts.items() if text},
        variable_value_labels={name: found for name, found in labels.items() if found},
        missing_user_values=letters,
        version=_VERSION,
    )
    check_written(folder / "imputations.dta", survey.n_rows * len(numbers))
    _write_reasons(survey, folder / "reasons.dta")
    write_text(folder / "imputations.do", _do_file(survey))


def _names(result: Imputations) -> NameRule:
    """Return the rule for names; pyreadstat names sets of labels after variable and position."""
    n_columns = len(require_survey(result).frame.columns) + len(_MI)
    return replace(_NAMES, longest=_NAMES.longest - len(str(n_columns - 1)))


def _index(survey: PortableSurvey) -> list[tuple[str, pl.Series]]:
    """Return the three columns with which Stata identifies tables and rows."""
    n, m = survey.n_rows, len(survey.result)
    incomplete = np.zeros(n)
    incomplete[survey.result.cells.rows] = 1
    # Stata marks incomplete rows in the observed table only.
    marks = np.concatenate([incomplete, np.full(n * m, np.nan)])
    columns = (
        np.repeat(np.arange(m + 1.0), n),
        np.tile(np.arange(1.0, n + 1), m + 1),
        marks,
    )
    return [
        (name, pl.Series(values).fill_nan(None)) for name, values in zip(_MI, columns, strict=True)
    ]


def _other_columns(
    survey: PortableSurvey, labels: dict[str, dict[Any, str]], letters: dict[str, list[str]]
) -> Iterator[tuple[str, pl.Series]]:
    """Yield columns that are not questions, with the letters of the file and their labels."""
    old_names = {new: old for old, new in survey.others.items()}
    for name, series in survey.other_columns():
        tags = survey.survey.tags.get(old_names[name])
        if tags is not None:
            numbers = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
            own = np.array([tag[1] if tag else None for tag in tags], dtype=object)
            series, letters[name] = _series(numbers, own)
            schema, old = survey.survey.schema, old_names[name]
            known = schema[old].level_labels if old in schema else {}
            texts = {letter: known.get(f".{letter}", "") for letter in letters[name]}
            labels[name] = labels.get(name, {}) | {c: text for c, text in texts.items() if text}
        yield name, series


def _imputed_cells(result: Imputations) -> NDArray[np.bool_]:
    cells = np.zeros(result.table.shape, dtype=bool)
    cells[result.cells.rows, result.cells.positions] = True
    return cells


def _letters(column: Column) -> dict[Reason, str]:
    """Choose a letter for every reason, the survey's own if it has one; none for a blank."""
    own = {
        str(code)[1]: reason
        for code, reason in column.special_codes.items()
        if isinstance(code, str) and len(code) == 2 and code[0] == "." and code[1].isalpha()
    }
    chosen = {reason: letter for letter, reason in reversed(own.items())}
    chosen.pop(Reason.BLANK, None)
    for reason, letter in _LETTERS.items():
        if reason not in chosen:
            used = set(own) | set(chosen.values())
            free = letter if letter not in used else None
            chosen[reason] = free or next(c for c in string.ascii_lowercase if c not in used)
    return chosen


def _own_letters(survey: PortableSurvey, question: PortableColumn) -> NDArray[np.object_]:
    """Return the letter of each row in the file; None if it had none."""
    tags = survey.survey.tags.get(question.column.name)
    if tags is None:
        return np.full(survey.n_rows, None, dtype=object)
    return np.array([tag[1] if tag else None for tag in tags], dtype=object)


def _lettered(
    reasons: NDArray[np.uint8],
    observed: NDArray[np.uint8],
    of_reason: dict[Reason, str],
    own: NDArray[np.object_],
) -> NDArray[np.object_]:
    """Return the letter of each cell of one table; None for an answer and a blank.

    A letter of the file is kept if the reason is still the same.
    """
    letters = np.array([None, *(of_reason.get(reason) for reason in REASONS)], dtype=object)
    found = letters[reasons]
    kept = (reasons != 0) & (reasons == observed) & _there(own)
    found[kept] = own[kept]
    return found


def _there(cells: NDArray[np.object_]) -> NDArray[np.bool_]:
    return np.array([cell is not None for cell in cells], dtype=bool)


def _series(
    answers: NDArray[np.float64], letters: NDArray[np.object_]
) -> tuple[pl.Series, list[str]]:
    used = sorted({letter for letter in letters if letter is not None})
    if not used:
        return pl.Series(answers).fill_nan(None), used
    # One Python number per distinct answer, shared by all its cells, to save memory.
    distinct, places = np.unique(answers, return_inverse=True)
    objects = np.array([None if np.isnan(v) else float(v) for v in distinct], dtype=object)
    cells = objects[places]
    lettered = _there(letters)
    cells[lettered] = letters[lettered]
    return pl.Series(cells.tolist(), dtype=pl.Object), used


def _labels(
    question: PortableColumn, used: list[str], of_reason: dict[Reason, str], events: EventLog
) -> dict[Any, str]:
    labels: dict[Any, str] = {}
    for number, text in question.labels.items():
        if number == round(number):
            labels[int(number)] = text
        else:
            name = question.column.name
            events.add("label_left_out", column=name, code=f"{number:g}", label=text)
    known = question.column.level_labels
    for reason, letter in of_reason.items():
        if letter in used:
            labels[letter] = known.get(f".{letter}") or REASON_LABELS[reason]
    others = {letter: known[f".{letter}"] for letter in used if known.get(f".{letter}")}
    return others | labels


def _cut(name: str, text: str, events: EventLog) -> str:
    if len(text) > _LABEL_LENGTH:
        events.add("question_text_shortened", column=name, kept=_LABEL_LENGTH, characters=len(text))
    return text[:_LABEL_LENGTH]


def _write_reasons(survey: PortableSurvey, path: Path) -> None:
    """Write why cells of the observed table have no answer, one row per respondent."""
    states = survey.result.table.states
    columns = {"_mi_id": pl.Series(np.arange(1.0, survey.n_rows + 1))}
    known: dict[Any, str] = {0: "Answered"}
    known |= {reason_code(reason): text for reason, text in REASON_LABELS.items()}
    for question in survey.questions:
        columns[question.name] = pl.Series(states.reasons[:, question.position].astype(np.float64))
    names = [question.name for question in survey.questions]
    pyreadstat.write_dta(
        pl.DataFrame(columns),
        path,
        variable_value_labels=dict.fromkeys(names, known),
        version=_VERSION,
    )
    check_written(path, survey.n_rows)


def _do_file(survey: PortableSurvey) -> str:
    imputed = textwrap.fill(" ".join(question.name for question in survey.imputed), 90)
    return f"""* Reads the imputations into Stata's mi system. Run it in its own folder.
* m = 0 is the observed data: . was imputed, .a (or the survey's letter) is a skip, never imputed.
* reasons.dta says why cells of m = 0 have no answer; merge it by _mi_id.
version {_VERSION}
use "imputations.dta", clear
rename (_mi_m _mi_id) (tabsoda_m tabsoda_id)
drop _mi_miss
#delimit ;
mi import flong, m(tabsoda_m) id(tabsoda_id) clear imputed(
{imputed}
) ;
#delimit cr
mi describe
* Then, for instance:  mi estimate: regress outcome term
* Where a draw skips a question that another asks, samples differ: mi estimate, esampvaryok: ...
"""
