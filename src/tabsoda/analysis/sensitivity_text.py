"""A sensitivity analysis as text: a table, the tipping points, and the sentence for the paper."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from tabsoda.analysis.text import (
    note_lines,
    number_text,
    percent_text,
    printable,
    probability_text,
    ratio_text,
)
from tabsoda.schema.column import Reason

if TYPE_CHECKING:
    from tabsoda.analysis.sensitivity_analysis import Sensitivity, SensitivityPoint, TippingPoint
    from tabsoda.analysis.shifting import PlannedShift

_UNITS = {
    "sd": "standard deviations",
    "units": "units",
    "percent": "per cent",
    "odds": "log odds",
    "levels": "levels",
}


_REASONS = {
    Reason.REFUSED: "refused",
    Reason.DONT_KNOW: "don't know",
    Reason.BLANK: "left blank",
    Reason.OTHER: "missing for other reasons",
}


def sensitivity_text(found: Sensitivity, width: int = 80) -> str:
    """Format a sensitivity analysis for a terminal."""
    lines = textwrap.wrap(f"Sensitivity of {printable(found.term)}", width, subsequent_indent="  ")
    for number, plan in enumerate(found.planned, 1):
        name = f"Shift {number}" if len(found.planned) > 1 else "Shift"
        lines += textwrap.wrap(f"{name}: {_described(plan)}", width, subsequent_indent="  ")
    lines += _table(found)
    for tip in [*tipping_sentences(found), *_moved_back_sentences(found)]:
        lines += textwrap.wrap(tip, width, subsequent_indent="  ")
    lines += note_lines(found.notes, width)
    lines += ["", "For the paper:", *textwrap.wrap(paper_sentence(found), width)]
    return "\n".join(lines)


def paper_sentence(found: Sensitivity, below: int = 0) -> str:
    """Return the result in words, for the paper; counts from 1 to ``below`` - 1 are withheld."""
    start = found.reference
    what = f"the {estimate_name(found)} was {value_text(found, start.estimate)}"
    interval = f"{found.level * 100:g} % interval {_interval(found, start)}"
    first = (
        f"Assuming that answers are missing at random given the observed answers, {what}"
        f" ({interval})."
    )
    tried = ", and ".join(_tried(plan, below) for plan in found.planned)
    second = f"We shifted {tried}, and pooled again."
    last = [*_moved_back_sentences(found, below), *tipping_sentences(found, in_paper=True)]
    return " ".join([first, second, *last])


def tipping_sentences(found: Sensitivity, *, in_paper: bool = False) -> list[str]:
    """Return a sentence for each tipping point, or one that there is none."""
    if not found.tipping:
        tried = "these ranges" if len(found.planned) > 1 else "this range"
        return [f"The finding does not change within {tried}."]
    sentences = []
    for others in found.curves:
        tips = [tip for tip in found.tipping if tip.others == others]
        start = f"{_others_text(found, others)}, " if others else ""
        if not tips:
            sentences.append(f"{start}the finding does not change within this range.")
        for tip in tips:
            sentences.append(f"{start}{_tip_text(found, tip, in_paper)}")
    return [sentence[0].upper() + sentence[1:] for sentence in sentences]


def _moved_back_sentences(found: Sensitivity, below: int = 0) -> list[str]:
    """Say how many shifted answers were moved back by edits; nothing if none was."""
    most = max(found.points, key=lambda point: point.moved_back)
    if not most.n_moved_back:
        return []
    deltas = " and ".join(map(delta_text, most.deltas))
    moved = f"up to {_share_text(most)} of the shifted answers (at a shift of {deltas})"
    if most.n_moved_back < below:
        moved = "some of the shifted answers"
    return [
        f"To satisfy the edits of the survey, {moved} were moved back, so these shifts are smaller"
        " than stated."
    ]


def _share_text(point: SensitivityPoint, below: int = 0) -> str:
    if 0 < point.n_moved_back < below:
        return "–"
    share = 100 * point.moved_back
    return "<0.1 %" if 0 < share < 0.05 else f"{share:.1f} %"


def value_text(found: Sensitivity, value: float) -> str:
    """Format an estimate as it is shown: a ratio, a per cent or a number."""
    if found.is_ratio:
        return ratio_text(float(np.exp(value)))
    return f"{percent_text(value)} %" if found.kind == "share" else number_text(value)


def delta_text(delta: float) -> str:
    """Format a shift with its sign.

    Examples
    --------
    >>> delta_text(-0.625), delta_text(0.0), delta_text(1.0)
    ('-0.625', '0', '+1')
    """
    return f"{delta:+.3g}" if delta else "0"


def shift_axis(plan: PlannedShift) -> str:
    """Return the unit of a shift, with the size of a standard deviation."""
    unit = plan.shift.unit or "sd"
    return f"{_UNITS[unit]} ({number_text(plan.size)})" if plan.size is not None else _UNITS[unit]


def _described(plan: PlannedShift) -> str:
    return f"{plan.n_cells:,} imputed answers of {plan.shift}, in {shift_axis(plan)}"


def _tried(plan: PlannedShift, below: int) -> str:
    shift = plan.shift
    count = f"fewer than {below}" if 0 < plan.n_cells < below else f"the {plan.n_cells:,}"
    unit = shift_axis(plan) if shift.unit != "sd" else _sd_of_observed(plan)
    moved = f"{count} imputed answers to {' and '.join(shift.questions)}"
    if shift.level is not None:
        moved += f" (level {shift.level})"
    if shift.reasons:
        moved += f" ({' or '.join(_REASONS[reason] for reason in shift.reasons)})"
    if shift.where:
        moved += f" of respondents with {shift.where}"
    if shift.low == shift.high:
        return f"{moved} by {shift.low:g} {unit}"
    return f"{moved} by {shift.low:g} to {shift.high:g} {unit}"


def _sd_of_observed(plan: PlannedShift) -> str:
    size = "" if plan.size is None else f" (1 standard deviation = {number_text(plan.size)})"
    return f"standard deviations of the observed answers{size}"


def estimate_name(found: Sensitivity) -> str:
    """Return what the finding is about, such as "mean of INCOME"."""
    return f"{'coefficient' if found.kind == 'estimate' else found.kind} of {found.term}"


def table_rows(found: Sensitivity, below: int = 0) -> list[list[str]]:
    """Return the table as texts, its head first; shares of fewer than ``below`` are withheld."""
    heads = [f"shift {k}" for k in range(1, len(found.planned) + 1)]
    heads = ["shift"] if len(heads) == 1 else heads
    value = found.kind if found.is_ratio else "estimate"
    has_p = found.null == 0 and (found.kind == "estimate" or found.is_ratio)
    edited = any(point.n_moved_back for point in found.points)
    columns = [value, f"{found.level * 100:g} % interval", *["p"] * has_p, "finding"]
    rows = [[*heads, *columns, *["moved back"] * edited]]
    for point in found.points:
        rows.append(
            [
                *map(delta_text, point.deltas),
                value_text(found, point.estimate),
                _interval(found, point),
                *[probability_text(point.p_value)] * has_p,
                _finding(found, point.finding),
                *[_share_text(point, below)] * edited,
            ]
        )
    return rows


def _table(found: Sensitivity) -> list[str]:
    rows = table_rows(found)
    sizes = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(size) for cell, size in zip(row, sizes, strict=True)) for row in rows
    ]


def _interval(found: Sensitivity, point: SensitivityPoint) -> str:
    return f"{value_text(found, point.low)} to {value_text(found, point.high)}"


def _finding(found: Sensitivity, finding: str) -> str:
    return f"{finding} {_null_text(found)}"


def _null_text(found: Sensitivity) -> str:
    return f"{np.exp(found.null):.3g}" if found.is_ratio else value_text(found, found.null)


def _tip_text(found: Sensitivity, tip: TippingPoint, in_paper: bool) -> str:
    beyond = {
        "includes": f"the interval includes {_null_text(found)}",
        "above": f"the whole interval is above {_null_text(found)}",
        "below": f"the whole interval is below {_null_text(found)}",
    }[tip.finding]
    if tip.delta == tip.inner == tip.outer:
        return f"{beyond} without a shift of {found.planned[0].shift}."
    unit = _UNITS[found.planned[0].shift.unit or "sd"]
    way = "lower" if tip.delta < 0 else "higher"
    if in_paper:
        moved = f"{found.planned[0].shift} is" if tip.others else "they are"
        return f"{beyond} if {moved} {way} by {abs(tip.delta):.3g} {unit} or more."
    ends = " and ".join(delta_text(end) for end in sorted((tip.inner, tip.outer)))
    return (
        f"the tipping point is {delta_text(tip.delta)} {unit} (between {ends}); beyond, {beyond}."
    )


def _others_text(found: Sensitivity, others: tuple[float, ...]) -> str:
    parts = [
        f"{plan.shift} shifted by {delta_text(delta)}"
        for plan, delta in zip(found.planned[1:], others, strict=True)
    ]
    return f"with {' and '.join(parts)}"
