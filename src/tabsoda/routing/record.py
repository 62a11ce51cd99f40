"""Counts of what following the rules did to an imputation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from tabsoda.events import EventLog

Kind = Literal["skipped", "ruled_out", "kept"]
# Rules listed in one event; the record contains all.
_NAMED = 5


@dataclass(frozen=True)
class RoutingRecord:
    """Counts of missing gates and their followers; ``Imputations.routing``.

    Attributes
    ----------
    policy : {"follow", "keep"}
    gates : int
        Missing gates with followers.
    followers : int
        Missing cells that depend on them: skipped in some draws, imputed in others.
    withheld : int
        Missing cells of absent respondents that known answers skip.
    skipped : tuple of int
        Cells skipped because of drawn gates, in each draw.
    skipped_in_point : int
        The same for the point estimate.
    counts : dict of (str, str) to int
        By rule and kind, summed over the draws: ``"skipped"`` cells that the rule skipped;
        ``"ruled_out"`` gates that could not take an answer because the question had been asked;
        ``"kept"`` answers to questions that the drawn gate skips, kept because the question was
        asked after the gate had been refused.
    left_missing : dict of (str, str) to int
        Cells that were not imputed, by column and rule: gates of which every answer skips a
        question that was asked, and refusals of questions that known answers skip. They are
        missing in every completed table.

    Examples
    --------
    >>> RoutingRecord(followers=10, skipped=(3, 5)).mean_skipped
    4.0
    """

    policy: str = "follow"
    gates: int = 0
    followers: int = 0
    withheld: int = 0
    skipped: tuple[int, ...] = ()
    skipped_in_point: int = 0
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    left_missing: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def n_left_missing(self) -> int:
        """Cells that were not imputed because any answer would break a rule."""
        return sum(self.left_missing.values())

    @property
    def left_by_column(self) -> dict[str, dict[str, int]]:
        """The same by column, and within it by rule."""
        return _nested(self.left_missing)

    @property
    def mean_skipped(self) -> float:
        """Cells skipped because of drawn gates, on average over the draws."""
        return sum(self.skipped) / len(self.skipped) if self.skipped else 0.0

    def total(self, kind: Kind) -> int:
        """Return the total of one kind over all rules."""
        return sum(count for (_, found), count in self.counts.items() if found == kind)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "policy": self.policy,
            "gates": self.gates,
            "followers": self.followers,
            "withheld": self.withheld,
            "skipped": list(self.skipped),
            "skipped_in_point": self.skipped_in_point,
            "by_rule": _nested(self.counts),
            "left_missing": self.left_by_column,
        }

    def log(self, events: EventLog) -> None:
        """Record what following the rules decided."""
        if self.gates:
            events.add(
                "followers_settled_by_drawn_gates",
                gates=self.gates,
                followers=self.followers,
                skipped=float(self.mean_skipped),
                draws=len(self.skipped),
            )
        if self.withheld:
            events.add("absent_respondents_skipped", cells=self.withheld)
        draws = max(len(self.skipped), 1)
        if self.total("ruled_out"):
            events.add("gate_answers_ruled_out", per_draw=self.total("ruled_out") / draws)
        if self.total("kept"):
            events.add("answers_kept_despite_drawn_gates", per_draw=self.total("kept") / draws)
        for column, rules in self.left_by_column.items():
            few = len(rules) <= _NAMED
            events.add(
                "cells_left_missing",
                column=column,
                cells=sum(rules.values()),
                rules=list(rules) if few else None,
                n_rules=None if few else len(rules),
            )

    @classmethod
    def together(cls, records: Iterable[RoutingRecord]) -> RoutingRecord:
        """Return the combined record of several parts of a table, imputed with one policy.

        Examples
        --------
        >>> parts = [RoutingRecord(followers=3, skipped=(1, 2)), RoutingRecord(skipped=(0, 4))]
        >>> RoutingRecord.together(parts).skipped
        (1, 6)
        """
        parts = list(records)
        counts: Counter[tuple[str, str]] = Counter()
        left: Counter[tuple[str, str]] = Counter()
        for part in parts:
            counts.update(part.counts)
            left.update(part.left_missing)
        return cls(
            parts[0].policy,
            sum(part.gates for part in parts),
            sum(part.followers for part in parts),
            sum(part.withheld for part in parts),
            tuple(sum(draw) for draw in zip(*(part.skipped for part in parts), strict=True)),
            sum(part.skipped_in_point for part in parts),
            dict(counts),
            dict(left),
        )

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> RoutingRecord:
        """Read a record from :meth:`to_dict`."""
        return cls(
            content["policy"],
            content["gates"],
            content["followers"],
            content["withheld"],
            tuple(content["skipped"]),
            content["skipped_in_point"],
            _paired(content["by_rule"]),
            # Absent in results of earlier versions.
            _paired(content.get("left_missing", {})),
        )


def _nested(counts: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (outer, inner), count in sorted(counts.items()):
        nested.setdefault(outer, {})[inner] = count
    return nested


def _paired(nested: dict[str, dict[str, int]]) -> dict[tuple[str, str], int]:
    return {(outer, inner): n for outer, counts in nested.items() for inner, n in counts.items()}
