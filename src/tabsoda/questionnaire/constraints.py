"""Turn a form's constraints into bounds and edits of the survey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tabsoda.edits.expression import Expression as EditExpression
from tabsoda.edits.parsing import Source
from tabsoda.errors import InputError
from tabsoda.questionnaire.answer_sets import chosen_levels, conjuncts, never_chosen, plain_value
from tabsoda.questionnaire.columns import FormColumns
from tabsoda.questionnaire.expressions import (
    Call,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Reference,
)
from tabsoda.questionnaire.form import Answers, Form, Question, Untranslated
from tabsoda.schema.codes import CodeBook, as_number, plain
from tabsoda.schema.column import Column, ColumnRole
from tabsoda.schema.edit import Edit
from tabsoda.schema.schema import Schema

_PART = "constraint"
_WORDS = {"=": "==", "div": "/", "mod": "%"}
_TRANSLATED = {"and", "or", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "div", "mod"}


@dataclass(frozen=True)
class FormEdits:
    """The constraints of a form.

    Attributes
    ----------
    schema : Schema
        With bounds and edits added.
    untranslated : tuple of Untranslated
    """

    schema: Schema
    untranslated: tuple[Untranslated, ...]


def with_form_edits(form: Form, schema: Schema, found: FormColumns) -> FormEdits:
    """Add what a form demands of answers to a description.

    Comparisons of a number with a value become its minimum or maximum, everything else an edit.
    Bounds that the description has already stay as they are.

    Parameters
    ----------
    form : Form
    schema : Schema
        Of the data.
    found : FormColumns
    """
    columns = {column.name: column for column in schema}
    edits: list[Edit] = []
    untranslated: list[Untranslated] = []
    several = [one for one in form.questions if one.answers is Answers.SEVERAL]
    codes = {question.name: tuple(question.options) for question in several}
    for question in form.questions:
        if question.constraint is None or not found.of(question.name):
            continue
        # A question with a column for every option has no column of its own.
        name = "" if question.name in found.options else found.answers[question.name]
        for part in conjuncts((question.constraint,)):
            try:
                bounded = _with_bound(columns[name], question, part) if name in columns else None
                if bounded is not None:
                    columns[name] = bounded
                    continue
                rule = _checked(_Writer(question, columns, found, codes).text(part), columns)
                if rule:
                    edits.append(Edit(rule, label=f"{form.source}: {question.constraint_text}"))
            except (ExpressionError, InputError) as error:
                untranslated.append(
                    Untranslated(question.name, _PART, question.constraint_text, str(error))
                )
    changed = replace(
        schema,
        columns=tuple(columns[column.name] for column in schema),
        edits=(*schema.edits, *edits),
    )
    return FormEdits(changed, tuple(untranslated))


def _checked(rule: str, columns: Mapping[str, Column]) -> str:
    """Return a rule that can be read back; empty if it holds whatever the answers are."""
    questions = {n: one for n, one in columns.items() if one.role is ColumnRole.QUESTION}
    try:
        parsed = EditExpression.of(Source("The edit", rule), questions, condition=True)
    except InputError as error:
        raise ExpressionError(error.found or error.problem) from error
    if parsed.names:
        return rule
    if (parsed.evaluate({}) != 1).any():
        raise ExpressionError("it is never true")
    return ""


def _with_bound(column: Column, question: Question, part: Expression) -> Column | None:
    """Return the column with the bound that a comparison states; None if it states none."""
    if column.is_categorical or not isinstance(part, Operation) or part.left != Reference("."):
        return None
    value = plain_value(part.right)
    if not isinstance(value, float):
        return None
    sign = part.operator
    if question.answers is Answers.WHOLE and sign in ("<", ">") and value == int(value):
        sign, value = f"{sign}=", value - 1 if sign == "<" else value + 1
    if sign == ">=" and column.minimum is None:
        return replace(column, minimum=value)
    if sign == "<=" and column.maximum is None:
        return replace(column, maximum=value)
    return None


class _Writer:
    """Writes expressions in the language of edits."""

    def __init__(
        self,
        question: Question,
        columns: Mapping[str, Column],
        found: FormColumns,
        codes: Mapping[str, Sequence[str]],
    ) -> None:
        self._question = question
        self._columns = columns
        self._found = found
        self._codes = codes

    def text(self, expression: Expression) -> str:
        """Return an expression as the text of an edit."""
        if isinstance(expression, Literal):
            value = expression.value
            return repr(value) if isinstance(value, str) else f"{value:.15g}"
        if isinstance(expression, Reference):
            return self._name(expression)
        if isinstance(expression, Call):
            return self._call(expression)
        if expression.operator not in _TRANSLATED:
            raise ExpressionError(f"'{expression.operator}' is not translated")
        left, right = expression.left, expression.right
        if Literal("") in (left, right) and expression.operator in ("=", "!="):
            # Whether there is an answer; edits say nothing of blanks.
            return f"(1 {_WORDS.get(expression.operator, expression.operator)} 0)"
        sides = [self._side(left, right), self._side(right, left)]
        return f"({sides[0]} {_WORDS.get(expression.operator, expression.operator)} {sides[1]})"

    def _side(self, expression: Expression, other: Expression) -> str:
        """Write one side of an operation; a code is spelled as the other side's column has it."""
        if isinstance(expression, Literal) and isinstance(other, Reference):
            column = self._columns.get(self._column(other))
            number = as_number(expression.value)
            if column is not None and not column.is_categorical and number is not None:
                return f"{number:.15g}"
            code = column and CodeBook(column.levels).find(expression.value)
            if code is not None and code != "":
                return repr(code)
        return self.text(expression)

    def _call(self, call: Call) -> str:
        if call.function == "not" and len(call.arguments) == 1:
            return f"(not {self.text(call.arguments[0])})"
        if call.function == "selected" and len(call.arguments) == 2:
            question, code = call.arguments
            if isinstance(question, Reference) and isinstance(code, Literal):
                return self._selected(question, str(plain(code.value)))
        if call.function == "count-selected" and len(call.arguments) == 1:
            return self._count(call.arguments[0])
        if call.function == "if" and len(call.arguments) == 3:
            condition, then, otherwise = map(self.text, call.arguments)
            return f"((not {condition} or {then}) and ({condition} or {otherwise}))"
        if call.function in ("true", "false") and not call.arguments:
            return f"(1 == {int(call.function == 'true')})"
        raise ExpressionError(f"the function {call.function}() is not translated")

    def _selected(self, reference: Reference, code: str) -> str:
        name = self._question.name if reference.name == "." else reference.name
        options = self._found.options.get(name)
        if options is None:
            return self.text(Operation("=", reference, Literal(code)))
        column = self._columns.get(options.get(code, ""))
        chosen = () if column is None else chosen_levels(column)
        if column is not None and never_chosen(column):
            return "(1 == 0)"
        if column is None or not chosen:
            raise ExpressionError(f"the data have no column for option '{code}' of '{name}'")
        return f"({_quoted(column.name)} == {chosen[0]!r})"

    def _count(self, question: Expression) -> str:
        """Return the number of options that were chosen, as a formula."""
        name = question.name if isinstance(question, Reference) else ""
        name = self._question.name if name == "." else name
        codes = self._codes.get(name)
        if not codes:
            raise ExpressionError("count-selected() needs a question with several answers")
        chosen = (self._selected(Reference(name), code) for code in codes)
        return f"count({', '.join(chosen)})"

    def _name(self, reference: Reference) -> str:
        return _quoted(self._column(reference))

    def _column(self, reference: Reference) -> str:
        name = self._question.name if reference.name == "." else reference.name
        column = self._found.answers.get(name)
        if column is None or column not in self._columns:
            raise ExpressionError(f"'{name}' is not in the data")
        if self._columns[column].role is not ColumnRole.QUESTION:
            raise ExpressionError(f"'{column}' is not described as a question of the data")
        return column


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"
