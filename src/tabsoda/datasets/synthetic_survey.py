"""Generate a survey whose true answers, routing and nonresponse are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.datasets import nonresponse as field
from tabsoda.datasets.answers import draw_answer, draw_factors
from tabsoda.datasets.questionnaire import questionnaire
from tabsoda.datasets.questions import SPECIAL_CODES, Question
from tabsoda.errors import InputError
from tabsoda.schema.column import Column, ColumnKind, ColumnRole, Reason
from tabsoda.schema.schema import Schema
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule
from tabsoda.states.cell_states import CellState, CellStates, reason_code
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    import polars as pl

# Register data, known for all; nonresponse may depend on them and still be MAR.
_DRIVERS = ("AGE", "EDUC")
_FIRST_BREAKOFF = 6


@dataclass(frozen=True, eq=False)
class SyntheticSurvey:
    """A generated survey and its true values. Arrays have shape (n_rows, n_columns).

    Attributes
    ----------
    columns : tuple of Column
    complete : ndarray of float64
        The answer of every cell that applies, before nonresponse; NaN at skips. Coded as in
        :class:`~tabsoda.table.CodedTable`.
    observed : ndarray of float64
        The values in the file: with nonresponse, breakoff and answers despite routing.
    skipped : ndarray of bool
        Where the routing skips a question, given the true answers.
    violations : ndarray of bool
        Skipped cells that were answered anyway.
    breakoff : ndarray of bool
        Cells after the point where a respondent stopped.
    reasons : ndarray of uint8
        Why an applicable cell is unanswered; see :class:`~tabsoda.states.CellStates`.
    rules : RuleSet
        The routing, one rule for each routed question.
    weight : ndarray of float64, shape (n_rows,)
        A survey weight.
    spelled_out : tuple of Reason
        The reasons that have their own code in the file.

    Examples
    --------
    >>> survey = make_survey(n_rows=500, seed=1)
    >>> survey.rules.sentences()[0]
    "PARTNER is skipped when MARITAL is 1 'Married'"
    >>> bool((survey.skipped & ~survey.violations == survey.true_table.states.skipped).all())
    True
    """

    columns: tuple[Column, ...]
    complete: NDArray[np.float64]
    observed: NDArray[np.float64]
    skipped: NDArray[np.bool_]
    violations: NDArray[np.bool_]
    breakoff: NDArray[np.bool_]
    reasons: NDArray[np.uint8]
    rules: RuleSet
    weight: NDArray[np.float64]
    spelled_out: tuple[Reason, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the questions."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def table(self) -> CodedTable:
        """The survey as read from the file: only reasons with a code are known."""
        answered = ~np.isnan(self.observed)
        has_code = np.isin(self.reasons, [reason_code(reason) for reason in self.spelled_out])
        if Reason.SKIP in self.spelled_out:
            skips = self.skipped & ~answered
        else:
            skips = np.zeros_like(answered)
        states = CellStates.from_masks(
            answered, skips, self.names, np.where(has_code, self.reasons, 0)
        )
        return CodedTable(self.columns, self.observed, states)

    @cached_property
    def true_table(self) -> CodedTable:
        """The same answers with every reason known; answers given despite routing are kept."""
        answered = ~np.isnan(self.observed)
        states = CellStates.from_masks(answered, self.skipped & ~answered, self.names, self.reasons)
        return CodedTable(self.columns, self.observed, states)

    @cached_property
    def complete_table(self) -> CodedTable:
        """All true answers; only skipped cells are unanswered."""
        return CodedTable.from_values(self.columns, self.complete, self.skipped)

    def schema(self) -> Schema:
        """Describe the file: the questions, after a case number and before a weight."""
        case = Column("CASEID", ColumnKind.CONTINUOUS, label="Case number", role=ColumnRole.ID)
        weight = Column(
            "FINALWGT", ColumnKind.CONTINUOUS, label="Survey weight", role=ColumnRole.WEIGHT
        )
        return Schema((case, *self.columns, weight))

    def to_frame(self) -> pl.DataFrame:
        """Return the file's content as a polars frame: codes as published, blanks as null."""
        import polars as pl

        series = [pl.Series("CASEID", np.arange(1, self.observed.shape[0] + 1))]
        states = self.table.states
        for position, column in enumerate(self.columns):
            coded = self.observed[:, position].copy()
            if column.is_categorical:
                answered = ~np.isnan(coded)
                levels = np.array(column.levels, dtype=np.float64)
                coded[answered] = levels[coded[answered].astype(np.intp)]
            for code, reason in column.special_codes.items():
                coded[states.reasons[:, position] == reason_code(reason)] = code
            numbers = pl.Series(column.name, coded, nan_to_null=True)
            whole = not np.any(coded[~np.isnan(coded)] % 1)
            series.append(numbers.cast(pl.Int64) if whole else numbers)
        return pl.DataFrame([*series, pl.Series("FINALWGT", self.weight)])

    def skip_frame(self) -> pl.DataFrame:
        """Return the true skip mask as a polars frame of booleans, one column per question."""
        import polars as pl

        mask = self.true_table.states.skipped
        return pl.DataFrame({name: mask[:, p] for p, name in enumerate(self.names)})

    def write(self, folder: str | Path, formats: tuple[str, ...] = ("csv",)) -> tuple[Path, ...]:
        """Write ``survey.<format>`` (csv, parquet, sav), ``survey.toml`` and ``skip.parquet``."""
        from tabsoda.datasets.survey_files import write_survey

        return write_survey(self, Path(folder), formats)


