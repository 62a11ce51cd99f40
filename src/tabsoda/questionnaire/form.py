"""A questionnaire as its form defines it: questions, options, and when each question is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tabsoda.questionnaire.expressions import Expression
from tabsoda.schema.hints import ColumnHints


class Answers(StrEnum):
    """The kind of answers that a question of a form takes."""

    ONE = "one of the options"
    SEVERAL = "any of the options"
    WHOLE = "a whole number"
    NUMBER = "a number"
    OTHER = "a text, a date or something else"


@dataclass(frozen=True)
class Question:
    """One question of a form.

    Attributes
    ----------
    name : str
    answers : Answers
    groups : tuple of str
        The groups that contain it, outermost first; exports use them in column names.
    label : str
    options : dict of str to str
        Code to label, in the order of the form.
    shown_when : tuple of Expression
        All must be true for the question to be shown; empty if it is always shown.
    shown_text : str
        The same as the form writes it.
    constraint : Expression or None
        What an answer must fulfil; the question itself is the reference ``"."``.
    constraint_text : str
    other_names : tuple of str
        Names that some exports give the question; the first that the data have counts.
    other_codes : dict of str to str
        What some exports write instead of an option's code in the names of columns, by code.
    """

    name: str
    answers: Answers
    groups: tuple[str, ...] = ()
    label: str = ""
    options: dict[str, str] = field(default_factory=dict)
    shown_when: tuple[Expression, ...] = ()
    shown_text: str = ""
    constraint: Expression | None = None
    constraint_text: str = ""
    other_names: tuple[str, ...] = ()
    other_codes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Untranslated:
    """A part of a form that could not be turned into a rule or an edit.

    Attributes
    ----------
    question : str
    part : str
        ``"shown when"``, ``"constraint"`` or ``"answers"``.
    text : str
        As the form writes it.
    why : str
    """

    question: str
    part: str
    text: str
    why: str


@dataclass(frozen=True)
class Form:
    """A questionnaire.

    Attributes
    ----------
    source : str
        The name of its file.
    kind : str
        ``"XLSForm"``, ``"Qualtrics"`` or ``"DDI codebook"``.
    questions : tuple of Question
        In the order of the form.
    untranslated : tuple of Untranslated
        Expressions that could not be parsed.
    hints : dict of str to ColumnHints
        By column, what a codebook says of it beyond its question.
    """

    source: str
    kind: str
    questions: tuple[Question, ...]
    untranslated: tuple[Untranslated, ...] = ()
    hints: dict[str, ColumnHints] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Question:
        for question in self.questions:
            if question.name == name:
                return question
        raise KeyError(name)
