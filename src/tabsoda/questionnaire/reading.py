"""Read a questionnaire form, and a survey file that was collected with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tabsoda.errors import InputError
from tabsoda.questionnaire.columns import FormColumns, find_columns, form_hints, undivided_options
from tabsoda.questionnaire.constraints import with_form_edits
from tabsoda.questionnaire.ddi import read_ddi
from tabsoda.questionnaire.form import Answers, Form, Untranslated
from tabsoda.questionnaire.qualtrics import read_qsf
from tabsoda.questionnaire.rules import form_rules
from tabsoda.questionnaire.xlsform import read_xlsform
from tabsoda.reading import read_survey
from tabsoda.reading.excel import ENDINGS as EXCEL_ENDINGS
from tabsoda.skips.rule_set import RuleSet
from tabsoda.survey import Survey

_ENDINGS = (*EXCEL_ENDINGS, ".qsf", ".xml")


@dataclass(frozen=True, eq=False)
class SurveyWithForm:
    """A survey, and what its form says of it.

    Attributes
    ----------
    survey : Survey
        Described with the form's texts, options and constraints; its rules are not applied.
    form : Form
    columns : FormColumns
        Which column holds which answer.
    rules : RuleSet
        The form's routing, approved.
    untranslated : tuple of Untranslated
        What the form says and neither a rule nor an edit does.
    """

    survey: Survey
    form: Form
    columns: FormColumns
    rules: RuleSet
    untranslated: tuple[Untranslated, ...]

    @property
    def absent(self) -> tuple[str, ...]:
        """Questions of the form without a column in the data."""
        return tuple(q.name for q in self.form.questions if not self.columns.of(q.name))


def read_form(path: str | Path) -> Form:
    """Read a questionnaire form.

    Parameters
    ----------
    path : str or Path
        An XLSForm (ODK, KoboToolbox, SurveyCTO), a Qualtrics survey (.qsf) or a DDI codebook
        (.xml).
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"The form '{path}' does not exist", next_step="Check the path")
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(
            f"The form '{path.name}' has an unknown extension",
            found=ending or "no extension",
            expected=", ".join(_ENDINGS),
            next_step="Give an XLSForm workbook, a Qualtrics survey or a DDI codebook",
        )
    readers = {".qsf": read_qsf, ".xml": read_ddi}
    return readers.get(ending, read_xlsform)(path)


def read_survey_with_form(
    source: Any, form: str | Path | Form, description: Any = None, *, unlisted: str = "error"
) -> SurveyWithForm:
    """Read a survey file with the form that it was collected with.

    Labels, options and kinds of numbers come from the form; so do bounds and edits, and the routing
    rules, which need no mining and no review.

    Parameters
    ----------
    source : path or frame
        As in :func:`tabsoda.read_survey`.
    form : path or Form
    description : Schema, path or None
        A description that has priority over the form.
    unlisted : {"error", "missing"}
        As in :func:`tabsoda.read_survey`.
    """
    chosen = form if isinstance(form, Form) else read_form(form)
    survey = read_survey(
        source,
        description,
        codebook=partial(form_hints, chosen),
        unlisted=unlisted,
        several=partial(undivided_options, chosen),
    )
    chosen = _with_whole_numbers(chosen, survey)
    columns = find_columns(chosen, survey.frame.columns)
    edited = with_form_edits(chosen, survey.schema, columns)
    table = replace(survey.table, columns=edited.schema.questions)
    survey = replace(survey, schema=edited.schema, table=table)
    found = form_rules(chosen, survey.table.columns, columns, survey.table.shape[0])
    undivided = tuple(
        Untranslated(
            question.name,
            "answers",
            "select_multiple",
            "its answers are in one column, and none of the form's options is in its cells",
        )
        for question in chosen.questions
        if question.answers is Answers.SEVERAL
        and question.name in columns.answers
        and question.name not in columns.options
    )
    left = (*chosen.untranslated, *undivided, *found.untranslated, *edited.untranslated)
    return SurveyWithForm(survey, chosen, columns, found.rules, left)


def _with_whole_numbers(form: Form, survey: Survey) -> Form:
    """Return the form with numbers as whole if all their answers are; codebooks do not say it."""
    if not form.hints:
        return form
    values, names = survey.table.values, survey.table.names
    whole = {n for n, v in zip(names, values.T, strict=True) if np.all(np.isnan(v) | (v % 1 == 0))}
    questions = tuple(
        replace(one, answers=Answers.WHOLE)
        if one.answers is Answers.NUMBER and one.name in whole
        else one
        for one in form.questions
    )
    return replace(form, questions=questions)