def make_survey(
    n_rows: int = 2000,
    n_columns: int | None = None,
    seed: int = 0,
    *,
    nonresponse: float = 0.04,
    breakoff: float = 0.03,
    violations: float = 0.002,
    spelled_out: tuple[Reason, ...] = (),
    questionnaire_seed: int | None = None,
) -> SyntheticSurvey:
    """Make a survey.

    Parameters
    ----------
    n_rows : int
        Respondents.
    n_columns : int, optional
        Questions, 10 to 300; by default the questionnaire as written.
    seed : int
        The same seed gives the same survey. A shorter questionnaire gives the same answers to the
        questions it keeps.
    nonresponse : float
        Approximate share of applicable items left unanswered.
    breakoff : float
        Share of respondents who break off.
    violations : float
        Share of skipped cells that are answered anyway.
    spelled_out : tuple of Reason
        Reasons with a code in the file, among refused, don't know and skip; the others are blank.
    questionnaire_seed : int, optional
        Fix it to generate other respondents (another ``seed``) with the same questionnaire.

    Returns
    -------
    SyntheticSurvey

    Examples
    --------
    >>> make_survey(n_rows=100, n_columns=57).complete.shape
    (100, 57)
    """
    _check_arguments(n_rows, nonresponse, breakoff, violations, spelled_out)
    form = seed if questionnaire_seed is None else questionnaire_seed
    questions = questionnaire(n_columns, form)
    columns = tuple(question.column(spelled_out) for question in questions)
    rules = _planted_rules(questions, columns)
    answers = _all_answers(questions, n_rows, seed, form)
    complete, skipped = _route(columns, rules, answers)

    names = [question.name for question in questions]
    drivers = complete[:, [names.index(name) for name in _DRIVERS]]
    drivers = (drivers - drivers.mean(axis=0)) / np.maximum(drivers.std(axis=0), 1e-9)
    silent = field.item_nonresponse(
        questions,
        drivers,
        nonresponse,
        numpy_generator(form, "nonresponse"),
        numpy_generator(seed, "nonresponse of people"),
    )
    shape = (n_rows, len(columns))
    left = field.breakoff(shape, _FIRST_BREAKOFF, breakoff, numpy_generator(seed, "breakoff"))
    luck = numpy_generator(seed, "violations").random(shape, dtype=np.float32)
    strays = skipped & ~left & (luck < violations)
    observed = np.where(strays, answers, np.where(silent | left, np.nan, complete))
    given = field.reasons_given(shape, numpy_generator(seed, "reasons"))
    reasons = np.where(np.isnan(observed) & ~skipped, given, 0).astype(np.uint8)
    reasons[left & (reasons > 0)] = reason_code(Reason.BLANK)
    reasons[skipped & ~strays] = reason_code(Reason.SKIP)
    weight = np.round(numpy_generator(seed, "weight").gamma(4.0, 0.25, size=n_rows) + 0.05, 4)
    for array in (complete, observed, skipped, strays, left, reasons, weight):
        array.setflags(write=False)
    return SyntheticSurvey(
        columns, complete, observed, skipped, strays, left, reasons, rules, weight, spelled_out
    )


def _all_answers(
    questions: tuple[Question, ...], n_rows: int, seed: int, form: int
) -> NDArray[np.float64]:
    """Generate every answer of every respondent, asked or not; shape (n_rows, n_columns)."""
    factors = draw_factors(n_rows, numpy_generator(seed, "factors"))
    answers = np.empty((n_rows, len(questions)))
    for position, question in enumerate(questions):
        answers[:, position] = draw_answer(
            question,
            factors,
            numpy_generator(form, "question", question.name),
            numpy_generator(seed, "answer", question.name),
        )
    return answers


def _planted_rules(questions: tuple[Question, ...], columns: tuple[Column, ...]) -> RuleSet:
    """Return the routing specified with the questions, as approved rules."""
    rules = (
        SkipRule(f"planted-{q.name}", q.name, q.skipped_if, status=RuleStatus.APPROVED)
        for q in questions
        if q.skipped_if
    )
    return RuleSet(tuple(rules), columns)


def _route(
    columns: tuple[Column, ...], rules: RuleSet, answers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Route every respondent through the questionnaire; return applicable answers and skips."""
    complete, skipped = answers.copy(), np.zeros(answers.shape, dtype=bool)
    positions = {column.name: position for position, column in enumerate(columns)}

    def holds(condition: Condition) -> NDArray[np.bool_]:
        # Gates precede targets, so it is already known whether the gate itself was skipped.
        gate = positions[condition.column]
        states = np.where(skipped[:, gate], CellState.SKIPPED, CellState.ANSWERED).astype(np.uint8)
        nothing_missing = np.zeros_like(states)
        return condition.holds_for(columns[gate], complete[:, gate], states, nothing_missing)

    for rule in rules:
        target = positions[rule.target]
        skipped[:, target] = rule.fires_where(holds)
        complete[skipped[:, target], target] = np.nan
    return complete, skipped


def _check_arguments(
    n_rows: int, nonresponse: float, breakoff: float, violations: float, reasons: tuple[Reason, ...]
) -> None:
    if n_rows < 1:
        raise InputError(
            "The survey has too few respondents", found=f"{n_rows} rows", expected="1 or more"
        )
    rates = {"nonresponse": nonresponse, "breakoff": breakoff, "violations": violations}
    for name, rate in rates.items():
        if not 0 <= rate < 1:
            raise InputError(
                f"The share '{name}' is out of range", found=str(rate), expected="0 to below 1"
            )
    for reason in reasons:
        if reason not in SPECIAL_CODES:
            raise InputError(
                "That reason has no code in the embedded survey",
                found=str(reason),
                expected=f"one of {', '.join(SPECIAL_CODES)}",
            )
