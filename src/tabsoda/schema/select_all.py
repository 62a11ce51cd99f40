"""Find the boxes of select-all questions: neighbouring boxes to tick that are asked together.

Whoever ticked one of them did not tick the others; whoever ticked none gave no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tabsoda.errors import InputError
from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Code

NOT_TICKED, TICKED = "not ticked", "ticked"
_FEWEST = 3
# Between the name of a question and that of an option: Q7_1, Q7[SQ001], drinks/beer, Q7a, media1.
_NAMES = (
    re.compile(r"(?P<stem>.*[^\W_])[_./\-\[(:]+[^_./\-\[(:\])]+[\])]?"),
    re.compile(r"(?P<stem>.*\d)[A-Za-z]"),
    re.compile(r"(?P<stem>[A-Za-z_]*[A-Za-z]{3})\d{1,2}"),
)
# Names of columns, not of questions: var1, var2.
_NOT_STEMS = frozenset({"var", "column", "col", "field", "item", "question"})
_MARKS = (" - ", " – ", " | ", ": ", "? ")
_AT_END = " -–|:/[("


@dataclass(frozen=True)
class Candidate:
    """A column that may belong to a select-all question.

    Attributes
    ----------
    name, label : str
    answer : Code or None
        The only answer of a box to tick; None for any other column.
    n_answers : int
        Rows with an answer.
    has_blanks : bool
    is_text : bool
        Whether it may hold texts of respondents, such as "other, please specify".
    """

    name: str
    label: str = ""
    answer: Code | None = None
    n_answers: int = 0
    has_blanks: bool = True
    is_text: bool = False

    @cached_property
    def asked(self) -> str:
        """The text of the question, without that of the option; empty if it is not known."""
        title = (self.label or (self.name if " " in self.name else "")).strip()
        answer = str(self.answer).strip()
        if isinstance(self.answer, str) and title.casefold().endswith(answer.casefold()):
            return title[: len(title) - len(answer)].rstrip(_AT_END)
        for mark in _MARKS:
            if mark in title:
                return title.rpartition(mark)[0].rstrip(_AT_END)
        return ""

    @cached_property
    def stem(self) -> str:
        """The part of the name that boxes of one question share; empty if there is none."""
        for form in _NAMES if " " not in self.name else ():
            found = form.fullmatch(self.name)
            if found:
                stem = found["stem"]
                return stem if len(stem) > 1 and stem.lower() not in _NOT_STEMS else ""
        return ""

    def is_asked_with(self, other: Candidate) -> bool:
        """Whether texts and names say that two boxes belong to one question."""
        agree = []
        if self.stem and other.stem:
            agree.append(self.stem == other.stem)
        if self.asked and other.asked:
            # An option may have the mark that parts it from the question.
            shorter, longer = sorted((self.asked, other.asked), key=len)
            agree.append(longer.startswith(shorter))
        return bool(agree) and all(agree)

    def follows(self, box: Candidate) -> bool:
        """Whether its name or text begins with the question of a box."""
        rest = self.name.removeprefix(box.stem)
        named = bool(box.stem) and rest != self.name and not rest[:1].isalnum()
        return named or (bool(box.asked) and (self.label or self.name).startswith(box.asked))


def select_all_questions(columns: Sequence[Candidate]) -> list[tuple[str, bool]]:
    """Return the select-all question of every column, "" for others, and whether it is a box.

    Three boxes or more that are blank in different numbers of rows are a question. A box that
    everybody ticked and texts behind the boxes belong to it, too.

    Examples
    --------
    >>> boxes = [Candidate(f"media_{n}", answer=1, n_answers=n) for n in (4, 7, 2)]
    >>> select_all_questions([Candidate("age"), *boxes, Candidate("media_other", is_text=True)])
    [('', False), ('media', True), ('media', True), ('media', True), ('media', False)]
    >>> select_all_questions(boxes[:2])
    [('', False), ('', False)]
    """
    result = [("", False)] * len(columns)
    start = 0
    while start < len(columns):
        boxes, texts = _together(columns, start)
        counts = [columns[at].n_answers for at in boxes if columns[at].has_blanks]
        if len(counts) >= _FEWEST and len(set(counts)) > 1:
            first = columns[start]
            name = _unused(first.asked or first.stem, [used for used, _ in result])
            for at in (*boxes, *texts):
                result[at] = (name, at in boxes)
        start = max(boxes, default=start) + 1
    return result


def _together(columns: Sequence[Candidate], start: int) -> tuple[list[int], list[int]]:
    """Return the boxes that are asked together with the first one, and the texts among them."""
    if columns[start].answer is None:
        return [], []
    boxes, texts = [start], []
    for at in range(start + 1, len(columns)):
        column, last = columns[at], columns[boxes[-1]]
        if column.answer is not None and column.is_asked_with(last):
            boxes.append(at)
        elif column.follows(last) and (column.is_text or not column.n_answers):
            # An option that nobody ticked is blank, and does not part the others.
            texts += [at] * column.is_text
        else:
            break
    return boxes, texts


def _unused(name: str, used: Iterable[str]) -> str:
    """Return a name for a question that no other question has."""
    taken, result, number = set(used), name, 2
    while result in taken:
        result, number = f"{name} ({number})", number + 1
    return result


def box_levels(answers: Iterable[Code], name: str) -> tuple[Code, Code]:
    """Return the levels of a box: not ticked, which is 0, and the answer in the file.

    Examples
    --------
    >>> box_levels([1], "drinks_1"), box_levels(["Beer"], "drinks_1")
    ((0, 1), ('0', 'Beer'))
    """
    ticks = [answer for answer in answers if as_number(answer) != 0]
    if len(ticks) > 1:
        raise InputError(
            "is called a box of a select-all question, but holds several answers",
            column=name,
            found=", ".join(map(repr, ticks[:3])),
            expected="one answer, or a blank",
            next_step='Give it the role "ignore" if it holds texts of respondents; otherwise leave '
            "out select_all",
        )
    tick = ticks[0] if ticks else 1
    return ("0" if isinstance(tick, str) else 0), tick


def box_labels(levels: tuple[Code, ...], known: Mapping[Code, str]) -> dict[Code, str]:
    """Return labels for the levels of a box, where the file has none."""
    return dict(zip(levels, (NOT_TICKED, TICKED), strict=False)) | dict(known)
