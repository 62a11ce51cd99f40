"""Find the columns of the data that hold the answers to a form's questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tabsoda.errors import InputError
from tabsoda.questionnaire.form import Answers, Form, Question
from tabsoda.schema.codes import numeric_if_possible
from tabsoda.schema.hints import ColumnHints

# Between groups, questions and options in the column names of ODK, KoboToolbox and SurveyCTO.
_SEPARATORS = ("/", ".", ":", "-", "_")
OF_GROUPS = ("/", ".", ":", "-")


@dataclass
class FormColumns:
    """Which column holds which answer.

    Attributes
    ----------
    answers : dict of str to str
        Column by question.
    options : dict of str to dict of str to str
        For questions that allow several answers: column by option code, by question.
    """

    answers: dict[str, str] = field(default_factory=dict)
    options: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, question: str) -> list[str]:
        """Return all columns of a question: its options', or its own."""
        if question in self.options:
            return list(self.options[question].values())
        return [self.answers[question]] if question in self.answers else []


def find_columns(form: Form, names: Sequence[str]) -> FormColumns:
    """Find the columns of every question of a form.

    A column is a question's if it has its name, or its name after the names of its groups
    (``household/age``), or its name after anything else, if there is only one such column. The
    columns of options have the option's code after the question's name: ``drinks/beer``.

    Parameters
    ----------
    form : Form
    names : sequence of str
        Of the data's columns.
    """
    found = FormColumns()
    taken: set[str] = set()
    for question in form.questions:
        if question.answers is Answers.SEVERAL:
            columns = _option_columns(question, [n for n in names if n not in taken])
            if columns:
                found.options[question.name] = columns
                taken |= set(columns.values())
        name = _own_column(question, names, taken)
        if name is not None:
            found.answers[question.name] = name
            taken.add(name)
    return found


def form_hints(form: Form, names: Sequence[str]) -> dict[str, ColumnHints]:
    """Return what a form says of the data's columns, by column name.

    Parameters
    ----------
    form : Form
    names : sequence of str
    """
    columns = find_columns(form, names)
    if not (columns.answers or columns.options):
        asked = ", ".join(question.name for question in form.questions[:5])
        raise InputError(
            f"The form '{form.source}' has no question whose answers are in the data",
            found=f"the questions {asked}",
            expected=f"names of columns, such as {', '.join(names[:5])}",
            next_step="Check that form and data are of the same survey",
        )
    if form.hints:
        return {name: form.hints[name] for name in names if name in form.hints}
    hints = {}
    for question in form.questions:
        name = columns.answers.get(question.name)
        if name is not None:
            hints[name] = _hints(question)
        for code, name in columns.options.get(question.name, {}).items():
            label = ": ".join(filter(None, (question.label, question.options[code] or code)))
            hints[name] = ColumnHints(label, measure="nominal", universe=question.shown_text)
    return hints


def undivided_options(form: Form, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the options of questions whose several answers are in one column, by column.

    Parameters
    ----------
    form : Form
    names : sequence of str
        Of the data's columns.
    """
    found = find_columns(form, names)
    return {
        found.answers[question.name]: list(question.options)
        for question in form.questions
        if question.answers is Answers.SEVERAL
        and question.options
        and question.name in found.answers
        and question.name not in found.options
    }


def _hints(question: Question) -> ColumnHints:
    labels = {}
    if question.answers is Answers.ONE:
        labels = {numeric_if_possible(code): text for code, text in question.options.items()}
    measure = "scale" if question.answers in (Answers.WHOLE, Answers.NUMBER) else ""
    return ColumnHints(question.label, labels, measure, universe=question.shown_text)


def _own_column(question: Question, names: Sequence[str], taken: set[str]) -> str | None:
    if question.name in names:
        return question.name
    for separator in OF_GROUPS:
        path = separator.join((*question.groups, question.name))
        if path in names:
            return path
    ends = [n for n in names if n not in taken and _ends_with(n, question.name)]
    ends = ends or [n for n in question.other_names if n in names and n not in taken][:1]
    return ends[0] if len(ends) == 1 else None


def _option_columns(question: Question, names: Sequence[str]) -> dict[str, str]:
    """Return the columns of options by their codes, as the spelling has them that finds most."""
    found: dict[str, str] = {}
    for spelled in ({}, question.other_codes):
        for asked in (question.name, *question.other_names):
            columns = {
                code: name
                for code in question.options
                if (name := _option_column(asked, spelled.get(code, code), names)) is not None
            }
            found = columns if len(columns) > len(found) else found
    return found


def _option_column(asked: str, code: str, names: Sequence[str]) -> str | None:
    # SurveyCTO writes -99 as _99.
    codes = dict.fromkeys((code, code.replace("-", "_")))
    ends = [f"{asked}{separator}{text}" for text in codes for separator in _SEPARATORS]
    for end in ends:
        matches = [name for name in names if name == end or _ends_with(name, end)]
        if len(matches) == 1:
            return matches[0]
    return None


def _ends_with(name: str, end: str) -> bool:
    return any(name.endswith(f"{separator}{end}") for separator in OF_GROUPS)
