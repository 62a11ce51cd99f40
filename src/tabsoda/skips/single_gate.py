"""Rules with one gate: which of its answers skip the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.skips.predictors import CODE_OF_REASON, FIRST_ANSWER, UNKNOWN, CellCodes, GateSet
from tabsoda.skips.screening import is_pure
from tabsoda.skips.settings import PuritySettings


def pays(
    blank: NDArray[np.int64], asked: NDArray[np.int64], max_share: float
) -> NDArray[np.float64]:
    """Return scores whose sum is positive exactly if the asked share is below the cap."""
    return max_share * blank - (1 - max_share) * asked


def best_interval(score: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first and last index of the contiguous run with the largest sum.

    Examples
    --------
    >>> best_interval(np.array([-1.0, 2.0, -1.0, 3.0, -9.0, 3.0]))
    (1, 3)
    """
    sums = np.concatenate([[0.0], np.cumsum(score)])
    lowest = np.minimum.accumulate(sums[:-1])
    last = int(np.argmax(sums[1:] - lowest))
    return int(np.argmin(sums[: last + 1])), last


@dataclass(frozen=True)
class GateCounts:
    """How often a target is blank or asked for each code of the columns before it."""

    blank: NDArray[np.int64]
    asked: NDArray[np.int64]

    @property
    def total(self) -> NDArray[np.int64]:
        """Rows per code."""
        return self.blank + self.asked


def count(codes: CellCodes, before: int, blank: NDArray[np.bool_]) -> GateCounts:
    """Count every code before a target over all rows, shape (n_codes,)."""
    totals = codes.totals[: codes.start[before]]
    blanks = codes.part_histogram(blank, np.ones(len(blank), dtype=bool), totals, before)
    return GateCounts(blanks, totals - blanks)


def rarely_asked(
    asked: NDArray[np.int64], total: NDArray[np.int64], asked_share: float, level: float
) -> NDArray[np.bool_]:
    """Return for which codes the target is asked significantly less often than overall."""
    # Loaded here because scipy.stats takes a third of a second.
    from scipy.stats import binom

    return np.asarray(binom.cdf(asked, total, asked_share) <= level)


def pure_codes(
    codes: CellCodes,
    before: int,
    counts: GateCounts,
    asked_share: float,
    max_share: float,
    settings: PuritySettings,
) -> NDArray[np.bool_]:
    """Return which codes skip the target by themselves; shape (n_codes,).

    Answers of a categorical gate, its skips, and reasons such as "refused" are tested one by one:
    with each, the target must be asked at most ``max_share`` of the time, and less often than
    overall. Answers of a numeric gate are tested as one interval. A reason must explain
    ``min_support`` blanks by itself, because few respondents give one and their true answer may not
    skip the target; a rarer reason is added only if the gate would not pass without it
    (:func:`with_needed_reasons`). A blank without a reason is never included.
    """
    score = pays(counts.blank, counts.asked, max_share)
    pure = score > 0
    where = np.flatnonzero(pure)
    level = settings.level_significance
    pure[where] = rarely_asked(counts.asked[where], counts.total[where], asked_share, level)
    start = codes.start
    pure[start[:before] + UNKNOWN] = False
    # The codes of the reasons of each gate, shape (before, n_reasons).
    reasons = start[:before, np.newaxis] + np.array(list(CODE_OF_REASON.values()))
    enough = counts.blank[reasons] >= settings.min_support
    mostly_blank = is_pure(counts.blank[reasons], counts.asked[reasons], settings.max_reason_share)
    rare = pure[reasons] & ~enough & mostly_blank
    pure[reasons] &= enough
    for gate in np.flatnonzero(codes.numeric[:before]):
        low, high = int(start[gate]) + FIRST_ANSWER, int(start[gate + 1])
        pure[low:high] = False
        if low < high and score[low:high].max() > 0:
            first, last = best_interval(score[low:high])
            chosen = slice(low + first, low + last + 1)
            n_asked, n_rows = counts.asked[chosen].sum(), counts.total[chosen].sum()
            # The interval was selected among as many starts as there are values.
            pure[chosen] = rarely_asked(n_asked, n_rows, asked_share, level / (high - low))
    return with_needed_reasons(
        codes, pure, counts, np.where(rare, reasons, -1), max_share, settings
    )


def with_needed_reasons(
    codes: CellCodes,
    pure: NDArray[np.bool_],
    counts: GateCounts,
    rare: NDArray[np.int64],
    max_share: float,
    settings: PuritySettings,
) -> NDArray[np.bool_]:
    """Add the rare reasons without which a gate does not pass, most frequent first.

    A gate's answers can have no exception and still be too few for the Wilson bound. The answers
    must explain ``min_support`` blanks: rare reasons can complete a rule but not form one.

    Parameters
    ----------
    codes : CellCodes
    pure : ndarray of bool, shape (n_codes,)
        The codes that are included anyway; not changed.
    counts : GateCounts
    rare : ndarray of int64, shape (n_gates, n_reasons)
        The codes of the reasons that could be added, -1 elsewhere.
    max_share : float
    settings : PuritySettings
    """
    pure, before = pure.copy(), len(rare)
    blank = per_gate(codes, before, counts.blank * pure)
    asked = per_gate(codes, before, counts.asked * pure)
    failing = (blank >= settings.min_support) & ~is_pure(blank, asked, max_share)
    for gate in np.flatnonzero(failing & (rare >= 0).any(axis=1)):
        places = rare[gate][rare[gate] >= 0]
        places = places[np.argsort(-counts.blank[places], kind="stable")]
        passes = is_pure(
            blank[gate] + np.cumsum(counts.blank[places]),
            asked[gate] + np.cumsum(counts.asked[places]),
            max_share,
        )
        if passes.any():
            pure[places[: int(np.argmax(passes)) + 1]] = True
    return pure


def gate_sets(codes: CellCodes, gates: NDArray[np.intp], pure: NDArray[np.bool_]) -> list[GateSet]:
    """Split the marked codes into one set per gate."""
    return [GateSet(int(g), pure[codes.start[g] : codes.start[g + 1]].copy()) for g in gates]


def per_gate(codes: CellCodes, before: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum a per-code array within each gate, shape (before,)."""
    return np.add.reduceat(values, codes.start[:before])


def nearest_best(
    gain: NDArray[np.float64], names_answers: NDArray[np.bool_], settings: PuritySettings
) -> int:
    """Choose among the gates that explain most: one that names answers, then the nearest.

    A gate all of whose answers skip the target, or only its own skip, explains as much as the real
    gate, but is less informative.
    """
    best = gain.max()
    naming = names_answers & (gain >= best - settings.answer_tolerance * abs(best))
    if naming.any():
        best = gain[naming].max()
        gain = np.where(naming, gain, -np.inf)
    return int(np.flatnonzero(gain >= best - settings.gain_tolerance * abs(best))[-1])
