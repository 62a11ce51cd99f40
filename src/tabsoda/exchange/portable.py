"""A result as numbers with labels, for Stata, SPSS and SAS.

Those programs can only impute and label numbers: questions whose levels are texts become 1, 2, ...
in the order of the description, and their texts become labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.exchange.names import NameRule, name_map
from tabsoda.schema.codes import as_number, plain
from tabsoda.schema.column import Column, ColumnKind, Reason
from tabsoda.states.cell_states import reason_code
from tabsoda.survey import Survey

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

REASON_LABELS = {
    Reason.SKIP: "Not applicable (skip)",
    Reason.REFUSED: "Refused",
    Reason.DONT_KNOW: "Don't know",
    Reason.BLANK: "No answer",
    Reason.OTHER: "Missing for another reason",
}


@dataclass(frozen=True, eq=False)
class PortableColumn:
    """One question as numbers.

    Attributes
    ----------
    column : Column
        The description of the question.
    name : str
        Its name in the program.
    position : int
        Its position among the questions.
    numbers : ndarray of float64 or None
        The number of each level; None if answers are already numbers.
    labels : dict of float to str
        Texts of the answers' numbers.
    """

    column: Column
    name: str
    position: int
    numbers: NDArray[np.float64] | None
    labels: dict[float, str]

    @property
    def measure(self) -> str:
        """The scale, in the words of SPSS."""
        return "scale" if self.column.kind is ColumnKind.CONTINUOUS else self.column.kind.value

    def answers(self, coded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coded values as the program's numbers, NaN where there is no answer."""
        if self.numbers is None:
            return coded
        levels = np.append(self.numbers, np.nan)
        return np.asarray(levels[np.where(np.isnan(coded), -1, coded).astype(np.int64)])


@dataclass(frozen=True, eq=False)
class PortableSurvey:
    """A result ready to be written for a program.

    Attributes
    ----------
    result : Imputations
    survey : Survey
    questions : tuple of PortableColumn
    others : dict of str to str
        Columns that are not questions, and their names in the program.
    events : EventLog
    """

    result: Imputations
    survey: Survey
    questions: tuple[PortableColumn, ...]
    others: dict[str, str]
    events: EventLog = field(default_factory=EventLog)

    @classmethod
    def of(
        cls,
        result: Imputations,
        rule: NameRule,
        events: EventLog,
        taken: tuple[str, ...] = (),
        *,
        keeps_texts: bool = False,
    ) -> PortableSurvey:
        """Choose names and numbers; changes are logged as events.

        Parameters
        ----------
        result : Imputations
        rule : NameRule
        events : EventLog
        taken : tuple of str
            Names reserved by the export.
        keeps_texts : bool
            Whether text levels are written as texts; their numbers are then not used.
        """
        survey = require_survey(result)
        names = name_map(survey.frame.columns, rule, events, taken)
        questions = tuple(
            _portable(column, names[column.name], position, EventLog() if keeps_texts else events)
            for position, column in enumerate(result.table.columns)
        )
        asked = set(result.table.names)
        others = {name: new for name, new in names.items() if name not in asked}
        return cls(result, survey, questions, others, events)

    @property
    def n_rows(self) -> int:
        """Rows of one table."""
        return self.result.table.shape[0]

    @property
    def imputed(self) -> list[PortableColumn]:
        """The questions with at least one imputed cell."""
        counts = self.result.counts()
        return [question for question in self.questions if counts[question.column.name]]

    def values(self, number: int) -> NDArray[np.float64]:
        """Return coded values of draw ``number``, or the observed values for 0; shape (n, d)."""
        return self.result.table.values if number == 0 else self.result.values(number)

    def reasons(self, number: int) -> NDArray[np.uint8]:
        """Return the reasons of cells in a draw, as in ``CellStates.reasons``; shape (n, d)."""
        reasons = self.result.table.states.reasons.copy()
        if number:
            reasons[~np.isnan(self.values(number))] = 0
            reasons[self.result.skipped_in(number)] = reason_code(Reason.SKIP)
        return reasons

    def other_columns(self) -> list[tuple[str, pl.Series]]:
        """Return columns that are not questions as numbers or texts, by the program's names."""
        return [(new, _plain_series(self.survey.frame[name])) for name, new in self.others.items()]

    def level_labels_of_others(self) -> dict[str, dict[float, str]]:
        """Return labels of numbers in columns that are not questions, by the program's names."""
        found = {}
        for name, new in self.others.items():
            is_numeric = self.survey.frame[name].dtype.is_numeric()
            if name in self.survey.schema and is_numeric:
                labels = self.survey.schema[name].level_labels
                found[new] = {
                    number: text
                    for code, text in labels.items()
                    if (number := as_number(code)) is not None
                }
        return found

    def labels_of_others(self) -> dict[str, str]:
        """Return the texts of columns that are not questions, by the program's names."""
        known = {column.name: column.label for column in self.survey.schema}
        return {new: known.get(name, "") for name, new in self.others.items()}


def require_survey(result: Imputations) -> Survey:
    """Return the survey a result came from, or raise."""
    if result.survey is None:
        raise InputError(
            "A result of a plain array has no names and labels to export",
            next_step="Impute a data frame or a file, or write the arrays of complete() yourself",
        )
    if not len(result):
        raise InputError(
            "There is no imputation to export",
            found="only point estimates",
            next_step="Draw some: -m 5 on the command line, m=5 in Python",
        )
    return result.survey


def _portable(column: Column, name: str, position: int, events: EventLog) -> PortableColumn:
    if not column.is_categorical:
        labels = {
            number: text
            for code, text in column.level_labels.items()
            if code not in column.special_codes and (number := as_number(code)) is not None
        }
        return PortableColumn(column, name, position, None, labels)
    texts = [str(plain(level)) for level in column.levels]
    if any(isinstance(level, str) for level in column.levels):
        numbers = np.arange(1.0, column.n_levels + 1)
        events.add("texts_written_as_numbers", column=column.name, levels=column.n_levels)
        labels = {
            float(number): column.level_labels.get(level) or text
            for number, level, text in zip(numbers, column.levels, texts, strict=True)
        }
    else:
        numbers = np.array(column.levels, dtype=np.float64)
        labels = {
            float(number): column.level_labels[level]
            for number, level in zip(numbers, column.levels, strict=True)
            if column.level_labels.get(level)
        }
    return PortableColumn(column, name, position, numbers, labels)


def _plain_series(series: pl.Series) -> pl.Series:
    """Return a series as numbers or texts; dates are written as texts."""
    kind = series.dtype
    if kind == pl.Boolean or kind.is_integer() or kind.is_decimal() or kind == pl.Float32:
        return series.cast(pl.Float64)
    if kind == pl.Null:
        return series.cast(pl.Float64)
    return series if kind in (pl.Float64, pl.String) else series.cast(pl.String)
