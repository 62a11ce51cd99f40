"""Read Qualtrics survey files (.qsf): questions, choices, and the logic that shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tabsoda.errors import InputError
from tabsoda.questionnaire.expressions import (
    Call,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Reference,
    negated,
)
from tabsoda.questionnaire.form import Form, Question, Untranslated
from tabsoda.questionnaire.qualtrics_questions import (
    codes_of,
    name_of,
    plain_text,
    questions_of,
    record,
    records,
)

_PART = "shown when"
_CHOICE = re.compile(
    r"q://(?P<question>QID\d+)/(?:SelectableChoice|ChoiceGroup)/(?P<choice>[^/]+)$"
)
_SIGNS = {
    "EqualTo": "=",
    "NotEqualTo": "!=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}


def read_qsf(path: Path) -> Form:
    """Read the questions of a Qualtrics survey file, in the order of its flow.

    Parameters
    ----------
    path : Path
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        elements = content["SurveyElements"]
        if not isinstance(elements, list):
            raise TypeError("SurveyElements is not a list")
        kinds = [(element["Element"], element.get("Payload")) for element in records(elements)]
        questions = _by_id((payload for kind, payload in kinds if kind == "SQ"), "QuestionID")
        blocks = next((payload for kind, payload in kinds if kind == "BL"), None)
        flow = next((payload for kind, payload in kinds if kind == "FL"), None)
        form = _FlowReader(path.name, questions, _by_id(blocks, "ID")).read(record(flow))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"The file '{path.name}' is not a Qualtrics survey",
            found=f"{type(error).__name__}: {error}",
            expected="JSON with SurveyElements, as Qualtrics exports it",
            next_step="In Qualtrics: Survey, Tools, Import/Export, Export Survey",
        ) from error
    if not form.questions:
        raise InputError(
            f"The form '{path.name}' has no questions",
            expected="questions in the survey's blocks",
        )
    return form


def _by_id(content: Any, key: str) -> dict[str, dict[str, Any]]:
    """Return objects by their identifier."""
    return {one[key]: one for one in records(content) if isinstance(one.get(key), str)}


