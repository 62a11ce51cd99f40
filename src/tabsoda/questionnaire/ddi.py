"""Read DDI codebooks as questionnaires: who was asked each question, as far as it is a condition.

Conditions stand in ``universe``, in the texts before a question and for interviewers (``preQTxt``,
``ivuInstr``), or in ``notes`` as an XPath of the form. "If Q12 = 2 go to Q15" after a question
hides the questions between.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tabsoda.questionnaire.expressions import (
    Expression,
    ExpressionError,
    negated,
    parse_xpath,
)
from tabsoda.questionnaire.form import Answers, Form, Question, Untranslated
from tabsoda.questionnaire.universe_text import LONGEST, Known, is_everybody, parse_condition
from tabsoda.reading.codebook import children_of, codebook_variables, hints_of, text_of

_PART, _JUMP = "shown when", "go to"
_GO_TO = re.compile(
    r"^\s*(?:if\s+)?(?P<when>.+?),?\s*(?:then\s+)?(?:go|skip|jump)\s+to\s+(?P<to>[\w.]+)[\s.]*$",
    re.IGNORECASE,
)
# Instructions are conditions only if they say so.
_ASKS = re.compile(r"\b(?:ask|asked|if|filter|universe|skip|go to)\b", re.IGNORECASE)
# Parts of a form that do not say when a question is shown.
_OTHER_NOTE = re.compile(r"constraint|calculat|choice|default|required|read.?only|repeat|trigger")
_WORD = re.compile(r"[^\W\d]\w*(?:\.\w+)*")


def read_ddi(path: Path) -> Form:
    """Read the variables of a DDI-Codebook (2.x), in their order.

    Parameters
    ----------
    path : Path
    """
    variables = codebook_variables(path)
    hints = {variable.get("name"): hints_of(variable) for variable in variables}
    known = Known(
        _names(variables),
        {name: _codes(one.level_labels) for name, one in hints.items()},
        {
            v.get("name"): frozenset(map(str, hints[v.get("name")].level_labels))
            for v in variables
            if v.get("intrvl") != "contin"
        },
    )
    reader = _Reader(known, {name: place for place, name in enumerate(hints)})
    for variable in variables:
        reader.read(variable)
    return Form(
        path.name, "DDI codebook", reader.questions(), tuple(reader.untranslated), hints=hints
    )


@dataclass
class _Reader:
    """Collects the conditions of all variables."""

    known: Known
    order: dict[str, int]
    found: dict[str, Question] = field(default_factory=dict)
    hidden: dict[str, list[tuple[Expression, str]]] = field(default_factory=dict)
    untranslated: list[Untranslated] = field(default_factory=list)

    def read(self, variable: Any) -> None:
        """Read one variable."""
        name, hints = variable.get("name"), hints_of(variable)
        conditions, texts = [], []
        for text, parsed in self._conditions(variable, name):
            if parsed not in conditions:
                conditions.append(parsed)
                texts.append(text)
        options = {str(code): label for code, label in hints.level_labels.items()}
        kind = Answers.ONE if options and variable.get("intrvl") != "contin" else Answers.NUMBER
        constraint, demanded = self._constraint(variable, name)
        self.found[name] = Question(
            name,
            kind,
            label=hints.label,
            options=options,
            shown_when=tuple(conditions),
            shown_text="; ".join(texts),
            constraint=constraint,
            constraint_text=demanded,
        )
        self._read_jumps(variable, name)

    def _constraint(self, variable: Any, name: str) -> tuple[Expression | None, str]:
        """Return what an answer must fulfil, and its text."""
        for text in _xpaths(variable, constraint=True):
            try:
                return parse_xpath(text), text
            except ExpressionError as error:
                self.untranslated.append(Untranslated(name, "constraint", text, str(error)))
        return None, ""

    def questions(self) -> tuple[Question, ...]:
        """Return all questions, with the jumps that pass over them."""
        complete = []
        for name, question in self.found.items():
            for condition, text in self.hidden.get(name, ()):
                shown = "; ".join(filter(None, (question.shown_text, f"not: {text}")))
                question = replace(
                    question,
                    shown_when=(*question.shown_when, negated(condition)),
                    shown_text=shown,
                )
            complete.append(question)
        return tuple(complete)

    def _conditions(self, variable: Any, name: str) -> Iterator[tuple[str, Expression]]:
        for text in _xpaths(variable, constraint=False):
            yield from self._parsed(name, text, lambda one: parse_xpath(one))
        for universe in children_of(variable, "universe"):
            text = " ".join("".join(universe.itertext()).split())
            if is_everybody(text):
                continue
            excluded = universe.get("clusion", "I").upper() == "E"
            for shown, parsed in self._parsed(name, text, self._condition):
                yield shown, negated(parsed) if excluded else parsed
        for text in self._instructions(variable, name, ("preQTxt", "ivuInstr")):
            if _go_to(text) is None:
                yield from self._parsed(name, text, self._condition)

    def _condition(self, text: str) -> Expression:
        return parse_condition(text, self.known)

    def _parsed(self, name: str, text: str, parse: Any) -> Iterator[tuple[str, Expression]]:
        try:
            yield text, parse(text)
        except ExpressionError as error:
            self.untranslated.append(Untranslated(name, _PART, text, str(error)))

    def _instructions(self, variable: Any, name: str, tags: tuple[str, ...]) -> Iterator[str]:
        """Return instructions that may be routing: they ask, and name another question."""
        for question in children_of(variable, "qstn"):
            for tag in tags:
                text = text_of(question, tag)
                named = {self.known.name(word) for word in _WORD.findall(text)}
                if _ASKS.search(text) and named - {None, name}:
                    yield text

    def _read_jumps(self, variable: Any, name: str) -> None:
        for text in self._instructions(variable, name, ("ivuInstr", "postQTxt", "forward")):
            match = _go_to(text)
            if match is None:
                if "ivuInstr" not in _tags_with(variable, text):
                    self.untranslated.append(
                        Untranslated(
                            name, _JUMP, text, "it is not of the form 'if Q1 = 2 go to Q5'"
                        )
                    )
                continue
            try:
                target = self.known.name(match["to"])
                if target is None or self.order[target] <= self.order[name]:
                    raise ExpressionError(f"'{match['to']}' is not a later question")
                condition = parse_condition(match["when"], self.known, own=name)
            except ExpressionError as error:
                self.untranslated.append(Untranslated(name, _JUMP, text, str(error)))
                continue
            for between, place in self.order.items():
                if self.order[name] < place < self.order[target]:
                    self.hidden.setdefault(between, []).append((condition, text))


def _xpaths(variable: Any, *, constraint: bool) -> Iterator[str]:
    """Yield the notes that are constraints of an electronic form, or those that are conditions."""
    for note in children_of(variable, "notes"):
        what = f"{note.get('type', '')} {note.get('subject', '')}".lower()
        wanted = "constraint" in what if constraint else not _OTHER_NOTE.search(what)
        if "xpath" in what and wanted:
            yield " ".join("".join(note.itertext()).split())


def _go_to(text: str) -> re.Match[str] | None:
    """Return the parts of "if Q1 = 2 go to Q5"; None for other texts, and for very long ones."""
    return _GO_TO.match(text) if len(text) <= LONGEST else None


def _names(variables: Sequence[Any]) -> dict[str, str]:
    """Return variables by their names and IDs, in lower case.

    A name stands before an ID: variables V1, V2, ... can have the IDs V2, V3, ... Names that differ
    only in upper and lower case are left out, because a text can mean either.
    """
    names = [variable.get("name") for variable in variables]
    counts = Counter(name.lower() for name in set(names))
    by_id = {
        variable.get("ID", variable.get("name")).lower(): variable.get("name")
        for variable in variables
    }
    found = by_id | {name.lower(): name for name in names}
    return {text: name for text, name in found.items() if counts[text] < 2}


def _tags_with(variable: Any, text: str) -> set[str]:
    """Return the instructions of a variable in which a text stands."""
    return {
        tag
        for question in children_of(variable, "qstn")
        for tag in ("preQTxt", "ivuInstr")
        if text_of(question, tag) == text
    }


def _codes(labels: Any) -> dict[str, str | None]:
    """Return codes by label in lower case; None where two codes have the same label."""
    found: dict[str, str | None] = {}
    for code, label in labels.items():
        text = label.strip().lower()
        found[text] = None if text in found else str(code)
    return found
