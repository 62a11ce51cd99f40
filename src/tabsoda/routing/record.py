"""What following the rules did to an imputation, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["skipped", "ruled_out", "conflict"]


@dataclass(frozen=True)
class RoutingRecord:
    """How missing gates and their followers were settled; ``Imputations.routing``.

    Attributes
    ----------
    policy : {"follow", "keep"}
    gates : int
        Missing cells of gates on which something hung.
    followers : int
        Missing cells that hung on them: skipped in some draws, imputed in others.
    withheld : int
        Missing cells of respondents who were not there, which known answers lead past.
    skipped : tuple of int
        Cells settled as skipped in each draw.
    skipped_in_point : int
        The same for the point estimate.
    counts : dict of (str, str) to int
        By rule and kind, summed over the draws: ``"skipped"`` cells that the rule led past;
        ``"ruled_out"`` gates that could not take an answer because the question had been asked;
        ``"conflict"`` questions asked although no answer of the gate allows it.

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

    @property
    def mean_skipped(self) -> float:
        """Cells settled as skipped, on average over the draws."""
        return sum(self.skipped) / len(self.skipped) if self.skipped else 0.0

    def total(self, kind: Kind) -> int:
        """Return a count over all rules."""
        return sum(count for (_, found), count in self.counts.items() if found == kind)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        by_rule: dict[str, dict[str, int]] = {}
        for (rule, kind), count in sorted(self.counts.items()):
            by_rule.setdefault(rule, {})[kind] = count
        return {
            "policy": self.policy,
            "gates": self.gates,
            "followers": self.followers,
            "withheld": self.withheld,
            "skipped": list(self.skipped),
            "skipped_in_point": self.skipped_in_point,
            "by_rule": by_rule,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> RoutingRecord:
        """Read what :meth:`to_dict` gave."""
        values = {key: value for key, value in content.items() if key != "by_rule"}
        counts = {
            (rule, kind): count
            for rule, kinds in content["by_rule"].items()
            for kind, count in kinds.items()
        }
        return cls(**{**values, "skipped": tuple(values["skipped"])}, counts=counts)


def add_counts(into: Counter[tuple[str, str]], rule: str, kind: Kind, count: int) -> None:
    """Count cells of one kind for a rule."""
    if count:
        into[rule, kind] += int(count)
