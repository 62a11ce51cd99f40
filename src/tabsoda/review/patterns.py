"""Example patterns of a rule: values of its gates and target, and how many people had them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tabsoda.review.findings import Examined
from tabsoda.review.small_cells import hide_small
from tabsoda.schema.column import Column, Reason
from tabsoda.skips.rules import SkipRule
from tabsoda.states.cell_states import CellState, CellStates, reason_code

# How many patterns of each kind are shown, most frequent first.
_SHOWN = {"contradicts": 4, "explained": 3, "unexplained": 3, "asked": 2}
_UNANSWERED = {
    Reason.REFUSED: "refused",
    Reason.DONT_KNOW: "don't know",
    Reason.OTHER: "missing for another reason",
}


@dataclass(frozen=True)
class Pattern:
    """Values that some respondents have in common.

    Attributes
    ----------
    kind : str
        ``"explained"``: the rule fires and the target is blank. ``"contradicts"``: it fires and
        the target was asked. ``"unexplained"``: silent, blank. ``"asked"``: silent, asked.
    gates : tuple of str
        The value of each gate, in the order of :attr:`SkipRule.gates`.
    target : str
    count : int
    """

    kind: str
    gates: tuple[str, ...]
    target: str
    count: int


def example_patterns(rule: SkipRule, examined: Examined, below: int = 0) -> tuple[Pattern, ...]:
    """Return the most frequent patterns of each kind.

    Only counts are returned: numbers are grouped by the rule's own bounds, and no other column is
    used, so no single row can be identified.

    Parameters
    ----------
    rule : SkipRule
    examined : Examined
    below : int, default 0
        Patterns of fewer respondents are omitted, and any that would reveal them.
    """
    names = examined.table.names
    place = names.index(rule.target)
    gates = [_gate_values(name, _bounds(rule, name), examined) for name in rule.gates]
    target = _answers(examined.table.columns[place], examined.table.states, place, examined)
    fired, asked = examined.fired[rule.identifier], examined.asked[:, place]
    found = []
    kinds = {
        "contradicts": fired & asked,
        "explained": fired & ~asked,
        "unexplained": ~fired & ~asked,
        "asked": ~fired & asked,
    }
    totals = hide_small([int(rows.sum()) for rows in kinds.values()], below)
    for (kind, rows), total in zip(kinds.items(), totals, strict=True):
        if total:
            found += _most_frequent(kind, rows, [*gates, target], below)
    return tuple(found)


def _most_frequent(
    kind: str,
    rows: NDArray[np.bool_],
    columns: Sequence[tuple[NDArray[np.int64], list[str]]],
    below: int,
) -> list[Pattern]:
    codes = np.column_stack([code[rows] for code, _ in columns])
    patterns, sizes = np.unique(codes, axis=0, return_counts=True)
    shown = hide_small(sizes.tolist(), below)
    order = [number for number in np.argsort(-sizes, kind="stable") if shown[number] is not None]
    result = []
    for number in order[: _SHOWN[kind]]:
        words = [columns[i][1][code] for i, code in enumerate(patterns[number])]
        result.append(Pattern(kind, tuple(words[:-1]), words[-1], int(sizes[number])))
    return result


def _bounds(rule: SkipRule, gate: str) -> list[float]:
    conditions = [c for path in rule.any_of for c in path if c.column == gate]
    bounds = {b for c in conditions for b in (c.above, c.up_to) if b is not None}
    return sorted(bounds)


def _gate_values(
    gate: str, bounds: list[float], examined: Examined
) -> tuple[NDArray[np.int64], list[str]]:
    """Return a gate's value per row as a code, and the text of each code."""
    place = examined.table.names.index(gate)
    column = examined.table.columns[place]
    return _answers(column, examined.routed.states, place, examined, bounds)


def _answers(
    column: Column,
    states: CellStates,
    place: int,
    examined: Examined,
    bounds: Sequence[float] = (),
) -> tuple[NDArray[np.int64], list[str]]:
    values = examined.table.values[:, place]
    answered = states.answered[:, place]
    codes = np.zeros(values.shape[0], dtype=np.int64)
    if column.is_categorical:
        words = [column.describe_level(level) for level in column.levels]
        codes[answered] = values[answered].astype(np.int64)
    else:
        words = _ranges(bounds)
        # above < answer <= up_to, as in a condition.
        codes[answered] = np.searchsorted(bounds, values[answered], side="left")
    start = len(words)
    words = [*words, "blank", "skipped", *_UNANSWERED.values()]
    codes[~answered] = start
    codes[states.states[:, place] == CellState.SKIPPED] = start + 1
    missing = states.missing[:, place]
    for offset, reason in enumerate(_UNANSWERED, start=2):
        codes[missing & (states.reasons[:, place] == reason_code(reason))] = start + offset
    return codes, words


def _ranges(bounds: Sequence[float]) -> list[str]:
    if not bounds:
        return ["a number"]
    texts = [repr(float(bound)).removesuffix(".0") for bound in bounds]
    between = [f"above {a}, up to {b}" for a, b in pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"above {texts[-1]}"]
