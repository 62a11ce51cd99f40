"""Probabilities of the routes of a gate, given the answers that do not depend on it.

The engine sees which cells are skipped, so a missing gate whose followers are missing (not skipped)
would look like a gate answered with "yes". Routes are therefore predicted here, by penalised
logistic regressions that see neither the followers nor their states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.files import atomic_path
from tabsoda._internal.randomness import row_keys
from tabsoda._internal.threads import worker_threads
from tabsoda.errors import InputError
from tabsoda.routing.predictors import Predictors
from tabsoda.routing.reasons import ReasonRouting
from tabsoda.routing.routes import GateRoutes, gate_routes, sorted_descendants
from tabsoda.routing.unresolved import find_unresolved
from tabsoda.skips.forward import was_asked
from tabsoda.skips.rule_set import RuleSet
from tabsoda.table import CodedTable

# Inverse strength of the penalty; features are standardised.
_INVERSE_PENALTY = 0.05
# More rows do not improve the probabilities but take longer.
_MOST_ROWS = 20_000
# Log odds of a route that nobody took: drawn only if every other route is ruled out.
_NEVER = -30.0


@dataclass(frozen=True, eq=False)
class RouteModels:
    """One regression per gate.

    Attributes
    ----------
    predictors : Predictors
    gate, route : ndarray of int64, shape (n_outcomes,)
        The gate and the route of each row of coefficients.
    coefficients : ndarray of float64, shape (n_outcomes, p + 1)
        The last one is the intercept.
    observed : ndarray of float64, shape (n_outcomes, 2)
        The smallest and the largest number observed on the route; NaN if there is none.
    partition : ndarray of float64
        The routes and followers of the gates, as numbers; see :meth:`fits`.
    reasons : ReasonRouting
        Which followers were asked because of a refusal.
    """

    predictors: Predictors
    gate: NDArray[np.int64]
    route: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    observed: NDArray[np.float64]
    partition: NDArray[np.float64]
    reasons: ReasonRouting = field(default_factory=ReasonRouting)

    @classmethod
    def fit(cls, table: CodedTable, rules: RuleSet) -> RouteModels:
        """Fit to the rows in which a gate is answered; the order of rows does not matter.

        Parameters
        ----------
        table : CodedTable
            With the rules applied.
        rules : RuleSet
        """
        order = np.argsort(row_keys(table.values, table.states.states), kind="stable")
        sample = table.rows(order[:_MOST_ROWS])
        routes, below = gate_routes(rules, table), sorted_descendants(rules, table)
        predictors = Predictors.of(sample, routes)
        features = predictors.of_table(sample, routes)
        gates: list[int] = []
        numbers: list[int] = []
        coefficients, observed = [], [np.empty((0, 2))]
        for position, found in routes.items():
            taken = found.of_values(sample.values[:, position])
            hangs_on_gate = np.isin(predictors.source, [position, *below[position]])
            with worker_threads(1):
                fitted = _regression(features, taken, found.n_routes, ~hangs_on_gate)
            gates += [position] * found.n_routes
            numbers += range(found.n_routes)
            coefficients.append(fitted)
            observed.append(found.observed(table.values[:, position]))
        return cls(
            predictors,
            np.array(gates, dtype=np.int64),
            np.array(numbers, dtype=np.int64),
            np.vstack(coefficients) if coefficients else np.zeros((0, predictors.source.size + 1)),
            np.vstack(observed),
            _partition(routes, below),
            _reason_routing(rules, table, below),
        )

    def fits(self, rules: RuleSet, table: CodedTable) -> bool:
        """Return whether these regressions were fitted to the routes of these rules."""
        routes, below = gate_routes(rules, table), sorted_descendants(rules, table)
        return np.array_equal(self.partition, _partition(routes, below))

    def probabilities(self, features: NDArray[np.float32], position: int) -> NDArray[np.float64]:
        """Return the probabilities of the routes of the gate at a position; (n_rows, n_routes)."""
        mine = self.coefficients[self.gate == position]
        odds = features @ mine[:, :-1].T + mine[:, -1]
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float64)

    def save(self, path: Path) -> None:
        """Write to a safetensors file."""
        from safetensors.numpy import save_file

        parts = {
            "source": self.predictors.source,
            "kind": self.predictors.kind,
            "which": self.predictors.which,
            "mean": self.predictors.mean,
            "scale": self.predictors.scale,
            "gate": self.gate,
            "route": self.route,
            "coefficients": self.coefficients,
            "observed": self.observed,
            "partition": self.partition,
            "by_answer": self.reasons.by_answer,
        }
        with atomic_path(path) as temporary:
            save_file({name: np.ascontiguousarray(part) for name, part in parts.items()}, temporary)

    @classmethod
    def load(cls, path: Path) -> RouteModels:
        """Read a file of :meth:`save`."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            parts = load_file(path)
            names = ("source", "kind", "which", "mean", "scale")
            predictors = Predictors(*(parts[name] for name in names))
            return cls(
                predictors,
                parts["gate"],
                parts["route"],
                parts["coefficients"],
                parts["observed"],
                parts["partition"],
                # Models of earlier versions have no exceptions.
                ReasonRouting(parts["by_answer"]) if "by_answer" in parts else ReasonRouting(),
            )
        except (OSError, KeyError, SafetensorError) as error:
            raise InputError(
                f"The model file '{path}' cannot be read",
                found=f"{type(error).__name__}: {error}",
                expected="a model written by save",
                next_step="Save the model again, or fit it again",
            ) from error


