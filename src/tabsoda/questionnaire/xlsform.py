"""Read XLSForm workbooks, the forms of ODK, KoboToolbox and SurveyCTO."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tabsoda.errors import InputError
from tabsoda.questionnaire.columns import OF_GROUPS
from tabsoda.questionnaire.expressions import Expression, ExpressionError, parse_xpath
from tabsoda.questionnaire.form import Answers, Form, Question, Untranslated
from tabsoda.reading.excel import read_sheets

Row = Mapping[str, str]
_TYPES = {
    "integer": Answers.WHOLE,
    "int": Answers.WHOLE,
    "range": Answers.NUMBER,
    "decimal": Answers.NUMBER,
}
# Shown or recorded, but not a question with an answer of its own.
_NO_ANSWER = frozenset({"note", "hidden", "start", "end", "today", "deviceid", "audit", "username"})
_SELECT = re.compile(
    r"(?:add )?select[ _](?P<how>one|multiple|all that apply|all)(?P<file>_from_file|_external)?"
    r"(?: prompt using| from)? (?P<list>\S+)(?P<rest>.*)",
    re.IGNORECASE,
)
# SurveyCTO and older forms name some columns differently; "bind::" may stand before them.
_COLUMNS = {"relevance": "relevant", "list name": "list_name", "value": "name"}
_YES = frozenset({"yes", "true", "true()", "1", "1.0"})
_REPEATED = (
    "a repeated group is a table of its own, with one row per repetition; export and impute that"
    " table by itself, with the respondents' answers that it needs joined to it"
)
_GROUP = re.compile(r"(?P<what>begin|end)[ _](?P<kind>group|repeat|loop)")


def read_xlsform(path: Path) -> Form:
    """Read the questions of an XLSForm.

    Parameters
    ----------
    path : Path
        An Excel workbook with the sheets ``survey`` and ``choices``.
    """
    sheets = {name.strip().lower(): rows for name, rows in read_sheets(path).items()}
    if "survey" not in sheets:
        raise InputError(
            f"The form '{path.name}' is not an XLSForm",
            found=f"the sheets {', '.join(sheets)}",
            expected="a sheet 'survey' with the columns type, name and relevant",
            next_step="Give the form of ODK, KoboToolbox or SurveyCTO, not its data",
        )
    survey = [_tidy(row) for row in sheets["survey"]]
    if not survey or not {"type", "name"} <= set(survey[0]):
        raise InputError(
            f"The sheet 'survey' of '{path.name}' has no questions",
            found=f"the columns {', '.join(survey[0]) if survey else '(none)'}",
            expected="the columns type and name, and one row per question",
        )
    settings = [_tidy(row) for row in sheets.get("settings", [])]
    language = settings[0].get("default_language", "") if settings else ""
    options = _options([_tidy(row) for row in sheets.get("choices", [])], language)
    return _Reader(path.name, options, language).read(survey)


class _Reader:
    """Goes through the rows of the sheet ``survey`` and keeps the groups that are open."""

    def __init__(self, source: str, options: dict[str, dict[str, str]], language: str) -> None:
        self._source = source
        self._options = options
        self._language = language
        self._groups: list[tuple[str, str]] = []
        self._untranslated: list[Untranslated] = []

    def read(self, rows: Sequence[Row]) -> Form:
        questions = [question for row in rows if (question := self._row(row)) is not None]
        if not questions:
            raise InputError(
                f"The form '{self._source}' has no questions",
                expected="rows with a type such as integer or select_one",
            )
        return Form(self._source, "XLSForm", _apart(questions), tuple(self._untranslated))

    def _row(self, row: Row) -> Question | None:
        if row.get("disabled", "").lower() in _YES:
            return None
        written = " ".join(row.get("type", "").split())
        kind = written.lower()
        group = _GROUP.match(kind)
        if group is not None:
            if group["what"] == "begin":
                self._groups.append((row.get("name", ""), row.get("relevant", "")))
                if group["kind"] != "group":
                    self._untranslated.append(
                        Untranslated(row.get("name", ""), "answers", written, _REPEATED)
                    )
            elif self._groups:
                self._groups.pop()
            return None
        name = row.get("name", "")
        if not kind or not name or kind in _NO_ANSWER:
            return None
        return self._question(name, written, row)

    def _question(self, name: str, kind: str, row: Row) -> Question:
        answers, options = self._answers(name, kind)
        texts = [text for _, text in self._groups] + [row.get("relevant", "")]
        texts = [text for text in texts if text]
        shown = [self._parsed(name, "shown when", text) for text in texts]
        constraint = row.get("constraint", "")
        return Question(
            name,
            answers,
            tuple(group for group, _ in self._groups if group),
            _label(row, self._language),
            options,
            # Hidden where any of them is false, so those that are understood still count.
            tuple(parsed for parsed in shown if parsed is not None),
            " and ".join(f"({text})" for text in texts) if len(texts) > 1 else "".join(texts),
            self._parsed(name, "constraint", constraint) if constraint else None,
            constraint,
        )

    def _answers(self, name: str, kind: str) -> tuple[Answers, dict[str, str]]:
        select = _SELECT.match(kind)
        if select is None:
            return _TYPES.get(kind.lower(), Answers.OTHER), {}
        answers = Answers.ONE if select["how"].lower() == "one" else Answers.SEVERAL
        options = dict(self._options.get(select["list"], {}))
        if not options:
            why = "its options are in another file" if select["file"] else "its list is not defined"
            self._untranslated.append(Untranslated(name, "answers", kind, why))
        if "or_other" in select["rest"]:
            options.setdefault("other", "Other")
        return answers, options

    def _parsed(self, name: str, part: str, text: str) -> Expression | None:
        try:
            return parse_xpath(text)
        except ExpressionError as error:
            self._untranslated.append(Untranslated(name, part, text, str(error)))
            return None


def _apart(questions: Sequence[Question]) -> tuple[Question, ...]:
    """Return questions with the names of their groups where two groups have one of that name."""
    counts = Counter(question.name for question in questions)
    found = []
    for question in questions:
        path = (*question.groups, question.name)
        if counts[question.name] > 1 and question.groups:
            others = tuple(mark.join(path) for mark in OF_GROUPS[1:])
            question = replace(question, name="/".join(path), groups=(), other_names=others)
        found.append(question)
    return tuple(found)


def _tidy(row: Row) -> dict[str, str]:
    """Strip cells, and spell the names of columns as the standard does."""
    tidy: dict[str, str] = {}
    for written, text in row.items():
        name = re.sub(r"\s*::?\s*", "::", written.strip().lower(), count=1).removeprefix("bind::")
        name = _COLUMNS.get(name, name)
        # Of two columns that mean the same, the first with a text counts.
        tidy[name] = tidy.get(name) or (text or "").strip()
    return tidy


def _options(rows: list[dict[str, str]], language: str) -> dict[str, dict[str, str]]:
    """Return code to label, by the name of the list."""
    lists: dict[str, dict[str, str]] = {}
    for row in rows:
        name, code = row.get("list_name", ""), row.get("name", "")
        if name and code:
            lists.setdefault(name, {})[code] = _label(row, language)
    return lists


def _label(row: Row, language: str) -> str:
    """Return the label in the form's language, or in its first one."""
    for name in (f"label::{language.lower()}", "label"):
        if row.get(name):
            return _without_markup(row[name])
    return next((_without_markup(row[name]) for name in _labels(row) if row[name]), "")


def _labels(row: Row) -> Iterator[str]:
    return (name for name in row if name.startswith("label::"))


def _without_markup(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())
