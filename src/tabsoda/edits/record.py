"""Counts of what edits did to an imputation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EditRecord:
    """Counts by constraint; ``Imputations.edits``.

    Attributes
    ----------
    policy : {"missing", "unconstrained"}
        What happens to cells that cannot satisfy a constraint.
    draws : int
    observed : dict of str to int
        Respondents whose observed answers alone violate a constraint; they are not changed.
    repaired : dict of str to int
        Rows that violated a constraint as drawn and satisfy it now, summed over the draws.
    repaired_in_point : dict of str to int
        The same for the two point estimates.
    unsatisfied : dict of str to int
        Respondents for whom no value satisfied a constraint in some draw or point estimate.
    left_missing : dict of str to int
        Cells that stay missing because of that, by column.

    Examples
    --------
    >>> EditRecord(draws=2, repaired={"A <= B": 6}).mean_repaired
    3.0
    """

    policy: str = "missing"
    draws: int = 0
    observed: dict[str, int] = field(default_factory=dict)
    repaired: dict[str, int] = field(default_factory=dict)
    repaired_in_point: dict[str, int] = field(default_factory=dict)
    unsatisfied: dict[str, int] = field(default_factory=dict)
    left_missing: dict[str, int] = field(default_factory=dict)

    @property
    def mean_repaired(self) -> float:
        """Violations repaired per draw, on average."""
        return sum(self.repaired.values()) / self.draws if self.draws else 0.0

    @property
    def n_left_missing(self) -> int:
        """Cells that stay missing because no value satisfies the constraints."""
        return sum(self.left_missing.values())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> EditRecord:
        """Read what :meth:`to_dict` returned."""
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})

    @classmethod
    def together(cls, records: Iterable[EditRecord]) -> EditRecord:
        """Return the combined record of several parts of a table.

        Examples
        --------
        >>> parts = [EditRecord(observed={"a": 1}), EditRecord(observed={"a": 2, "b": 1})]
        >>> EditRecord.together(parts).observed
        {'a': 3, 'b': 1}
        """
        parts = list(records)
        added: dict[str, dict[str, int]] = {}
        for name in ("observed", "repaired", "repaired_in_point", "unsatisfied", "left_missing"):
            counts: Counter[str] = Counter()
            for part in parts:
                counts.update(getattr(part, name))
            added[name] = dict(counts)
        return cls(parts[0].policy, parts[0].draws, **added)
