"""The default screen: a target's skips are a union of rules, each pure by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabsoda.skips.gate_options import Path, improved, options, scored
from tabsoda.skips.multi_gate import candidate_paths, simplify
from tabsoda.skips.predictors import CellCodes
from tabsoda.skips.screening import Counts, adjust, fisher_log_p, is_pure, wilson_upper
from tabsoda.skips.settings import PuritySettings
from tabsoda.skips.single_gate import (
    GateCounts,
    count,
    gate_sets,
    nearest_best,
    per_gate,
    pure_codes,
)
from tabsoda.skips.usable_gates import GateCodes


@dataclass(frozen=True)
class FoundRule:
    """A rule of one target, before gates are chosen over all targets.

    Attributes
    ----------
    path : list of GateSet
        The rule fires where all of its conditions hold.
    options : list of list of GateSet
        Other paths that explain the same blanks as well.
    """

    path: Path
    options: list[Path] = field(default_factory=list)


@dataclass
class TargetRules:
    """The rules found for one target.

    Attributes
    ----------
    fires : ndarray of bool, shape (n_rows,)
        Where any rule fires.
    rules : list of FoundRule
    log_p : list of float
        The log p-values of all candidates that were tested.
    rejected : Counter
        Number of rejected candidates, by the screen that rejected them.
    """

    fires: NDArray[np.bool_]
    rules: list[FoundRule] = field(default_factory=list)
    log_p: list[float] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)


class TargetSearch:
    """Looks for the rules of one target.

    Parameters
    ----------
    codes : CellCodes
        The cells before the target, with the skips learned so far.
    target : int
    blank : ndarray of bool, shape (n_rows,)
        Where the target is blank for no stated reason.
    settings : PuritySettings
    gates : GateCodes
        Which columns may be gates.
    """

    def __init__(
        self,
        codes: CellCodes,
        target: int,
        blank: NDArray[np.bool_],
        settings: PuritySettings,
        gates: GateCodes,
    ) -> None:
        self.codes, self.target, self.blank, self.settings = codes, target, blank, settings
        self.gates = gates
        self.covered = np.zeros(len(blank), dtype=bool)
        self.counts = count(codes, target, blank)
        # The same over the rows that no accepted rule covers.
        self.left = self.counts
        self.asked_share = float((~blank).mean())
        self.max_share = largest_asked_share(blank, settings)
        # The codes that skip the target by themselves, over all rows.
        self.pure = pure_codes(
            codes, target, self.counts, self.asked_share, self.max_share, settings
        )
        self.pure &= gates.usable[: len(self.pure)]
        self.accepted: list[Path] = []
        self.log_p: list[float] = []
        self.rejected: Counter[str] = Counter()

    def run(self) -> TargetRules:
        """Search single gates, then combinations; return the rules that add enough."""
        self._single_gates()
        self._several_gates()
        return self._result()

    def new_counts_pass(
        self, new_blank: NDArray | int, new_asked: NDArray | int, n_gates: int = 1
    ) -> NDArray:
        """Return whether the rows that a rule adds are enough, and pure by themselves.

        A longer path must add more: among many conditions some fit by chance.
        """
        residual_asked = (~self.blank & ~self.covered).sum()
        residual = max(int((~self.covered).sum()), 1)
        relative = self.settings.max_new_relative_share * residual_asked / residual
        cap = min(self.settings.max_new_share, relative)
        enough = np.asarray(new_blank) >= self.settings.min_support * n_gates
        upper = wilson_upper(new_asked, np.asarray(new_blank) + new_asked)
        return enough & (upper <= cap)

    def is_pure(self, blank: NDArray | int, asked: NDArray | int) -> NDArray:
        """Return whether the target is asked rarely enough where a rule fires."""
        return is_pure(blank, asked, self.max_share)

    def _single_gates(self) -> None:
        codes, target, settings, pure = self.codes, self.target, self.settings, self.pure
        found = scored(self, self.counts, pure)
        blank, asked = found.blank, found.asked
        enough = blank >= settings.min_support
        eligible = enough & self.is_pure(blank, asked)
        self.rejected["support"] += int(((blank > 0) & ~enough).sum())
        self.rejected["purity"] += int((enough & ~eligible).sum())
        eligible &= self._associated(eligible, blank, asked)
        while eligible.any():
            new_blank = per_gate(codes, target, self.left.blank * pure)
            new_asked = per_gate(codes, target, self.left.asked * pure)
            eligible &= self.new_counts_pass(new_blank, new_asked)
            if not eligible.any():
                break
            gain = np.where(eligible, new_blank - settings.exception_cost * new_asked, -np.inf)
            gate = nearest_best(gain, found.names_answers, settings)
            self._accept(gate_sets(codes, np.array([gate]), pure))
            eligible[gate] = False

    def _associated(
        self, eligible: NDArray[np.bool_], blank: NDArray[np.int64], asked: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Fisher's test and Benjamini-Hochberg over the gates that passed the other screens."""
        gates = np.flatnonzero(eligible)
        n_blank, n_asked = int(self.blank.sum()), int((~self.blank).sum())
        for gate in gates:
            b, a = int(blank[gate]), int(asked[gate])
            self.log_p.append(fisher_log_p(Counts(b, a, n_blank - b, n_asked - a)))
        keep = np.zeros(len(eligible), dtype=bool)
        keep[gates] = adjust(self.log_p) <= self.settings.false_discovery_rate
        self.rejected["association"] += int(len(gates) - keep.sum())
        return keep

    def _several_gates(self) -> None:
        for _ in range(self.settings.tree_rounds):
            found = False
            if (self.blank & ~self.covered).sum() < self.settings.min_support:
                return
            for proposed in candidate_paths(self):
                path = simplify(self, proposed)
                if path is None:
                    self.rejected["purity"] += 1
                    continue
                self.log_p.append(fisher_log_p(Counts.of(self.codes.all_hold(path), self.blank)))
                if adjust(self.log_p)[-1] > self.settings.false_discovery_rate:
                    self.rejected["association"] += 1
                    continue
                self._accept(improved(self, path))
                found = True
            if not found:
                return

    def _accept(self, path: Path) -> None:
        self.accepted.append(path)
        before, self.covered = self.covered, self.covered | self.codes.all_hold(path)
        counts = []
        for rows, known in ((self.blank, self.left.blank), (~self.blank, self.left.asked)):
            left, whole = rows & ~self.covered, rows & ~before
            counts.append(self.codes.part_histogram(left, whole, known, self.target))
        self.left = GateCounts(*counts)

    def _result(self) -> TargetRules:
        """Drop rules that the others make redundant, and return the rest."""
        masks = [self.codes.all_hold(path) for path in self.accepted]
        kept = list(range(len(masks)))
        depth = np.zeros(len(self.blank), dtype=np.int64)
        for mask in masks:
            depth += mask
        for index in range(len(masks)):
            alone = int((masks[index] & self.blank & (depth == 1)).sum())
            if alone < self.settings.min_support:
                kept.remove(index)
                depth = depth - masks[index]
                self.rejected["redundant"] += 1
        paths = [self.accepted[index] for index in kept]
        return TargetRules(
            fires=np.asarray(depth > 0),
            rules=[FoundRule(path, options(self, path)) for path in paths],
            log_p=self.log_p,
            rejected=+self.rejected,
        )


def largest_asked_share(blank: NDArray[np.bool_], settings: PuritySettings) -> float:
    """Return the largest share of respondents that may be asked a target where a rule fires.

    If few respondents were asked a question, almost any condition has a low asked share. So the
    share must also be low relative to the overall share asked.
    """
    relative = settings.max_relative_share * float((~blank).mean())
    return min(settings.max_asked_share, relative)