@dataclass
class _FlowReader:
    """Goes through the flow of a survey and keeps the branches that are open."""

    source: str
    raw: dict[str, dict[str, Any]]
    blocks: dict[str, dict[str, Any]]
    found: list[Question] = field(default_factory=list)
    untranslated: list[Untranslated] = field(default_factory=list)
    # Once true, the survey has ended for a respondent.
    ended: list[Expression] = field(default_factory=list)

    def read(self, flow: dict[str, Any]) -> Form:
        self._flow(flow.get("Flow"), ())
        questions = _once(self.found)
        untranslated = tuple(dict.fromkeys(self.untranslated))
        return Form(self.source, "Qualtrics", questions, untranslated)

    def _flow(self, parts: Any, given: tuple[Expression, ...]) -> None:
        for part in records(parts):
            kind = part.get("Type")
            inner = given
            if kind == "Branch":
                condition = self._logic(part.get("BranchLogic"), "a branch of the flow")
                inner = given if condition is None else (*given, condition)
            block = self.blocks.get(str(part.get("ID")))
            if kind in ("Block", "Standard") and block is not None:
                self._block(block, given)
            elif kind in ("BlockRandomizer", "Quota") and part.get("Flow"):
                self._note(f"{kind} in the flow", "", "which part is shown is decided at random")
            elif kind == "EndSurvey" and given:
                self.ended.append(_all(given))
            self._flow(part.get("Flow"), inner)

    def _block(self, block: dict[str, Any], given: tuple[Expression, ...]) -> None:
        if block.get("Type") == "Trash":
            return
        passed: list[tuple[Expression, str]] = []
        for element in records(block.get("BlockElements")):
            raw = self.raw.get(str(element.get("QuestionID")))
            if raw is None:
                continue
            identifier = raw["QuestionID"]
            passed = [(when, to) for when, to in passed if to != identifier]
            hidden = [*self.ended, *(when for when, _ in passed)]
            before = (*given, *(negated(when) for when in hidden))
            self._question(raw, before)
            passed += self._jumps(element, identifier)

    def _jumps(self, element: dict[str, Any], question: str) -> Iterator[tuple[Expression, str]]:
        """Return when the rest of a block is passed over, and up to which question."""
        for jump in records(element.get("SkipLogic")):
            text = f"{jump.get('ChoiceLocator', '')} {jump.get('Condition', '')}"
            try:
                condition = self._expression(jump.get("ChoiceLocator", ""), jump.get("Condition"))
            except ExpressionError as error:
                self._note(question, text, str(error))
                continue
            target = str(jump.get("SkipToDestination", ""))
            if target == "ENDOFSURVEY":
                self.ended.append(condition)
            else:
                yield condition, target

    def _question(self, raw: dict[str, Any], given: tuple[Expression, ...]) -> None:
        shown = given
        if raw.get("DisplayLogic"):
            condition = self._logic(raw["DisplayLogic"], name_of(raw))
            shown = given if condition is None else (*given, condition)
        text = plain_text(record(raw.get("DisplayLogic")).get("Description")) or (
            "the flow of the survey leads here" if shown else ""
        )
        for question in questions_of(raw):
            self.found.append(replace(question, shown_when=shown, shown_text=text))

    def _logic(self, logic: Any, where: str) -> Expression | None:
        """Return display or branch logic as an expression; None if it is not understood."""
        try:
            return _joined(
                [
                    (group.get("Type", "If"), self._group(group))
                    for key, group in sorted(record(logic).items())
                    if key.isdigit() and isinstance(group, dict)
                ],
                default="Or",
            )
        except ExpressionError as error:
            self._note(where, "display logic", str(error))
            return None

    def _group(self, group: dict[str, Any]) -> Expression:
        parts = []
        for key, one in sorted(group.items()):
            if key.isdigit() and isinstance(one, dict):
                if one.get("LogicType") not in ("Question", None):
                    raise ExpressionError(f"it depends on {one['LogicType']}, not on an answer")
                expression = self._expression(
                    one.get("LeftOperand", ""), one.get("Operator"), one.get("RightOperand")
                )
                # Qualtrics spells the key this way.
                parts.append((one.get("Conjuction", "And"), expression))
        return _joined(parts, default="And")

    def _expression(self, place: Any, sign: Any, value: Any = None) -> Expression:
        operand, sign = str(place), str(sign)
        match = _CHOICE.match(operand)
        if match is not None and sign in ("Selected", "NotSelected"):
            raw = self.raw.get(match["question"])
            if raw is None:
                raise ExpressionError(f"{match['question']} is not in the survey")
            code = codes_of(raw).get(match["choice"], match["choice"])
            chosen = Call("selected", (Reference(name_of(raw)), Literal(code)))
            return chosen if sign == "Selected" else negated(chosen)
        number = re.match(r"q://(QID\d+)/ChoiceTextEntryValue$", operand)
        if number is not None and sign in _SIGNS and number[1] in self.raw:
            text = Literal(float(value)) if _is_number(value) else Literal(str(value or ""))
            return Operation(_SIGNS[sign], Reference(name_of(self.raw[number[1]])), text)
        raise ExpressionError(f"'{sign}' of '{operand}' is not translated")

    def _note(self, question: str, text: str, why: str) -> None:
        self.untranslated.append(Untranslated(question, _PART, text, why))


def _once(found: list[Question]) -> tuple[Question, ...]:
    """Return every question once; it is shown if one of its places in the flow is reached."""
    places: dict[str, list[Question]] = {}
    for question in found:
        # The last place counts for the order: conditions may name all questions before it.
        places[question.name] = [*places.pop(question.name, []), question]
    merged = []
    for own in places.values():
        conditions = [_all(one.shown_when) for one in own if one.shown_when]
        if len(own) > 1:
            always = len(conditions) < len(own)
            either = _joined([("or", one) for one in conditions], "or") if conditions else None
            shown = () if always or either is None else (either,)
            merged.append(replace(own[-1], shown_when=shown, shown_text=_texts(own, always)))
        else:
            merged.append(own[0])
    return tuple(merged)


def _texts(places: list[Question], always: bool) -> str:
    texts = dict.fromkeys(one.shown_text for one in places if one.shown_text)
    return "" if always else "; or ".join(texts)


def _joined(parts: list[tuple[str, Expression]], default: str) -> Expression:
    """Join expressions from left to right, each by the word that stands before it."""
    if not parts:
        raise ExpressionError("it has no condition")
    joined = parts[0][1]
    for word, expression in parts[1:]:
        chosen = {"and": "and", "andif": "and", "or": "or", "orif": "or", "elseif": "or"}.get(
            str(word).lower(), default.lower()
        )
        joined = Operation(chosen, joined, expression)
    return joined


def _all(expressions: tuple[Expression, ...]) -> Expression:
    joined = expressions[0]
    for one in expressions[1:]:
        joined = Operation("and", joined, one)
    return joined


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True
