"""Rules with several gates, proposed by a tree over the rows that no single gate explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.skips.predictors import FIRST_ANSWER, MISSING, UNKNOWN, CellCodes, GateSet
from tabsoda.skips.single_gate import best_interval, pays
from tabsoda.skips.tree_rules import by_blank_share, design, grow, walk

if TYPE_CHECKING:
    from tabsoda.skips.purity import TargetSearch


def split_gain(
    blank: NDArray[np.int64], asked: NDArray[np.int64], n_blank: int, n_asked: int
) -> NDArray[np.float64]:
    """Gini gain of "these rows against the others" for many splits at once, times the rows."""
    n = blank + asked
    rest_blank, rest = n_blank - blank, n_blank + n_asked - n
    inside = np.divide(blank.astype(float) ** 2, n, out=np.zeros(len(n)), where=n > 0)
    outside = np.divide(rest_blank.astype(float) ** 2, rest, out=np.zeros(len(n)), where=rest > 0)
    return inside + outside - n_blank**2 / max(n_blank + n_asked, 1)


def informative_gates(
    codes: CellCodes,
    before: int,
    blank: NDArray[np.int64],
    asked: NDArray[np.int64],
    most: int,
    usable: NDArray[np.bool_],
) -> list[int]:
    """Return the gates whose best single split is most informative, in questionnaire order."""
    first = codes.own(0)
    n_blank, n_asked = int(blank[first].sum()), int(asked[first].sum())
    gain = split_gain(blank, asked, n_blank, n_asked)
    gain[codes.start[:before] + UNKNOWN] = 0
    gain[~usable] = 0
    for gate in np.flatnonzero(codes.numeric[:before]):
        own = slice(int(codes.start[gate]) + FIRST_ANSWER, int(codes.start[gate + 1]))
        if not usable[own].all():
            continue
        gain[own] = split_gain(np.cumsum(blank[own]), np.cumsum(asked[own]), n_blank, n_asked)
    best = np.maximum.reduceat(gain, codes.start[:before])
    order = np.lexsort((-np.arange(before), -np.round(best, 9)))[:most]
    return sorted(int(gate) for gate in order if best[gate] > 0)


def candidate_paths(search: TargetSearch) -> list[list[GateSet]]:
    """Return the paths of a tree's blank leaves, largest first."""
    codes, settings, rows = search.codes, search.settings, ~search.covered
    blanks, asked = search.left.blank, search.left.asked
    usable = search.gates.usable[: len(blanks)]
    gates = informative_gates(codes, search.target, blanks, asked, settings.tree_gates, usable)
    if not gates or not (rows & ~search.blank).any():
        return []
    features = by_blank_share(codes, gates, blanks, asked)
    tree = grow(
        design(codes, features, rows),
        search.blank[rows],
        depth=settings.tree_depth,
        min_leaf=settings.min_support,
        min_chi_square=settings.tree_chi_square,
        asked_weight=2.0,
        blank_weight=1.0,
    )
    found: list[tuple[int, int, list[GateSet]]] = []
    for node in walk(tree, features, codes):
        if node.is_leaf and node.blank > node.asked:
            path = [_known(condition) for condition in node.path]
            fires = codes.all_hold(path) & rows & search.blank
            found.append((int(fires.sum()), len(found), path))
    found.sort(key=lambda item: (-item[0], item[1]))
    return [path for size, _, path in found if size >= settings.min_support]


def _known(condition: GateSet) -> GateSet:
    """Require that the gate was answered or itself skipped; :func:`widen` adds reasons that fit."""
    member = condition.member.copy()
    member[list(MISSING)] = False
    return GateSet(condition.gate, member)


def simplify(search: TargetSearch, path: list[GateSet]) -> list[GateSet] | None:
    """Widen each condition to all codes that do no harm, drop those not needed; None if impure.

    Only the necessary conditions remain, so an unknown answer to an unnecessary gate cannot keep
    the rule from firing.
    """
    if not passes(search, path):
        return None
    path = [widen(search, path, index) for index in range(len(path))]
    while len(path) > 1:
        shorter = [path[:index] + path[index + 1 :] for index in range(len(path))]
        fine = [option for option in shorter if passes(search, option)]
        if not fine:
            break
        path = max(fine, key=lambda option: int(search.codes.all_hold(option).sum()))
    return [widen(search, path, index) for index in range(len(path))]


def passes(search: TargetSearch, path: list[GateSet]) -> bool:
    """Return whether a path is pure and adds enough pure rows to those already covered."""
    fires = search.codes.all_hold(path)
    asked, blank = fires & ~search.blank, fires & search.blank
    if not search.is_pure(int(blank.sum()), int(asked.sum())):
        return False
    new_blank = int((blank & ~search.covered).sum())
    new_asked = int((asked & ~search.covered).sum())
    return bool(search.new_counts_pass(new_blank, new_asked, n_gates=len(path)))


def widen(search: TargetSearch, path: list[GateSet], index: int) -> GateSet:
    """Let a condition hold for every code that is pure where the path's other conditions hold."""
    codes, condition = search.codes, path[index]
    others = codes.all_hold(path[:index] + path[index + 1 :])
    n_codes = len(condition.member)
    blank = np.bincount(codes.local(condition.gate, others & search.blank), minlength=n_codes)
    asked = np.bincount(codes.local(condition.gate, others & ~search.blank), minlength=n_codes)
    score = pays(blank, asked, search.max_share)
    member = score > 0
    if codes.numeric[condition.gate]:
        member[FIRST_ANSWER:] = False
        if score[FIRST_ANSWER:].max(initial=0) > 0:
            first, last = best_interval(score[FIRST_ANSWER:])
            member[FIRST_ANSWER + first : FIRST_ANSWER + last + 1] = True
    # As for a single gate, a reason such as "refused" must explain enough blanks by itself.
    reasons = list(MISSING)
    member[reasons] &= blank[reasons] >= search.settings.min_support
    member[UNKNOWN] = False
    wider = GateSet(condition.gate, member)
    return wider if passes(search, [*path[:index], wider, *path[index + 1 :]]) else condition
