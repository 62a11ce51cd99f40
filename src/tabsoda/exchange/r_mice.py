"""R: the long table of mice with where.csv, and a script that makes a mids object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tabsoda._internal.files import write_text
from tabsoda.events import EventLog
from tabsoda.exchange.answer_tables import answers_long, reasons_long
from tabsoda.exchange.names import NameRule
from tabsoda.exchange.portable import PortableSurvey
from tabsoda.exchange.spreadsheet_text import harmless_frame
from tabsoda.schema.codes import plain
from tabsoda.schema.column import ColumnKind

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

_RESERVED = "if else repeat while function for next break in true false null inf nan na"
_NAMES = NameRule(
    "R",
    255,
    frozenset(_RESERVED.split()),
    first="A-Za-z",
    others="A-Za-z0-9._",
    ignores_case=False,
)

_SCRIPT = """# Reads the imputations as a mids object of the package mice. Run it in this folder.
# Skips are NA with where = FALSE: they were not imputed, and complete() leaves them NA.
library(mice)
unquote <- function(x) if (is.character(x)) sub("^'('*[=+@\\t\\r-])", "\\\\1", x) else x
read <- function(file, classes = NA) {
  d <- read.csv(file, check.names = FALSE, na.strings = "", fileEncoding = "UTF-8",
                stringsAsFactors = FALSE, colClasses = classes)
  d[] <- lapply(d, unquote)
  d
}
# Codes are texts: read as numbers, "01" would be 1, and "T" would be TRUE.
levels <- read("levels.csv", "character")
coded <- unique(levels$variable)
long <- read("long.csv", setNames(rep("character", length(coded)), coded))
for (v in coded) {
  rows <- levels[levels$variable == v, ]
  long[[v]] <- factor(long[[v]], rows$code, rows$label,
                      ordered = rows$ordered[1] == "TRUE")
}
where <- as.matrix(read.csv("where.csv", check.names = FALSE)) == 1
imputations <- as.mids(long, where = where)
# Then, for instance:  summary(pool(with(imputations, lm(outcome ~ term))))
"""


def portable(result: Imputations, events: EventLog) -> PortableSurvey:
    """Return the survey with names that R accepts."""
    return PortableSurvey.of(result, _NAMES, events, (".imp", ".id"), keeps_texts=True)


def write(result: Imputations, folder: Path, events: EventLog) -> None:
    """Write long.csv, where.csv, levels.csv, reasons.csv, variables.csv and read.R."""
    survey = portable(result, events)
    numbers = range(len(result) + 1)
    tables = {
        # The same texts as in levels.csv.
        "long.csv": answers_long(survey, numbers, (".imp", ".id"), codes_as_texts=True),
        "levels.csv": _levels(survey),
        "reasons.csv": reasons_long(survey, range(1), (".imp", ".id")).drop(".imp"),
        "variables.csv": _variables(survey),
    }
    for name, table in tables.items():
        harmless_frame(table, events).write_csv(folder / name, quote_style="non_numeric")
    _where(survey).write_csv(folder / "where.csv")
    write_text(folder / "read.R", _SCRIPT)


def _where(survey: PortableSurvey) -> pl.DataFrame:
    """Return 1 where a cell was imputed, columns as in the long table."""
    cells = survey.result.cells
    imputed = np.zeros(survey.result.table.shape, dtype=np.int8)
    imputed[cells.rows, cells.positions] = 1
    columns = {question.column.name: question for question in survey.questions}
    nothing = np.zeros(survey.n_rows, dtype=np.int8)
    return pl.DataFrame(
        [
            pl.Series(columns[name].name, imputed[:, columns[name].position])
            if name in columns
            else pl.Series(survey.others[name], nothing)
            for name in survey.survey.frame.columns
        ]
    )


def _levels(survey: PortableSurvey) -> pl.DataFrame:
    """Return the levels of categorical questions in their order, each with a unique label."""
    rows = []
    for question in survey.questions:
        column = question.column
        used: set[str] = set()
        for level in column.levels:
            code = str(plain(level))
            label = column.level_labels.get(level) or code
            # R would merge two levels with the same label.
            label = f"{label} ({code})" if label in used else label
            used.add(label)
            ordered = column.kind is ColumnKind.ORDINAL
            rows.append((question.name, code, label, "TRUE" if ordered else "FALSE"))
    schema = {"variable": pl.String, "code": pl.String, "label": pl.String, "ordered": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _variables(survey: PortableSurvey) -> pl.DataFrame:
    """Return every column's name here and in the survey, and the question's text."""
    names = {question.column.name: question.name for question in survey.questions} | survey.others
    labels = {column.name: column.label for column in survey.survey.schema}
    kinds = {column.name: column.kind.value for column in survey.survey.schema}
    return pl.DataFrame(
        [
            (names[name], name, kinds.get(name, ""), labels.get(name, ""))
            for name in survey.survey.frame.columns
        ],
        schema=["variable", "survey_name", "kind", "label"],
        orient="row",
    )
