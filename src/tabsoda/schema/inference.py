"""Propose a schema from a table and its metadata, with a reason for every guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tabsoda.schema.codes import CodeBook, as_number
from tabsoda.schema.column import GUESS, Code, Column, ColumnKind, ColumnRole, Confidence, Reason
from tabsoda.schema.content import Content, content_of
from tabsoda.schema.facts import ColumnFacts
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.kinds import KindGuess, guess_kinds
from tabsoda.schema.roles import guess_role
from tabsoda.schema.schema import Schema
from tabsoda.schema.select_all import Candidate, box_labels, box_levels, select_all_questions
from tabsoda.schema.suspicion import suspicious_codes
from tabsoda.schema.tick_boxes import (
    boxes_in_lists,
    could_be_box,
    has_one_answer,
    names_its_answer,
)

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

_EDGE = 40
_BOX = f"{GUESS}a box of a select-all question: not ticked if it is blank and another is ticked"
_TEXT = f"{GUESS}texts of respondents to a select-all question"
_VARIED = 0.5


@dataclass(frozen=True)
class _Draft:
    """A column whose role is known, before its kind is decided."""

    name: str
    hints: ColumnHints
    content: Content
    role: ColumnRole
    reason: str
    select_all: str = ""


def propose_schema(
    frame: pl.DataFrame,
    hints: Mapping[str, ColumnHints] | None = None,
    tags: Mapping[str, NDArray[np.object_]] | None = None,
) -> Schema:
    """Guess kind, levels, order, role and special codes of every column.

    Parameters
    ----------
    frame : polars.DataFrame
    hints : mapping of str to ColumnHints, optional
        The metadata of the file and the codebook.
    tags : mapping of str to ndarray, optional
        Lettered missings per row.

    Returns
    -------
    Schema
        In the order of the columns; ``note`` gives the reason for each guess.

    Examples
    --------
    >>> import polars as pl
    >>> schema = propose_schema(pl.DataFrame({"q": [1, 2, 2, 1], "height": [1.7, 1.62, 1.8, 1.5]}))
    >>> [column.kind.value for column in schema]
    ['nominal', 'continuous']
    """
    hints, tags = hints or {}, tags or {}
    drafts = [_draft(series, hints.get(series.name), tags.get(series.name)) for series in frame]
    return Schema(_decided(drafts))


def propose_column(
    series: pl.Series,
    hints: ColumnHints | None = None,
    tags: NDArray[np.object_] | None = None,
) -> Column:
    """Propose a description of one column, without evidence from other columns."""
    return _decided([_draft(series, hints, tags)])[0]


def _draft(
    series: pl.Series, hints: ColumnHints | None, tags: NDArray[np.object_] | None
) -> _Draft:
    hints = hints or ColumnHints()
    content = content_of(series, hints, tags)
    role, reason = guess_role(series.name, content, hints)
    return _Draft(series.name, hints, content, role, reason)


def _decided(drafts: list[_Draft]) -> tuple[Column, ...]:
    """Decide the kinds of all questions together, since each column is evidence for others."""
    drafts = _with_boxes(_with_select_all(drafts))
    asked = [draft for draft in drafts if draft.role is ColumnRole.QUESTION]
    questions = [draft for draft in asked if not draft.select_all]
    guesses = dict(
        zip(
            (draft.name for draft in questions),
            guess_kinds([_facts(draft) for draft in questions]),
            strict=True,
        )
    )
    return tuple(
        _question(draft, guesses[draft.name])
        if draft.name in guesses
        else _box(draft)
        if draft.role is ColumnRole.QUESTION
        else _other(draft)
        for draft in drafts
    )


def _with_select_all(drafts: list[_Draft]) -> list[_Draft]:
    """Name the select-all question of boxes to tick, and of the texts among them."""
    found = select_all_questions([_candidate(draft) for draft in drafts])
    result = []
    for draft, (question, is_box) in zip(drafts, found, strict=True):
        if is_box:
            draft = replace(draft, select_all=question, reason=_BOX)
        elif question:
            reason = draft.reason or _TEXT
            draft = replace(draft, select_all=question, role=ColumnRole.IGNORE, reason=reason)
        result.append(draft)
    return result


def _candidate(draft: _Draft) -> Candidate:
    content = draft.content
    is_asked = draft.role is ColumnRole.QUESTION
    is_box = is_asked and has_one_answer(content, draft.hints.level_labels)
    # Respondents rarely write the same.
    is_varied = len(content.answers) > _VARIED * content.n_answers
    return Candidate(
        draft.name,
        draft.hints.label,
        content.answers[0] if is_box and as_number(content.answers[0]) != 0 else None,
        content.n_answers,
        content.n_answers < content.n_rows,
        (draft.role is ColumnRole.IGNORE or (is_asked and (is_box or is_varied)))
        and not draft.hints.level_labels
        and any(as_number(one) is None for one in content.answers),
    )


def _with_boxes(drafts: list[_Draft]) -> list[_Draft]:
    """Leave other boxes alone: their blanks are not missing, and all answers are the same."""
    candidates = [
        draft.content
        if draft.role is ColumnRole.QUESTION
        and not draft.select_all
        and could_be_box(draft.content, draft.hints.level_labels)
        else None
        for draft in drafts
    ]
    result = []
    for draft, content, in_list in zip(drafts, candidates, boxes_in_lists(candidates), strict=True):
        titles = (draft.hints.label, draft.name)
        if in_list or (content and any(names_its_answer(title, content) for title in titles)):
            reason = f"{GUESS}a box to tick: one answer or blank"
            draft = replace(draft, role=ColumnRole.IGNORE, reason=reason)
        result.append(draft)
    return result


def _facts(draft: _Draft) -> ColumnFacts:
    special = CodeBook(draft.content.special)
    return ColumnFacts(
        draft.name,
        draft.hints.label,
        draft.content.answers,
        draft.content.counts,
        {c: text for c, text in draft.hints.level_labels.items() if special.find(c) is None},
        draft.hints.measure,
        tuple(code for code in draft.hints.order if special.find(code) is None),
        draft.content.is_temporal,
        draft.hints.is_category,
    )


def _other(draft: _Draft) -> Column:
    """Describe a column that is not a question."""
    is_weight = draft.role is ColumnRole.WEIGHT
    kind = ColumnKind.CONTINUOUS if is_weight else ColumnKind.NOMINAL
    # A missing code must not count as a weight.
    codes = draft.content.special if is_weight else {}
    hints = draft.hints
    return Column(
        draft.name,
        kind,
        (),
        hints.label,
        dict(hints.level_labels),
        codes,
        draft.role,
        hints.universe,
        draft.reason,
        select_all=draft.select_all,
    )


def _box(draft: _Draft) -> Column:
    """Describe a box of a select-all question."""
    levels = box_levels(draft.content.answers, draft.name)
    return Column(
        draft.name,
        ColumnKind.NOMINAL,
        levels,
        draft.hints.label,
        box_labels(levels, _labels(draft.hints, levels, {})),
        role=draft.role,
        universe=draft.hints.universe,
        note=draft.reason,
        confidence=Confidence.DOUBTFUL,
        select_all=draft.select_all,
    )


def _question(draft: _Draft, guess: KindGuess) -> Column:
    hints, content = draft.hints, draft.content
    reason = guess.reason
    suspects = suspicious_codes(_edges(content.answers))
    known = CodeBook((*hints.level_labels, *guess.set_apart))
    unlabelled = [code for code in suspects if known.find(code) is None]
    if unlabelled:
        reason += f"; {', '.join(map(str, unlabelled))} look like codes for no answer"
    special = {**content.special, **guess.set_apart}
    return Column(
        draft.name,
        guess.kind,
        guess.levels,
        hints.label,
        _labels(hints, guess.levels, special),
        special,
        draft.role,
        hints.universe,
        reason,
        guess.confidence,
    )


def _edges(answers: tuple[Code, ...]) -> tuple[Code, ...]:
    """Return the smallest and largest answers, where missing codes usually are."""
    return answers if len(answers) <= 2 * _EDGE else (*answers[:_EDGE], *answers[-_EDGE:])


def _labels(
    hints: ColumnHints, levels: tuple[Code, ...], special: Mapping[Code, Reason]
) -> dict[Code, str]:
    """Key labels by the codes the column uses."""
    book = CodeBook((*levels, *special))
    result: dict[Code, str] = {}
    for code, label in hints.level_labels.items():
        known = book.find(code)
        result[code if known is None else known] = label
    return result
