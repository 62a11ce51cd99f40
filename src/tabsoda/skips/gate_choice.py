"""Choose gates over all targets, once every target has its candidates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabsoda.skips.gate_options import Path
from tabsoda.skips.predictors import SKIPPED, CellCodes, GateSet
from tabsoda.skips.purity import FoundRule, TargetRules, largest_asked_share
from tabsoda.skips.screening import Counts, adjust, fisher_log_p, is_pure
from tabsoda.skips.settings import PuritySettings

Key = tuple[int, int]


@dataclass(frozen=True)
class ChosenRule:
    """A rule with its evidence.

    Attributes
    ----------
    path : list of GateSet
    counts : Counts
    q_value : float
    rivals : list of (path, Counts)
        Other paths that fit as well, most plausible first.
    """

    path: Path
    counts: Counts
    q_value: float = 1.0
    rivals: list[tuple[Path, Counts]] = field(default_factory=list)


def gates_of(path: Path) -> tuple[int, ...]:
    """Return the columns of a path."""
    return tuple(condition.gate for condition in path)


def shared_gates(found: dict[int, TargetRules]) -> Counter[int]:
    """Count, for each gate, the targets for which no other gate explains more of some blanks.

    A greedy set cover: the gate that serves most targets is chosen first and takes its targets
    out of the count, so that a gate is not credited with targets that another explains better.

    Parameters
    ----------
    found : dict of int to TargetRules
        By target.
    """
    waiting: dict[Key, set[int]] = {}
    for target, rules in found.items():
        for number, rule in enumerate(rules.rules):
            paths = [rule.path, *rule.options]
            waiting[target, number] = {gate for path in paths for gate in gates_of(path)}
    served: Counter[int] = Counter()
    while waiting:
        targets_of: dict[int, set[int]] = {}
        for (target, _), gates in waiting.items():
            for gate in gates:
                targets_of.setdefault(gate, set()).add(target)
        # Ties are broken by position in the questionnaire, the later gate first.
        best = max(targets_of, key=lambda gate: (len(targets_of[gate]), gate))
        served[best] = len(targets_of[best])
        waiting = {key: gates for key, gates in waiting.items() if best not in gates}
    return served


class GateChoice:
    """Chooses among equally good gates, target by target in questionnaire order.

    If several gates explain a target's blanks equally well, the real gate is most likely the one
    that also explains other targets. If a question is skipped whenever an earlier one is, both
    have the same gate, and the rule names that gate rather than the earlier question.

    Parameters
    ----------
    codes : CellCodes
        With the skips that the search found; replaced by those of the chosen rules.
    asked : ndarray of bool, shape (n_rows, n_columns)
    settings : PuritySettings
    """

    def __init__(
        self, codes: CellCodes, asked: NDArray[np.bool_], settings: PuritySettings
    ) -> None:
        self.codes, self.asked, self.settings = codes, asked, settings
        self.chosen: dict[int, list[FoundRule]] = {}

    def run(self, found: dict[int, TargetRules]) -> dict[int, list[ChosenRule]]:
        """Return the rules of every target, with evidence and rivals."""
        served = shared_gates(found)
        result = {}
        for target, rules in found.items():
            blank = ~self.asked[:, target]
            proposed = self._proposed(target, rules, served)
            self.chosen[target] = proposed
            fires = self._fires(proposed)
            self.codes.mark_skipped(target, fires & blank)
            result[target] = self._with_evidence(proposed, rules, blank)
        return result

    def _proposed(self, target: int, found: TargetRules, served: Counter[int]) -> list[FoundRule]:
        """Choose the gates of a target's rules; keep the rules found if too little is explained."""
        blank = ~self.asked[:, target]
        explained, tolerance = found.fires & blank, self.settings.answer_tolerance
        rules = self._not_redundant([self._by_service(rule, served) for rule in found.rules], blank)
        if int((explained & ~self._fires(rules)).sum()) > tolerance * int(explained.sum()):
            rules = found.rules
        traced = [part for rule in rules for part in self._traced(target, rule)]
        traced = self._not_redundant(traced, blank)
        return traced if self._explain(target, traced, explained, tolerance) else rules

    def _by_service(self, rule: FoundRule, served: Counter[int]) -> FoundRule:
        """Put the path whose gates serve most targets first; the others keep the search's order."""
        paths = [rule.path, *rule.options]
        ranked = sorted(paths, key=lambda path: -sum(served[gate] for gate in gates_of(path)))
        return FoundRule(ranked[0], ranked[1:])

    def _traced(self, target: int, rule: FoundRule) -> list[FoundRule]:
        """Replace "was itself skipped" by that question's own gates if they explain as much."""
        blank = ~self.asked[:, target]
        for index, condition in enumerate(rule.path):
            if not _only_skipped(condition):
                continue
            rest = rule.path[:index] + rule.path[index + 1 :]
            parts = [
                FoundRule(joined(rest, part.path), [joined(rest, path) for path in part.options])
                for part in self.chosen.get(condition.gate, [])
            ]
            parts = [part for part in parts if self._passes(part.path, blank)]
            if parts and self._as_good(target, parts, rule, condition.gate):
                return [traced for part in parts for traced in self._traced(target, part)]
        return [rule]

    def _as_good(self, target: int, parts: list[FoundRule], rule: FoundRule, fellow: int) -> bool:
        """Return whether the gates of an earlier follow-up explain as much as its skip does.

        Respondents who were asked the earlier follow-up against its rules may be asked the target
        as well; they do not count as exceptions here.
        """
        blank, tolerance = ~self.asked[:, target], self.settings.gain_tolerance
        own, fires = self.codes.all_hold(rule.path), self._fires(parts)
        exceptions = int((fires & ~own & ~blank & ~self.asked[:, fellow]).sum())
        few_exceptions = exceptions <= tolerance * int((own & blank).sum())
        return few_exceptions and self._explain(target, parts, own & blank, tolerance)

    def _explain(
        self,
        target: int,
        rules: list[FoundRule],
        explained: NDArray[np.bool_],
        tolerance: float,
    ) -> bool:
        """Return whether rules lose few of the blanks that were explained before.

        If codes in the file mark skips, the skips of an earlier follow-up are known even where its
        gate was refused, and its rules do not explain them. Cells of the target that are marked as
        well remain skips without a rule, so rules may lose ``fellow_tolerance`` of all blanks in
        this way, and ``tolerance`` otherwise.
        """
        lost = explained & ~self._fires(rules)
        unmarked = lost & ~self.codes.marked_as_skipped(target)
        n = int(explained.sum())
        few = int(lost.sum()) <= self.settings.fellow_tolerance * n
        return few and int(unmarked.sum()) <= tolerance * n

    def _passes(self, path: Path, blank: NDArray[np.bool_]) -> bool:
        counts = Counts.of(self.codes.all_hold(path), blank)
        max_share = largest_asked_share(blank, self.settings)
        enough = counts.fired_blank >= self.settings.min_support
        return bool(enough and is_pure(counts.fired_blank, counts.fired_asked, max_share))

    def _fires(self, rules: list[FoundRule]) -> NDArray[np.bool_]:
        fires = np.zeros(len(self.asked), dtype=bool)
        for rule in rules:
            fires |= self.codes.all_hold(rule.path)
        return fires

    def _not_redundant(self, rules: list[FoundRule], blank: NDArray[np.bool_]) -> list[FoundRule]:
        """Drop rules whose blanks the others explain."""
        masks = [self.codes.all_hold(rule.path) for rule in rules]
        depth = np.sum(masks, axis=0) if masks else np.zeros(len(blank), dtype=np.int64)
        kept = []
        for rule, mask in zip(rules, masks, strict=True):
            if int((mask & blank & (depth == 1)).sum()) < self.settings.min_support:
                depth = depth - mask
            else:
                kept.append(rule)
        return kept

    def _with_evidence(
        self, rules: list[FoundRule], found: TargetRules, blank: NDArray[np.bool_]
    ) -> list[ChosenRule]:
        counts = [Counts.of(self.codes.all_hold(rule.path), blank) for rule in rules]
        family = found.log_p + [fisher_log_p(c) for c in counts]
        q_values = adjust(family)[len(found.log_p) :].tolist() if rules else []
        return [
            ChosenRule(rule.path, own, q_value, self._rivals(rule, own, blank))
            for rule, own, q_value in zip(rules, counts, q_values, strict=True)
        ]

    def _rivals(
        self, rule: FoundRule, own: Counts, blank: NDArray[np.bool_]
    ) -> list[tuple[Path, Counts]]:
        """Return the options that still fit as well under the chosen rules."""
        explained = self.codes.all_hold(rule.path) & blank
        slack = self.settings.gain_tolerance * own.fired_blank
        rivals = []
        for path in rule.options:
            # Another follow-up that is skipped at the same time is not a gate.
            if any(_only_skipped(condition) for condition in path):
                continue
            fires = self.codes.all_hold(path)
            counts = Counts.of(fires, blank)
            lost = own.fired_blank - int((fires & explained).sum())
            if lost <= slack and counts.fired_asked - own.fired_asked <= slack:
                rivals.append((path, counts))
        return rivals[: self.settings.max_rivals]


def joined(first: Path, second: Path) -> Path:
    """Return the path that combines the conditions of both, one per gate."""
    members: dict[int, NDArray[np.bool_]] = {}
    for condition in [*first, *second]:
        known = members.get(condition.gate)
        member = condition.member
        members[condition.gate] = member if known is None else known & member
    return [GateSet(gate, member) for gate, member in members.items()]


def _only_skipped(condition: GateSet) -> bool:
    return bool(condition.member[SKIPPED]) and int(condition.member.sum()) == 1