def _regression(
    features: NDArray[np.float32],
    taken: NDArray[np.int64],
    n_routes: int,
    allowed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return coefficients and intercept of every route, shape (n_routes, p + 1)."""
    from sklearn.linear_model import LogisticRegression

    result = np.zeros((n_routes, features.shape[1] + 1))
    answered = taken >= 0
    seen = np.unique(taken[answered])
    # Without features, the intercepts give the observed shares.
    result[:, -1] = _NEVER
    result[seen, -1] = np.log(np.bincount(taken[answered])[seen])
    if seen.size < 2 or not allowed.any():
        return result
    # A loose tolerance: imputations do not depend on a per cent of probability.
    model = LogisticRegression(C=_INVERSE_PENALTY, tol=1e-3, max_iter=300)
    model.fit(features[answered][:, allowed].astype(np.float64), taken[answered])
    weights = np.zeros((seen.size, features.shape[1] + 1))
    places = np.append(np.flatnonzero(allowed), features.shape[1])
    fitted = np.column_stack([model.coef_, model.intercept_])
    # Two routes have one row of coefficients: the log odds of the second against the first.
    weights[1 if seen.size == 2 else slice(None), places] = fitted
    result[seen] = weights
    return result


def _reason_routing(
    rules: RuleSet, table: CodedTable, below: Mapping[int, Sequence[int]]
) -> ReasonRouting:
    """Find the followers that are informative about the answer of a refuser."""
    open_cells = find_unresolved(table, rules, np.ones(table.shape[1], dtype=bool))
    return ReasonRouting.learn(
        table.states,
        was_asked(table.states),
        open_cells.undecided,
        open_cells.led_past,
        below,
    )


def _partition(
    routes: Mapping[int, GateRoutes], below: Mapping[int, Sequence[int]]
) -> NDArray[np.float64]:
    """Return the routes and followers of the gates as numbers: what the regressions depend on."""
    parts: list[NDArray[np.float64]] = []
    for position, found in routes.items():
        hanging = np.array(sorted(below[position]), dtype=np.float64)
        listed = (np.array([position]), found.edges, found.route_of_level, hanging)
        parts += [np.append(part.astype(np.float64), -1.0) for part in listed]
    return np.concatenate(parts) if parts else np.empty(0)
