"""Extend a rule to nearby targets, and collapse duplicates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.skips.screening import Counts, wilson_upper
from tabsoda.skips.settings import PaperScreenSettings

if TYPE_CHECKING:
    from tabsoda.skips.paper_screen import Candidate


def extensions(
    rule: Candidate, blank: NDArray[np.bool_], settings: PaperScreenSettings
) -> list[Candidate]:
    """Return the rule for each neighbour whose blanks the same mask explains (Appendix A).

    The columns the rule looks at must come before the neighbour, so that the rule respects the
    order of the questionnaire.

    Parameters
    ----------
    rule : Candidate
    blank : ndarray of bool, shape (n_rows, n_columns)
    settings : PaperScreenSettings
    """
    reach, last = settings.neighbor_distance, blank.shape[1] - 1
    first = max(max(rule.gates) + 1, rule.target - reach)
    fired = int(rule.fires.sum())
    if min(fired, len(rule.fires) - fired) < settings.min_leaf:
        return []
    return [
        replace(rule, target=neighbor, extended_from=rule.target)
        for neighbor in range(first, min(last, rule.target + reach) + 1)
        if neighbor != rule.target and explains(Counts.of(rule.fires, blank[:, neighbor]), settings)
    ]


def explains(counts: Counts, settings: PaperScreenSettings) -> bool:
    """Return whether a mask passes the relaxed caps on a neighbour."""
    if counts.blank == 0 or counts.asked == 0:
        return False
    z = settings.confidence_z
    false_positive = settings.neighbor_false_positive * settings.max_false_positive_rate
    false_negative = settings.neighbor_false_negative * settings.max_false_negative_rate
    return bool(
        wilson_upper(counts.fired_asked, counts.asked, z) <= false_positive
        and wilson_upper(counts.silent_blank, counts.blank, z) <= false_negative
    )


def collapse_duplicates(
    rules: list[Candidate], blank: NDArray[np.bool_], column: int | None = None
) -> list[Candidate]:
    """Of the rules that share target, logic type and mask, keep the one with the best bound.

    Ties are broken by coverage, then by the number of conditions.

    Parameters
    ----------
    rules : list of Candidate
    blank : ndarray of bool, shape (n_rows, n_columns)
    column : int, optional
        The column of ``blank`` to count against; the rule's own target if not given.
    """
    best: dict[tuple[int, str, bytes], tuple[tuple[float, float, int], Candidate]] = {}
    for rule in rules:
        place = rule.target if column is None else column
        counts = Counts.of(rule.fires, blank[:, place])
        rank = (
            float(wilson_upper(counts.fired_asked, counts.asked)),
            -counts.fired_blank,
            sum(len(path) for path in rule.any_of),
        )
        key = (rule.target, rule.logic, np.packbits(rule.fires).tobytes())
        if key not in best or rank < best[key][0]:
            best[key] = (rank, rule)
    return [rule for _, rule in best.values()]
