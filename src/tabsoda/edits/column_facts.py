"""What the answers of a column show about possible values: range, whole numbers, donors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Column
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
_MOST_DONORS = 400
MOST_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """The observed answers of a column, as far as repairs need them.

    Attributes
    ----------
    donors : ndarray of float64
        Different answers, ascending; at most 400, spread evenly over their ranks.
    shares : ndarray of float64
        The share of respondents with each donor; of each level for categorical columns.
    low, high, spread : float
        Smallest and largest answer, and their standard deviation (1 if it is 0).
    decimals : int
        Largest number of decimals of an answer.
    """

    donors: Values
    shares: Values
    low: float
    high: float
    spread: float
    decimals: int

    @classmethod
    def of(cls, column: Column, answers: Values) -> ColumnFacts:
        """Return the facts of one column.

        Examples
        --------
        >>> from tabsoda.schema import ColumnKind
        >>> facts = ColumnFacts.of(Column("hours", ColumnKind.CONTINUOUS), np.array([1, 2.5, 2.5]))
        >>> facts.donors.tolist(), facts.decimals
        ([1.0, 2.5], 1)
        """
        if column.is_categorical:
            counts = np.bincount(answers.astype(np.int64), minlength=column.n_levels)
            levels = np.arange(column.n_levels, dtype=np.float64)
            shares = counts / max(answers.size, 1)
            return cls(levels, shares, 0.0, max(column.n_levels - 1.0, 0.0), 1.0, 0)
        donors, counts = np.unique(answers, return_counts=True)
        if donors.size > _MOST_DONORS:
            places = np.linspace(0, donors.size - 1, _MOST_DONORS).round().astype(np.int64)
            donors, counts = donors[places], counts[places]
        low, high = (float(donors[0]), float(donors[-1])) if donors.size else (-np.inf, np.inf)
        spread = float(answers.std()) if answers.size else 0.0
        shares = counts / max(answers.size, 1)
        return cls(donors, shares, low, high, spread or 1.0, _decimals(donors))

    @property
    def is_whole(self) -> bool:
        """Whether all answers are whole numbers."""
        return self.decimals == 0

    def domain(self, column: Column) -> tuple[float, float]:
        """Return the smallest and largest value that a repair may write.

        The bounds of the description; without them, a number whose answers are not negative stays
        so, and may otherwise leave the observed range if an edit determines it.
        """
        if column.is_categorical:
            return self.low, self.high
        low = (0.0 if self.low >= 0 else -np.inf) if column.minimum is None else column.minimum
        return low, np.inf if column.maximum is None else column.maximum

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "donors": self.donors.tolist(),
            "shares": self.shares.tolist(),
            # JSON has no infinity, which stands for a column without answers.
            "range": [self.low, self.high] if np.isfinite(self.low) else None,
            "spread": self.spread,
            "decimals": self.decimals,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> ColumnFacts:
        """Read what :meth:`to_dict` returned."""
        low, high = content["range"] or (-np.inf, np.inf)
        donors, shares = (np.array(content[name], dtype=float) for name in ("donors", "shares"))
        return cls(donors, shares, low, high, content["spread"], content["decimals"])


def facts_of(table: CodedTable, names: Iterable[str]) -> dict[str, ColumnFacts]:
    """Return the facts of some columns of a table."""
    found = {}
    for name in names:
        position = table.names.index(name)
        answers = table.values[table.states.answered[:, position], position]
        found[name] = ColumnFacts.of(table.columns[position], answers)
    return found


def _decimals(numbers: Values) -> int:
    """Return how many decimals are needed to write all numbers, at most 6."""
    for decimals in range(MOST_DECIMALS):
        if np.allclose(numbers, np.round(numbers, decimals), rtol=1e-12, atol=1e-9):
            return decimals
    return MOST_DECIMALS
