"""Features from which routes are predicted: standardised answers, 0 where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tabsoda.routing.routes import GateRoutes
from tabsoda.states.cell_states import CellState
from tabsoda.table import CodedTable

# Levels chosen by fewer respondents are too rare to estimate an effect.
_LEAST_ANSWERS = 10
# Standardised numbers are clipped at this many standard deviations.
_FAR = 3.0


class Feature(IntEnum):
    """What a feature encodes about its column."""

    NUMBER = 0
    LEVEL = 1
    ROUTE = 2
    SKIPPED = 3


@dataclass(frozen=True, eq=False)
class Predictors:
    """Columns as p features; arrays of shape (p,).

    A cell without an answer is 0 in all its features, the average of the answered cells. Only for
    gates is a skip distinguished, as one of the routes.

    Attributes
    ----------
    source : ndarray of int64
        Position of the column.
    kind : ndarray of int64
        Values of :class:`Feature`.
    which : ndarray of int64
        The level or route that the feature stands for.
    mean, scale : ndarray of float64
    """

    source: NDArray[np.int64]
    kind: NDArray[np.int64]
    which: NDArray[np.int64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, table: CodedTable, routes: dict[int, GateRoutes]) -> Predictors:
        """Choose and standardise the features of a table."""
        listed: list[tuple[int, int, int]] = []
        for position, column in enumerate(table.columns):
            if column.is_categorical:
                answered = table.states.answered[:, position]
                levels = table.values[answered, position].astype(np.int64)
                counts = np.bincount(levels, minlength=column.n_levels)
                common = np.flatnonzero(counts >= _LEAST_ANSWERS)
                listed += [(position, Feature.LEVEL, int(level)) for level in common]
            else:
                listed.append((position, Feature.NUMBER, 0))
            if position in routes:
                n_routes = routes[position].n_routes
                listed += [(position, Feature.ROUTE, route) for route in range(n_routes)]
                listed.append((position, Feature.SKIPPED, 0))
        source, kind, which = np.array(listed, dtype=np.int64).reshape(-1, 3).T
        mean, scale = np.zeros(source.size), np.ones(source.size)
        plain = cls(source, kind, which, mean, scale)
        for feature in range(source.size):
            value, known = plain._column(feature, table.values, table.states.states, routes)
            if known.any() and value[known].std() > 0:
                mean[feature], scale[feature] = value[known].mean(), value[known].std()
            else:
                # A constant feature carries no information.
                mean[feature] = value[known].mean() if known.any() else 0.0
        return plain

    def of_table(self, table: CodedTable, routes: dict[int, GateRoutes]) -> NDArray[np.float32]:
        """Return the features of a table's rows, shape (n_rows, p)."""
        result = np.zeros((table.shape[0], self.source.size), dtype=np.float32)
        for feature in range(self.source.size):
            value, known = self._column(feature, table.values, table.states.states, routes)
            scaled = (value[known] - self.mean[feature]) / self.scale[feature]
            result[known, feature] = scaled.clip(-_FAR, _FAR)
        return result

    def set_routes(
        self,
        features: NDArray[np.float32],
        rows: NDArray[np.int64],
        position: int,
        route: NDArray[np.int64],
    ) -> None:
        """Write drawn routes of a gate into the features of some rows; -1 is a skip."""
        for feature in np.flatnonzero(self.source == position):
            if self.kind[feature] in (Feature.ROUTE, Feature.SKIPPED):
                is_skip = self.kind[feature] == Feature.SKIPPED
                value = route == (-1 if is_skip else self.which[feature])
                scaled = (value - self.mean[feature]) / self.scale[feature]
                features[rows, feature] = scaled.clip(-_FAR, _FAR)

    def _column(
        self,
        feature: int,
        values: NDArray[np.float64],
        states: NDArray[np.uint8],
        routes: dict[int, GateRoutes],
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return one feature before standardising, and where it is known; shape (n_rows,) each."""
        position, kind, which = self.source[feature], self.kind[feature], self.which[feature]
        value, state = values[:, position], states[:, position]
        answered, skipped = state == CellState.ANSWERED, state == CellState.SKIPPED
        if kind == Feature.NUMBER:
            return value, answered
        if kind == Feature.LEVEL:
            return (value == which).astype(np.float64), answered
        if kind == Feature.ROUTE:
            on_route = routes[int(position)].of_values(value) == which
            return on_route.astype(np.float64), answered | skipped
        return skipped.astype(np.float64), answered | skipped
