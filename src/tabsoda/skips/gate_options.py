"""Find other gates that explain the same blanks equally well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.skips.predictors import CellCodes, GateSet
from tabsoda.skips.single_gate import GateCounts, gate_sets, pays, per_gate, pure_codes

if TYPE_CHECKING:
    from tabsoda.skips.purity import TargetSearch

Path = list[GateSet]


@dataclass(frozen=True)
class Scored:
    """One condition for each gate before a target; arrays of shape (n_gates,) unless stated.

    Conditions that name some of a gate's answers are preferred, because they say why a question is
    skipped; a condition that holds for any answer only says who else was asked. If one form asks
    WORRYB and the other WORRYD, "WORRYD is skipped when WORRYB was answered" fits as well as "when
    FORM is 1". Reasons such as "refused" count as answers here.

    Attributes
    ----------
    pure : ndarray of bool, shape (n_codes,)
        The codes that skip the target.
    blank, asked : ndarray of int64
        Rows in which the condition holds, by whether the target is blank or was asked.
    names_answers : ndarray of bool
        Whether some answers skip the target and others do not.
    """

    pure: NDArray[np.bool_]
    blank: NDArray[np.int64]
    asked: NDArray[np.int64]
    names_answers: NDArray[np.bool_]

    def score(self, exception_cost: float) -> NDArray[np.float64]:
        """Return the number of explained blanks minus the cost of the exceptions."""
        return self.blank - exception_cost * self.asked


def scored(search: TargetSearch, counts: GateCounts, pure: NDArray[np.bool_]) -> Scored:
    """Sum the counts of the marked codes of every gate."""
    codes, target = search.codes, search.target
    replies = search.gates.replies[: len(pure)]
    inside, outside = pure & replies, ~pure & replies
    other = pays(
        per_gate(codes, target, counts.blank * outside),
        per_gate(codes, target, counts.asked * outside),
        search.max_share,
    )
    # Answers too rare to form a rule by themselves do not count as naming answers, either.
    enough = per_gate(codes, target, counts.blank * inside) >= search.settings.min_support
    return Scored(
        pure,
        per_gate(codes, target, counts.blank * pure),
        per_gate(codes, target, counts.asked * pure),
        np.asarray(enough & (other < 0)),
    )


@dataclass(frozen=True)
class Alternatives:
    """The conditions that could replace one condition of a path.

    Attributes
    ----------
    own_names_answers : bool
        Whether the condition itself names answers.
    options : list of GateSet
        The others, best first; those that name answers come before the rest.
    n_naming : int
        How many of the options name answers.
    """

    own_names_answers: bool
    options: list[GateSet]
    n_naming: int


def alternatives(search: TargetSearch, path: Path, index: int) -> Alternatives:
    """Find the gates that explain the rows of a path as well as its condition at ``index``.

    Parameters
    ----------
    search : TargetSearch
    path : list of GateSet
    index : int
    """
    codes, settings = search.codes, search.settings
    own, rest = path[index], path[:index] + path[index + 1 :]
    counts = search.counts if not rest else _counts_where(search, codes.all_hold(rest))
    pure = search.pure if not rest else _pure(search, counts)
    found = scored(search, counts, pure)
    explained = codes.all_hold(path) & search.blank
    score = found.score(settings.exception_cost)
    own_score = _score_of(codes, own, counts, settings.exception_cost)
    named, own_named = found.names_answers, _names_answers(search, own, counts)
    wide = settings.gain_tolerance if own_named else settings.answer_tolerance
    tolerance = np.where(named, wide, settings.gain_tolerance)
    close = (score >= (1 - tolerance) * own_score) & (found.blank >= settings.min_support)
    close[[condition.gate for condition in path]] = False
    order = np.flatnonzero(close)
    # Order: conditions that name answers, then the best, then the nearest.
    order = order[np.lexsort((-order, -score[order], ~named[order]))][: settings.max_compared]
    # A gate that adds enough for a rule of its own is a gate, not a rival.
    slack = np.minimum(explained.sum() * tolerance[order], settings.min_support - 1)
    needed = explained.sum() - slack
    sets = gate_sets(codes, order, found.pure)
    overlap = [int((codes.holds(option) & explained).sum()) for option in sets]
    kept = [place for place in range(len(order)) if overlap[place] >= needed[place]]
    return Alternatives(
        own_named,
        [sets[place] for place in kept],
        int(named[order[kept]].sum()),
    )


def improved(search: TargetSearch, path: Path) -> Path:
    """Replace conditions that hold for any answer by ones that name answers, where possible."""
    path = list(path)
    for index in range(len(path)):
        found = alternatives(search, path, index)
        if not found.own_names_answers and found.n_naming:
            path[index] = found.options[0]
    return path


def options(search: TargetSearch, path: Path) -> list[Path]:
    """Return the paths with one condition replaced that fit and name answers as well."""
    found = []
    for index in range(len(path)):
        others = alternatives(search, path, index)
        fit = others.options[: others.n_naming] if others.own_names_answers else others.options
        found += [[*path[:index], option, *path[index + 1 :]] for option in fit]
    return found


def _counts_where(search: TargetSearch, rows: NDArray[np.bool_]) -> GateCounts:
    histogram = search.codes.histogram
    return GateCounts(
        histogram(rows & search.blank, search.target),
        histogram(rows & ~search.blank, search.target),
    )


def _pure(search: TargetSearch, counts: GateCounts) -> NDArray[np.bool_]:
    own = search.codes.own(0)
    total = counts.total[own].sum()
    share = float(counts.asked[own].sum() / max(int(total), 1))
    pure = pure_codes(search.codes, search.target, counts, share, search.max_share, search.settings)
    return pure & search.gates.usable[: len(pure)]


def _score_of(codes: CellCodes, own: GateSet, counts: GateCounts, cost: float) -> float:
    part = codes.own(own.gate)
    blank, asked = counts.blank[part][own.member].sum(), counts.asked[part][own.member].sum()
    return float(blank - cost * asked)


def _names_answers(search: TargetSearch, own: GateSet, counts: GateCounts) -> bool:
    part = search.codes.own(own.gate)
    blank, asked, replies = counts.blank[part], counts.asked[part], search.gates.replies[part]
    inside, outside = own.member & replies, ~own.member & replies
    other = pays(blank[outside].sum(), asked[outside].sum(), search.max_share)
    return bool(blank[inside].sum() >= search.settings.min_support and other < 0)
