"""Turn a form's conditions into routing rules of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from tabsoda._version import __version__
from tabsoda.questionnaire.answer_sets import (
    MOST_PATHS,
    Gate,
    Gates,
    Path,
    conjuncts,
    paths_where,
)
from tabsoda.questionnaire.columns import FormColumns
from tabsoda.questionnaire.counted_options import without_counts
from tabsoda.questionnaire.expressions import ExpressionError
from tabsoda.questionnaire.form import Answers, Form, Question, Untranslated
from tabsoda.schema.column import Column
from tabsoda.skips.rule_set import Provenance, RuleSet, time_stamp
from tabsoda.skips.rules import Condition, Decision, RuleStatus, SkipRule

_PART = "shown when"


@dataclass(frozen=True)
class FormRules:
    """The routing of a form.

    Attributes
    ----------
    rules : RuleSet
        Approved: the questionnaire gives them.
    untranslated : tuple of Untranslated
        Conditions that no rule stands for.
    """

    rules: RuleSet
    untranslated: tuple[Untranslated, ...]


def form_rules(
    form: Form, columns: Sequence[Column], found: FormColumns, n_rows: int = 0
) -> FormRules:
    """Return the rules that a form implies for the columns of the data.

    A question is skipped where any of the conditions under which it is shown is false. A gate that
    was itself skipped counts as an empty answer, as it does in the form. A gate that was asked and
    not answered leaves open where it would have led.

    Parameters
    ----------
    form : Form
    columns : sequence of Column
        The questions of the data.
    found : FormColumns
    n_rows : int
        Of the data, for the record.
    """
    translator = _Translator(form, {column.name: column for column in columns}, found)
    rules: list[SkipRule] = []
    for question in form.questions:
        any_of = translator.hidden(question)
        for name in found.of(question.name) if any_of else ():
            if name in translator.columns:
                rules.append(_given(f"q{len(rules) + 1:03d}", name, any_of, form, question))
    order = [name for question in form.questions for name in found.of(question.name)]
    place = {name: number for number, name in enumerate(order)}
    ordered = sorted(columns, key=lambda column: place.get(column.name, len(place)))
    origin = Provenance(form.source, n_rows, "questionnaire", __version__)
    return FormRules(RuleSet(tuple(rules), tuple(ordered), origin), tuple(translator.untranslated))


def _given(
    identifier: str,
    target: str,
    any_of: tuple[tuple[Condition, ...], ...],
    form: Form,
    question: Question,
) -> SkipRule:
    rule = SkipRule(
        identifier,
        target,
        any_of,
        status=RuleStatus.APPROVED,
        note=f"shown when {question.shown_text}",
    )
    return rule.signed(Decision("approved", f"questionnaire {form.source}", time_stamp()))


class _Translator:
    """Translates conditions one question at a time, and collects what it cannot translate."""

    def __init__(self, form: Form, columns: Mapping[str, Column], found: FormColumns) -> None:
        self.columns = columns
        self.untranslated: list[Untranslated] = []
        self._questions = {question.name: question for question in form.questions}
        self._order = {question.name: place for place, question in enumerate(form.questions)}
        self._found = found
        self._options = {
            name: tuple(question.options)
            for name, question in self._questions.items()
            if question.answers is Answers.SEVERAL
        }
        self._always_shown = {
            name for q in form.questions if not q.shown_text for name in found.of(q.name)
        }

    def hidden(self, question: Question) -> tuple[tuple[Condition, ...], ...]:
        """Return the conditions under which a question is not shown; empty if there are none."""
        found: list[tuple[Condition, ...]] = []
        for condition in conjuncts(question.shown_when):
            try:
                plain = without_counts(condition, self._options)
                own = paths_where(plain, self._gates(question), true=False)
                if {} in own:
                    raise ExpressionError("it is never true")
                found += [self._possible(one) for path in own for one in _conditions(path)]
            except ExpressionError as error:
                self._note(question, str(error))
        return _shortest([path for path in found if path])

    def _possible(self, path: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Drop the skip of a gate that is always shown; empty if the path needs it."""
        kept = tuple(
            replace(one, or_skipped=False) if one.column in self._always_shown else one
            for one in path
        )
        is_possible = all(one.asks_for_answer or one.reasons or one.or_skipped for one in kept)
        return kept if is_possible else ()

    def _note(self, question: Question, why: str) -> None:
        if self._found.of(question.name):
            self.untranslated.append(Untranslated(question.name, _PART, question.shown_text, why))

    def _gates(self, target: Question) -> Gates:
        def gate(name: str, option: str | None) -> Gate:
            question = self._questions.get(name)
            if question is None:
                raise ExpressionError(f"'{name}' is not a question of the form")
            if self._order[name] >= self._order[target.name]:
                raise ExpressionError(f"'{name}' is not asked before this question")
            return Gate(
                self._column(question, option),
                is_whole=question.answers is Answers.WHOLE,
                is_option=question.answers is Answers.SEVERAL,
            )

        return gate

    def _column(self, question: Question, option: str | None) -> Column:
        """Return the column of an option where options have columns, else of the question."""
        if question.answers is Answers.SEVERAL:
            own = self._found.options.get(question.name, {})
            if option is None:
                raise ExpressionError(f"'{question.name}' has several answers at once")
            if option not in own:
                raise ExpressionError(
                    f"the data have no column for option '{option}' of '{question.name}'"
                )
            name = own[option]
        elif question.name not in self._found.answers:
            raise ExpressionError(f"'{question.name}' is not in the data")
        else:
            name = self._found.answers[question.name]
        if name not in self.columns:
            raise ExpressionError(f"'{name}' is not described as a question of the data")
        return self.columns[name]


def _shortest(paths: Sequence[tuple[Condition, ...]]) -> tuple[tuple[Condition, ...], ...]:
    """Return paths without those that only add conditions to another one."""
    different = {frozenset(path): path for path in reversed(paths)}
    kept = [path for own, path in different.items() if not any(one < own for one in different)]
    return tuple(reversed(kept))


def _conditions(path: Path) -> list[tuple[Condition, ...]]:
    """Return a path as conditions; a number in two intervals makes two of it."""
    parts = [one.conditions() for one in path.values()]
    if math.prod(map(len, parts)) > MOST_PATHS:
        # Their number doubles with every number that must not have a certain value.
        raise ExpressionError(f"it has more than {MOST_PATHS} alternatives")
    return list(product(*parts))
