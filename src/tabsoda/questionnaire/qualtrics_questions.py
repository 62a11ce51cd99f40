"""Questions of Qualtrics, and the columns that hold their answers in an export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tabsoda.questionnaire.form import Answers, Question

# A question of its own in every row: kinds of answers by how they are given.
_IN_ROWS = {"TE": Answers.OTHER, "CS": Answers.NUMBER}


def record(content: Any) -> dict[str, Any]:
    """Return an object of the file; Qualtrics writes empty ones as [] or null."""
    return content if isinstance(content, dict) else {}


def records(content: Any) -> list[dict[str, Any]]:
    """Return objects that are listed, or the values of an object, without other values."""
    listed = content.values() if isinstance(content, dict) else content
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, Iterable) else []


def questions_of(raw: dict[str, Any]) -> list[Question]:
    """Return a question of Qualtrics as the questions that its columns hold.

    A matrix has one question per statement, and tables side by side have one per statement and
    table.

    Parameters
    ----------
    raw : dict
        The payload of an element "SQ".

    Examples
    --------
    >>> raw = {
    ...     "DataExportTag": "Q4", "QuestionType": "Matrix", "Selector": "Likert",
    ...     "Choices": {"1": {"Display": "Rent"}}, "Answers": {"1": {"Display": "High"}},
    ...     "RecodeValues": {"1": "10"}}
    >>> [(question.name, question.options) for question in questions_of(raw)]
    [('Q4_1', {'10': 'High'})]
    """
    name, label = name_of(raw), plain_text(raw.get("QuestionText", ""))
    kind, selector = raw.get("QuestionType"), str(raw.get("Selector", ""))
    if kind == "Matrix":
        return list(_statements(raw, name, label))
    if kind == "SBS":
        return list(_side_by_side(raw, name, label))
    if kind == "MC":
        is_several = selector.startswith(("MA", "MSB"))
        answers = Answers.SEVERAL if is_several else Answers.ONE
        return [_with_options(Question(name, answers, label=label), raw, "Choice")]
    if kind == "TE":
        settings = record(record(raw.get("Validation")).get("Settings"))
        is_number = settings.get("ContentType") == "ValidNumber"
        return [Question(name, Answers.NUMBER if is_number else Answers.OTHER, label=label)]
    if kind == "Slider":
        codes = codes_of(raw)
        return [
            Question(f"{name}_{codes[key]}", Answers.NUMBER, label=f"{label}: {_display(one)}")
            for key, one in _listed(raw, "Choice")
        ]
    # Texts and timers have no answer of their own.
    return [] if kind in ("DB", "Timing", "Meta") else [Question(name, Answers.OTHER, label=label)]


def _statements(raw: dict[str, Any], name: str, label: str) -> Iterator[Question]:
    """Yield the statements of a matrix; new exports name them Q1_tag, older ones Q1_1 or tag."""
    kind = _IN_ROWS.get(str(raw.get("Selector", "")), Answers.ONE)
    if kind is Answers.ONE and raw.get("SubSelector") == "MultipleAnswer":
        kind = Answers.SEVERAL
    tags = record(raw.get("ChoiceDataExportTags"))
    for key, one in _listed(raw, "Choice"):
        named = (f"{name}_{tags[key]}", str(tags[key])) if tags.get(key) else ()
        asked = ": ".join(filter(None, (label, _display(one))))
        question = Question(f"{name}_{key}", kind, label=asked, other_names=named)
        is_choice = kind in (Answers.ONE, Answers.SEVERAL)
        yield _with_options(question, raw, "Answer") if is_choice else question


def _side_by_side(raw: dict[str, Any], name: str, label: str) -> Iterator[Question]:
    """Yield the statements of all tables, whose columns are Q1#1_1, Q1#2_1, ..."""
    tables = record(raw.get("AdditionalQuestions"))
    for key, own in tables.items():
        table = record(own)
        table = {"Choices": raw.get("Choices"), "ChoiceOrder": raw.get("ChoiceOrder")} | table
        asked = ": ".join(filter(None, (label, plain_text(table.get("QuestionText", "")))))
        yield from _statements(table, f"{name}#{key}", asked)


def _with_options(question: Question, raw: dict[str, Any], of: str) -> Question:
    """Return a question with the options of its choices, or of a matrix's answers."""
    codes = codes_of(raw, of)
    return replace(
        question,
        options={codes[key]: _display(one) for key, one in _listed(raw, of)},
        other_codes={code: key for key, code in codes.items() if code != key},
    )


def _listed(raw: dict[str, Any], of: str) -> list[tuple[str, Any]]:
    """Return choices or answers by their numbers, in the order in which they are shown."""
    content = raw.get(f"{of}s")
    listed = enumerate(content, 1) if isinstance(content, list) else record(content).items()
    found = {str(key): one for key, one in listed}
    order = raw.get(f"{of}Order")
    order = [str(key) for key in order] if order and isinstance(order, list) else list(found)
    return [(key, found[key]) for key in order if key in found]


def codes_of(raw: dict[str, Any], of: str = "Choice") -> dict[str, str]:
    """Return the code that the data have for every choice, or every answer of a matrix."""
    recoded = record(raw.get("RecodeValues"))
    return {key: str(recoded.get(key, key)) for key, _ in _listed(raw, of)}


def name_of(raw: dict[str, Any]) -> str:
    """Return the name of a question in exports."""
    return str(raw.get("DataExportTag") or raw["QuestionID"])


def plain_text(text: Any) -> str:
    """Return a text without its markup."""
    return " ".join(re.sub(r"<[^>]*>|&nbsp;", " ", str(text or "")).split())


def _display(choice: Any) -> str:
    return plain_text(choice.get("Display", "") if isinstance(choice, dict) else choice)
