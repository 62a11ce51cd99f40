"""SAS: transport files with _Imputation_, and a program that adds labels and reasons.

A transport file written here has no special missing values, so reasons are in separate files, and
the program converts them to ``.A`` (skip), ``.R``, ``.D`` and ``.O``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyreadstat

from tabsoda._internal.files import write_text
from tabsoda.events import EventLog
from tabsoda.exchange.names import NameRule
from tabsoda.exchange.portable import REASON_LABELS, PortableColumn, PortableSurvey
from tabsoda.exchange.written import check_written
from tabsoda.schema.column import Reason
from tabsoda.states.cell_states import reason_code

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

_NAMES = NameRule("SAS", 32, frozenset({"_all_", "_numeric_", "_character_", "_n_", "_error_"}))
_INDEX = ("_Imputation_", "_row_")
_OWN = ("_i", "_answer", "_why")
_PREFIX = "why_"
_LABEL_LENGTH = 256
_LETTERS = {Reason.SKIP: "A", Reason.REFUSED: "R", Reason.DONT_KNOW: "D", Reason.OTHER: "O"}


def write(result: Imputations, folder: Path, events: EventLog) -> None:
    """Write observed.xpt, imputed.xpt, a file of reasons for each, and imputations.sas.

    The observed table is a separate file, because MIANALYZE pools all groups of BY _Imputation_.
    """
    # The program uses variables of its own, and one for the reasons of each question.
    reasons = (f"{_PREFIX}{number}" for number in range(1, result.table.shape[1] + 1))
    survey = PortableSurvey.of(result, _NAMES, events, (*_INDEX, *_OWN, *reasons))
    for name, numbers in {"observed": range(1), "imputed": range(1, len(result) + 1)}.items():
        columns = _index(survey, numbers)
        for other, series in survey.other_columns():
            columns[other] = pl.concat([series] * len(numbers))
        values = [survey.values(number) for number in numbers]
        for question in survey.questions:
            stacked = np.concatenate([table[:, question.position] for table in values])
            columns[question.name] = pl.Series(question.answers(stacked)).fill_nan(None)
        texts = {q.name: q.column.label for q in survey.questions} | survey.labels_of_others()
        labels = {n: _cut(n, text, events) for n, text in texts.items() if text}
        _write(columns, folder / f"{name}.xpt", name, labels)
        _write(_reasons(survey, numbers), folder / f"why_{name}.xpt", f"why_{name}", {})
    write_text(folder / "imputations.sas", _program(survey))


def _write(columns: dict[str, pl.Series], path: Path, name: str, labels: Mapping[str, str]) -> None:
    frame = pl.DataFrame(columns)
    pyreadstat.write_xport(frame, path, column_labels=dict(labels), table_name=name)
    check_written(path, frame.height)


def _index(survey: PortableSurvey, numbers: range) -> dict[str, pl.Series]:
    n = survey.n_rows
    return {
        _INDEX[0]: pl.Series(np.repeat(np.array(numbers, dtype=np.float64), n)),
        _INDEX[1]: pl.Series(np.tile(np.arange(1.0, n + 1), len(numbers))),
    }


def _reasons(survey: PortableSurvey, numbers: range) -> dict[str, pl.Series]:
    """Return the reasons of every question, numbered by position: names could be too long."""
    columns = _index(survey, numbers)
    tables = [survey.reasons(number) for number in numbers]
    for question in survey.questions:
        codes = np.concatenate([table[:, question.position] for table in tables])
        columns[f"{_PREFIX}{question.position + 1}"] = pl.Series(codes.astype(np.float64))
    return columns


def _program(survey: PortableSurvey) -> str:
    formats = "\n".join(_format(question) for question in survey.questions)
    uses = "\n".join(f"    {q.name} {_format_name(q)}." for q in survey.questions)
    names = "\n".join(f"    {question.name}" for question in survey.questions)
    n = len(survey.questions)
    rules = "\n".join(
        f"    if _why{{_i}} = {reason_code(reason)} then _answer{{_i}} = .{letter};"
        for reason, letter in _LETTERS.items()
    )
    return f"""/* Reads the imputations, with labels and special missing values.
   Enter the folder of the .xpt files below. WORK.IMPUTED has the draws, WORK.OBSERVED the
   observed data: .A is a skip, .R refused, .D don't know, .O another reason. */
%let folder = .;
missing A D O R;
%xpt2loc(libref=work, memlist=_all_, filespec="&folder/observed.xpt")
%xpt2loc(libref=work, memlist=_all_, filespec="&folder/why_observed.xpt")
%xpt2loc(libref=work, memlist=_all_, filespec="&folder/imputed.xpt")
%xpt2loc(libref=work, memlist=_all_, filespec="&folder/why_imputed.xpt")

proc format;
{formats}
run;

%macro give_reasons(data);
data &data;
  merge &data why_&data;
  by _Imputation_ _row_;
  array _answer{{*}}
{names};
  array _why{{*}} {_PREFIX}1-{_PREFIX}{n};
  do _i = 1 to {n};
    if missing(_answer{{_i}}) then do;
{rules}
    end;
  end;
  drop _i {_PREFIX}1-{_PREFIX}{n};
  format
{uses};
run;
%mend;
%give_reasons(observed)
%give_reasons(imputed)

/* Then, for instance:
proc reg data=imputed outest=estimates covout noprint; model outcome = term; by _Imputation_; run;
proc mianalyze data=estimates; modeleffects Intercept term; run; */
"""


def _format(question: PortableColumn) -> str:
    labels = "\n".join(
        f"    {number!r} = {_quoted(text)}" for number, text in sorted(question.labels.items())
    )
    reasons = "\n".join(
        f"    .{letter} = {_quoted(REASON_LABELS[reason])}" for reason, letter in _LETTERS.items()
    )
    parts = [part for part in (labels, reasons) if part]
    return f"  value {_format_name(question)}\n" + "\n".join(parts) + ";"


def _format_name(question: PortableColumn) -> str:
    # The name of a format must not end in a digit.
    return f"f{question.position + 1}_"


def _quoted(text: str) -> str:
    """Quote a text for SAS; nothing is executed inside single quotes."""
    one_line = " ".join(text.split())
    return "'" + one_line.replace("'", "''") + "'"


def _cut(name: str, text: str, events: EventLog) -> str:
    if len(text) > _LABEL_LENGTH:
        events.add("question_text_shortened", column=name, kept=_LABEL_LENGTH, characters=len(text))
    return text[:_LABEL_LENGTH]
