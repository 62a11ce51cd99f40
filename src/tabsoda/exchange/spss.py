"""SPSS: one .sav with Imputation_, value labels and missing values, and syntax that splits it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyreadstat
from numpy.typing import NDArray

from tabsoda._internal.files import write_text
from tabsoda.events import EventLog
from tabsoda.exchange.names import NameRule
from tabsoda.exchange.portable import REASON_LABELS, PortableColumn, PortableSurvey
from tabsoda.exchange.written import check_written
from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Reason
from tabsoda.states.cell_states import REASONS

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

_NAMES = NameRule(
    "SPSS",
    64,
    frozenset(["all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"]),
    first="A-Za-z",
    others="A-Za-z0-9_.",
)
_LABEL_BYTES, _QUESTION_BYTES = 120, 256
# Codes to try, in this order, for a reason without a code; the first that is not an answer is used.
_CODES = {
    Reason.SKIP: (-1, -6, -96, -996, -9996),
    Reason.REFUSED: (-7, -97, -997, -9997),
    Reason.DONT_KNOW: (-8, -98, -998, -9998),
    Reason.OTHER: (-9, -99, -999, -9999),
}

_SYNTAX = """* Opens the imputations and splits them, so that procedures pool what they can.
* Enter the folder of imputations.sav below.
CD '.'.
GET FILE='imputations.sav'.
SORT CASES BY Imputation_.
SPLIT FILE LAYERED BY Imputation_.
* Imputation_ = 0 is the observed data. Then, for instance:
* REGRESSION /DEPENDENT outcome /METHOD=ENTER term.
"""


@dataclass(frozen=True, eq=False)
class _Codes:
    """The codes of one question that are not answers.

    Attributes
    ----------
    own : ndarray of float64, shape (n_rows,)
        The code of each row in the file; NaN if it had none.
    of_reason : dict of Reason to float
        Codes for cells without their own code; a blank has none.
    labels : dict of float to str
    """

    own: NDArray[np.float64]
    of_reason: dict[Reason, float]
    labels: dict[float, str]


def write(result: Imputations, folder: Path, events: EventLog) -> None:
    """Write imputations.sav and imputations.sps."""
    survey = PortableSurvey.of(result, _NAMES, events, ("Imputation_",))
    numbers = range(len(result) + 1)
    columns: dict[str, pl.Series] = {
        "Imputation_": pl.Series(
            np.repeat(np.arange(len(numbers), dtype=np.float64), survey.n_rows)
        )
    }
    for name, series in survey.other_columns():
        columns[name] = pl.concat([series] * len(numbers))
    values = [survey.values(number) for number in numbers]
    reasons = [survey.reasons(number) for number in numbers]
    labels: dict[str, dict[float, str]] = {
        name: {n: _cut(name, text, _LABEL_BYTES, events) for n, text in found.items()}
        for name, found in survey.level_labels_of_others().items()
    }
    ranges: dict[str, list[Any]] = {}
    for question in survey.questions:
        codes, at = _codes(survey, question), question.position
        parts = [
            _cells(question, codes, table[:, at], why[:, at], reasons[0][:, at])
            for table, why in zip(values, reasons, strict=True)
        ]
        cells, is_code = (np.concatenate(part) for part in zip(*parts, strict=True))
        used = sorted({float(code) for code in cells[is_code]})
        answers = cells[~is_code & ~np.isnan(cells)]
        used, cells = _few_enough(question, codes, used, answers, cells, is_code, events)
        columns[question.name] = pl.Series(cells).fill_nan(None)
        if used:
            ranges[question.name] = _ranges(used)
        named = {code: codes.labels[code] for code in used if code in codes.labels}
        labels[question.name] = _short_labels(question, {**question.labels, **named}, events)
    texts = {q.name: q.column.label for q in survey.questions} | survey.labels_of_others()
    measures = {"Imputation_": "nominal"} | {q.name: q.measure for q in survey.questions}
    pyreadstat.write_sav(
        pl.DataFrame(columns),
        folder / "imputations.sav",
        column_labels={n: _cut(n, t, _QUESTION_BYTES, events) for n, t in texts.items() if t},
        variable_value_labels={name: found for name, found in labels.items() if found}
        | {"Imputation_": {0: "Original data"}},
        missing_ranges=ranges,
        variable_measure=measures,
        row_compress=True,
    )
    check_written(folder / "imputations.sav", survey.n_rows * len(numbers))
    write_text(folder / "imputations.sps", _SYNTAX)


def _codes(survey: PortableSurvey, question: PortableColumn) -> _Codes:
    column = question.column
    special = {
        number: (code, reason)
        for code, reason in column.special_codes.items()
        if (number := as_number(code)) is not None
    }
    own = np.full(survey.n_rows, np.nan)
    if question.numbers is None or not any(isinstance(level, str) for level in column.levels):
        own = _numbers_in_file(survey.survey.frame[column.name])
        own[~np.isin(own, list(special))] = np.nan
    else:
        # Levels have new numbers, so the old codes could clash with them.
        special = {}
    answers = _answer_numbers(survey, question)
    of_reason: dict[Reason, float] = {}
    for reason, candidates in _CODES.items():
        listed = [number for number, (_, why) in special.items() if why is reason]
        used = set(special) | set(of_reason.values()) | answers
        free = (float(code) for code in candidates if code not in used)
        of_reason[reason] = listed[0] if listed else next(free, _below(used))
    known = {number: column.level_labels.get(code) for number, (code, _) in special.items()}
    labels = {number: REASON_LABELS[reason] for reason, number in of_reason.items()}
    labels |= {number: REASON_LABELS[why] for number, (_, why) in special.items()}
    labels |= {number: text for number, text in known.items() if text}
    return _Codes(own, of_reason, labels)


def _numbers_in_file(series: pl.Series) -> NDArray[np.float64]:
    from tabsoda.schema.values import comparable

    return comparable(series).cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()


def _answer_numbers(survey: PortableSurvey, question: PortableColumn) -> set[float]:
    """Return every number that is an answer, in the file or in a draw."""
    if question.numbers is not None:
        return set(question.numbers.tolist())
    cells = survey.result.cells
    observed = survey.result.table.values[:, question.position]
    drawn = cells.draws[:, cells.positions == question.position]
    return set(np.unique(np.concatenate([observed, drawn.ravel()])).tolist())


def _below(used: set[float]) -> float:
    return float(np.floor(min((number for number in used if number == number), default=0.0)) - 1)


def _cells(
    question: PortableColumn,
    codes: _Codes,
    coded: NDArray[np.float64],
    reasons: NDArray[np.uint8],
    observed: NDArray[np.uint8],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return one table's cells, and which of them are codes instead of answers.

    A code of the file is kept if the reason is still the same.
    """
    cells = question.answers(coded).copy()
    by_reason = np.array(
        [np.nan, *(codes.of_reason.get(reason, np.nan) for reason in REASONS)], dtype=np.float64
    )
    code_of = by_reason[reasons]
    keep = ~np.isnan(codes.own) & (reasons == observed)
    code_of[keep] = codes.own[keep]
    empty = reasons != 0
    cells[empty] = code_of[empty]
    return cells, empty & ~np.isnan(cells)


