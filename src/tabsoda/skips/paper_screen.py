"""The paper's screen (Section 3.2, Appendix A): one rule must explain nearly all blanks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.progress import Progress
from tabsoda.skips.neighbors import collapse_duplicates, extensions
from tabsoda.skips.predictors import CellCodes, GateSet
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.skips.screening import (
    Caps,
    Counts,
    adjust,
    evidence,
    fisher_log_p,
    position_caps,
    wilson_upper,
)
from tabsoda.skips.settings import PaperScreenSettings
from tabsoda.skips.tree_rules import design, grow, one_hot, splittable, walk
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule proposed by a tree.

    Attributes
    ----------
    any_of : tuple of tuple of Condition
    gates : frozenset of int
        Positions of the columns it looks at.
    fires : ndarray of bool, shape (n_rows,)
    target : int
    q_value : float
    extended_from : int or None
    """

    any_of: tuple[tuple[Condition, ...], ...]
    gates: frozenset[int]
    fires: NDArray[np.bool_]
    target: int
    q_value: float = 1.0
    extended_from: int | None = None

    @property
    def logic(self) -> str:
        """The rule's logic type: single, AND, or OR."""
        if len(self.any_of) > 1:
            return "or"
        return "and" if len(self.any_of[0]) > 1 else "single"


def mine_as_in_the_paper(
    table: CodedTable,
    asked: NDArray[np.bool_],
    settings: PaperScreenSettings,
    events: EventLog,
    progress: Progress,
) -> tuple[SkipRule, ...]:
    """Run the paper's screen over all columns and return its rules.

    Rules that a target receives from a later neighbour depend on columns up to that neighbour. All
    other rules, and the skips that a target's tree sees, depend only on earlier columns.
    """
    codes = CellCodes(table, settings.quantile_bins)
    blank = ~asked
    skipped = np.zeros(table.shape, dtype=bool)
    accepted: list[Candidate] = []
    for target, name in enumerate(table.names):
        n_blank = int(blank[:, target].sum())
        if target > 0 and 0 < n_blank < len(blank):
            own = target_rules(codes, target, blank[:, target], settings, events)
            for rule in own:
                for candidate in (rule, *extensions(rule, blank, settings)):
                    place = candidate.target
                    skipped[:, place] |= candidate.fires & blank[:, place]
                    codes.mark_skipped(place, skipped[:, place])
                    accepted.append(candidate)
        elif n_blank:
            if target == 0:
                events.add("first_question_not_mined", column=name)
            else:
                events.add("question_blank_in_every_row", column=name)
        progress(target + 1, len(table.names), name)
    kept = collapse_duplicates(accepted, blank)
    events.add("duplicate_rules_collapsed", rules=len(accepted) - len(kept))
    kept.sort(key=lambda candidate: candidate.target)
    return tuple(as_rule(table, number, c, blank) for number, c in enumerate(kept))


def target_rules(
    codes: CellCodes,
    target: int,
    blank: NDArray[np.bool_],
    settings: PaperScreenSettings,
    events: EventLog,
) -> list[Candidate]:
    """Return the rules of one target that pass caps, Fisher's test and Benjamini-Hochberg."""
    n_rows, n_columns = codes.codes.shape
    caps = position_caps(target, n_columns, n_rows, int(blank.sum()), settings)
    rejected: Counter[str] = Counter()
    passed: list[Candidate] = []
    for candidate in collapse_duplicates(
        propose(codes, target, blank, caps.support, settings), blank[:, None], column=0
    ):
        why = failed_screen(Counts.of(candidate.fires, blank), caps, settings.confidence_z)
        if why is None:
            passed.append(candidate)
        else:
            rejected[why] += 1
    q_values = adjust([fisher_log_p(Counts.of(c.fires, blank)) for c in passed])
    rules = []
    for candidate, q_value in zip(passed, q_values, strict=True):
        if q_value <= settings.false_discovery_rate:
            rules.append(
                Candidate(candidate.any_of, candidate.gates, candidate.fires, target, q_value)
            )
        else:
            rejected["association"] += 1
    if rejected:
        events.add(
            "candidate_rules_rejected",
            column=codes.columns[target].name,
            support=rejected.get("support"),
            association=rejected.get("association"),
            false_positives=rejected.get("false-positive cap"),
            false_negatives=rejected.get("false-negative cap"),
        )
    return rules


def propose(
    codes: CellCodes,
    target: int,
    blank: NDArray[np.bool_],
    min_leaf: int,
    settings: PaperScreenSettings,
) -> list[Candidate]:
    """Return every path of the tree to a node that predicts blank, and the union of its leaves."""
    all_rows = np.ones(len(blank), dtype=bool)
    counts = codes.totals[: codes.start[target]]
    features = splittable(codes, one_hot(codes, list(range(target))), counts, min_leaf)
    if not features:
        return []
    tree = grow(
        design(codes, features, all_rows),
        blank,
        depth=settings.tree_depth,
        min_leaf=max(min_leaf, 1),
        asked_weight=settings.answered_weight,
        blank_weight=settings.blank_weight,
    )
    nodes = [node for node in walk(tree, features, codes) if node.blank > node.asked]
    found = [candidate(codes, target, [node.path]) for node in nodes]
    leaves = [node.path for node in nodes if node.is_leaf]
    if len(leaves) > 1:
        found.append(candidate(codes, target, leaves))
    return found


def candidate(codes: CellCodes, target: int, paths: list[tuple[GateSet, ...]]) -> Candidate:
    """Combine paths into a candidate that fires where any of them holds."""
    masks = [codes.all_hold(list(path)) for path in paths]
    return Candidate(
        any_of=tuple(tuple(codes.describe(condition) for condition in path) for path in paths),
        gates=frozenset(condition.gate for path in paths for condition in path),
        fires=np.logical_or.reduce(masks),
        target=target,
    )


def failed_screen(counts: Counts, caps: Caps, z: float) -> str | None:
    """Return the first screen that a rule fails (Eq. skip_rule_screen), or None."""
    if counts.fired < caps.support:
        return "support"
    if wilson_upper(counts.fired_asked, counts.asked, z) > caps.false_positive:
        return "false-positive cap"
    if wilson_upper(counts.silent_blank, counts.blank, z) > caps.false_negative:
        return "false-negative cap"
    return None


def as_rule(table: CodedTable, number: int, found: Candidate, blank: NDArray[np.bool_]) -> SkipRule:
    """Turn an accepted candidate into a :class:`SkipRule`."""
    origin = found.extended_from
    return SkipRule(
        identifier=f"r{number + 1:03d}",
        target=table.names[found.target],
        any_of=found.any_of,
        evidence=evidence(Counts.of(found.fires, blank[:, found.target]), found.q_value),
        extended_from=None if origin is None else table.names[origin],
    )
