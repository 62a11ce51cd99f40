"""A mixed-integer linear program: variables with costs, and conditions that have to hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.native_output import native_output_on_stderr

# Branches that the solver may explore for one respondent.
_MOST_NODES = 2_000
# A strict comparison of fractional numbers needs this difference, relative to their size.
_STRICT = 1e-6
# Numbers whose difference is smaller, relative to their size, count as equal in comparisons of
# edits (a billionth); with a margin.
_EQUAL = 2e-9
_MOST_DECIMALS = 6


@dataclass(frozen=True)
class Linear:
    """A constant plus a weighted sum of variables.

    Examples
    --------
    >>> Linear(1.0, {0: 2.0}) - Linear(0.5, {0: 2.0, 1: 1.0})
    Linear(constant=0.5, weights={1: -1.0})
    """

    constant: float
    weights: Mapping[int, float] = field(default_factory=dict)

    def __add__(self, other: Linear) -> Linear:
        both = {
            at: self.weights.get(at, 0.0) + other.weights.get(at, 0.0)
            for at in dict.fromkeys([*self.weights, *other.weights])
        }
        kept = {at: weight for at, weight in both.items() if weight != 0}
        return Linear(self.constant + other.constant, kept)

    def __sub__(self, other: Linear) -> Linear:
        return self + other.times(-1.0)

    def times(self, factor: float) -> Linear:
        """Return the form multiplied by a constant."""
        weights = {at: factor * weight for at, weight in self.weights.items() if factor != 0}
        return Linear(factor * self.constant, weights)


@dataclass(frozen=True)
class AtMost:
    """The condition that a form is at most 0; less than 0 if ``strict``."""

    form: Linear
    strict: bool = False


@dataclass(frozen=True)
class AllOf:
    """All of some conditions hold; always true if there are none."""

    parts: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class AnyOf:
    """At least one of some conditions holds; never true if there are none."""

    parts: tuple[Condition, ...] = ()


Condition: TypeAlias = AtMost | AllOf | AnyOf
ALWAYS, NEVER = AllOf(), AnyOf()


@dataclass(eq=False)
class Program:
    """Variables and conditions, to be solved at the least cost.

    Examples
    --------
    >>> program = Program()
    >>> apples = program.variable(0, 10, cost=2.0)
    >>> pears = program.variable(0, 10, cost=1.0)
    >>> few = AtMost(Linear(-1.0, {pears: 1.0}))
    >>> program.require(AnyOf((few, AtMost(Linear(4.0, {apples: -1.0})))))
    >>> program.require(AtMost(Linear(5.0, {apples: -1.0, pears: -1.0})))
    >>> program.solve().round().tolist()[:2]
    [4.0, 1.0]
    """

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    # Variables of which exactly one is 1, by the number of each of them.
    choices: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _rows: list[tuple[Mapping[int, float], float]] = field(default_factory=list)
    _feasible: bool = True

    def variable(self, lower: float, upper: float, *, cost: float = 0.0, whole: bool = True) -> int:
        """Add a variable and return its number."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.costs.append(cost)
        self.whole.append(whole)
        return len(self.lower) - 1

    def choice(self, costs: Sequence[float]) -> tuple[int, ...]:
        """Add variables of which exactly one is 1, the others 0."""
        found = tuple(self.variable(0, 1, cost=cost) for cost in costs)
        self.choices |= dict.fromkeys(found, found)
        together = Linear(-1.0, dict.fromkeys(found, 1.0))
        self.require(AllOf((AtMost(together), AtMost(together.times(-1.0)))))
        return found

    def limits(self, form: Linear) -> tuple[float, float]:
        """Return the smallest and the largest value that a form can have."""
        low = high = form.constant
        for at, weight in form.weights.items():
            ends = sorted((weight * self.lower[at], weight * self.upper[at]))
            low, high = low + ends[0], high + ends[1]
        return low, high

    def require(self, condition: Condition, guard: int | None = None) -> None:
        """Add a condition, which has to hold if the variable ``guard`` is 1, or always."""
        if isinstance(condition, AllOf):
            for part in condition.parts:
                self.require(part, guard)
        elif isinstance(condition, AnyOf):
            self._require_any(condition.parts, guard)
        else:
            self._require_at_most(condition, guard)

    def _require_any(self, parts: tuple[Condition, ...], guard: int | None) -> None:
        if ALWAYS in parts:
            return
        # Each part may be chosen; the choice is 1 only if the part holds.
        chosen = [self.variable(0, 1) for _ in parts]
        for part, own in zip(parts, chosen, strict=True):
            self.require(part, own)
        some = Linear(0.0, dict.fromkeys(chosen, -1.0))
        needed = Linear(1.0) if guard is None else Linear(0.0, {guard: 1.0})
        self._require_at_most(AtMost(some + needed), None)

    def _require_at_most(self, condition: AtMost, guard: int | None) -> None:
        form = condition.form
        shift = self._gap(form) if condition.strict and form.weights else 0.0
        highest = self.limits(form)[1] + shift
        if highest < 0 or (highest == 0 and (form.weights or not condition.strict)):
            return
        if not form.weights and guard is not None:
            # Never true: the guard is 0.
            self._rows.append(({guard: 1.0}, 0.0))
            return
        if guard is None:
            self._feasible &= bool(form.weights)
            self._rows.append((form.weights, -form.constant - shift))
            return
        weights = dict(form.weights)
        weights[guard] = weights.get(guard, 0.0) + highest
        self._rows.append((weights, highest - form.constant - shift))

    def _gap(self, form: Linear) -> float:
        """Return how far a form below 0 is from 0 at least."""
        weights = list(form.weights.values())
        if all(self.whole[at] for at in form.weights):
            for decimals in range(_MOST_DECIMALS + 1):
                scaled = [weight * 10.0**decimals for weight in weights]
                if np.allclose(scaled, np.round(scaled), rtol=0, atol=1e-9):
                    # The sum of whole variables is a multiple of this unit.
                    unit = math.gcd(*(round(abs(one)) for one in scaled)) / 10.0**decimals
                    highest = unit * (math.ceil(-form.constant / unit - 1e-9) - 1)
                    return max(-form.constant - highest, self._least_gap(form))
        return _STRICT * max(1.0, *(abs(end) for end in self.limits(form)))

    def _least_gap(self, form: Linear) -> float:
        """Return the difference below which large numbers count as equal."""
        sizes = [
            abs(weight) * max(abs(self.lower[at]), abs(self.upper[at]))
            for at, weight in form.weights.items()
        ]
        return _EQUAL * max(abs(form.constant), *sizes)

    def solve(self) -> NDArray[np.float64] | None:
        """Return the values of all variables at the least cost; None if none were found."""
        from scipy import optimize, sparse

        if not self._feasible:
            return None
        n_variables = len(self.lower)
        entries = [
            (row, at, weight)
            for row, (weights, _) in enumerate(self._rows)
            for at, weight in weights.items()
        ]
        constraints = []
        if entries:
            rows, columns, weights = zip(*entries, strict=True)
            matrix = sparse.csr_array(
                (weights, (rows, columns)), shape=(len(self._rows), n_variables)
            )
            highest = [limit for _, limit in self._rows]
            constraints = [optimize.LinearConstraint(matrix, -np.inf, highest)]
        with native_output_on_stderr():
            found = optimize.milp(
                self.costs,
                integrality=np.array(self.whole, dtype=int),
                bounds=optimize.Bounds(self.lower, self.upper),
                constraints=constraints,
                options={"node_limit": _MOST_NODES, "presolve": False},
            )
        if found.x is None:
            return None
        return np.where(self.whole, np.round(found.x), found.x)