def _few_enough(
    question: PortableColumn,
    codes: _Codes,
    used: list[float],
    answers: NDArray[np.float64],
    cells: NDArray[np.float64],
    is_code: NDArray[np.bool_],
    events: EventLog,
) -> tuple[list[float], NDArray[np.float64]]:
    """Renumber codes that SPSS cannot declare: it allows three values, or a range and one."""
    if len(used) <= 3 or not _between(used, answers, question):
        return used, cells
    start = min(*used, *answers.tolist(), 0.0) - len(used)
    moved = {old: float(np.floor(start)) + place for place, old in enumerate(used)}
    result = cells.copy()
    for old, new in moved.items():
        result[is_code & (cells == old)] = new
        codes.labels[new] = codes.labels.get(old, f"{old:g}")
    events.add(
        "missing_codes_renumbered",
        column=question.column.name,
        codes=[f"{old:g}" for old in moved],
        new_codes=[f"{new:g}" for new in moved.values()],
    )
    return sorted(moved.values()), result


def _between(used: list[float], answers: NDArray[np.float64], question: PortableColumn) -> bool:
    """Return whether an answer lies in the range of the codes."""
    numbers = np.concatenate([answers, [] if question.numbers is None else question.numbers])
    return bool(((numbers >= used[0]) & (numbers <= used[-1])).any())


def _ranges(used: list[float]) -> list[Any]:
    if len(used) <= 3:
        return list(used)
    return [{"lo": used[0], "hi": used[-1]}]


def _short_labels(
    question: PortableColumn, labels: dict[float, str], events: EventLog
) -> dict[float, str]:
    return {
        number: _cut(question.column.name, text, _LABEL_BYTES, events)
        for number, text in labels.items()
    }


def _cut(name: str, text: str, longest: int, events: EventLog) -> str:
    """Shorten a text to a number of bytes, which SPSS counts."""
    encoded = text.encode()
    if len(encoded) <= longest:
        return text
    events.add("label_shortened", column=name, kept=longest, bytes=len(encoded))
    return encoded[:longest].decode(errors="ignore")
