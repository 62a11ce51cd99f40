"""Propose a schema from a table and its metadata, with a reason for every guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tabsoda.schema.codes import CodeBook
from tabsoda.schema.column import GUESS, Code, Column, ColumnKind, ColumnRole, Reason
from tabsoda.schema.content import Content, content_of
from tabsoda.schema.facts import ColumnFacts
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.kinds import KindGuess, guess_kinds
from tabsoda.schema.roles import guess_role
from tabsoda.schema.schema import Schema
from tabsoda.schema.suspicion import suspicious_codes
from tabsoda.schema.tick_boxes import boxes_in_lists, could_be_box, names_its_answer

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

_EDGE = 40


@dataclass(frozen=True)
class _Draft:
    """A column whose role is known, before its kind is decided."""

    name: str
    hints: ColumnHints
    content: Content
    role: ColumnRole
    reason: str


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
    drafts = _with_boxes(drafts)
    questions = [draft for draft in drafts if draft.role is ColumnRole.QUESTION]
    guesses = dict(
        zip(
            (draft.name for draft in questions),
            guess_kinds([_facts(draft) for draft in questions]),
            strict=True,
        )
    )
    return tuple(
        _question(draft, guesses[draft.name]) if draft.name in guesses else _other(draft)
        for draft in drafts
    )


def _with_boxes(drafts: list[_Draft]) -> list[_Draft]:
    """Leave boxes to tick alone: their blanks are not missing, and all answers are the same."""
    candidates = [
        draft.content
        if draft.role is ColumnRole.QUESTION
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
