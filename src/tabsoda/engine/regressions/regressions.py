"""Chained regressions as a predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.predictor import CellAnswers, Mask, State, UsualShares
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class Regressions:
    """The mean prediction of several sets of regressions.

    For a missing predictor, the regressions use the network's expected value and, unless it is a
    number, its variance.

    Attributes
    ----------
    codec : AnswerCodec
    chained : ChainedRegressions
    """

    name: ClassVar[str] = "regressions"
    # Why ordinals have a larger default share: docs/decisions/0008-regressions.md.
    usual: ClassVar[UsualShares] = UsualShares(nominals=0.3, ordinals=0.5, numbers=0.3)

    codec: AnswerCodec
    chained: ChainedRegressions

    def answers(
        self, table: CodedTable, cells: Mask, network: CellAnswers | None = None
    ) -> CellAnswers:
        """Predict; returns the network's answers for questions without a regression."""
        if network is None:
            raise ValueError("regressions need the answers of the network")
        codec, design = self.codec, self.chained.design
        probabilities, numbers = network.probabilities.copy(), network.numbers.copy()
        matrix = design.matrix(table.values, table.states.skipped)
        variances = np.zeros_like(matrix)
        missing = table.states.missing
        for place, column in enumerate(codec.categorical.tolist()):
            rows = np.flatnonzero(missing[:, column])
            expected = network.probabilities[rows, place, : codec.n_levels[column]]
            design.put(matrix, rows, column, expected)
            design.put_variances(variances, rows, column, expected)
        bins = codec.bins
        for place, column in enumerate(codec.numbers.tolist()):
            rows = np.flatnonzero(missing[:, column])
            design.put(
                matrix,
                rows,
                column,
                network.numbers[rows, place] * bins.scale[place] + bins.mean[place],
            )
        for place, column in enumerate(codec.categorical.tolist()):
            if column in self.chained.terms:
                rows = np.flatnonzero(missing[:, column])
                predicted = self.chained.expect(matrix[rows], column, variances[rows])
                probabilities[rows, place, : codec.n_levels[column]] = predicted
        for place, column in enumerate(codec.numbers.tolist()):
            if column in self.chained.terms:
                rows = np.flatnonzero(missing[:, column])
                predicted = self.chained.expect(matrix[rows], column, variances[rows])
                numbers[rows, place] = (predicted - bins.mean[place]) / bins.scale[place]
        return CellAnswers(probabilities, numbers)

    def to_state(self) -> State:
        """Return what :meth:`from_state` needs."""
        return self.chained.to_state()

    @classmethod
    def from_state(
        cls, arrays: dict[str, NDArray[Any]], content: dict[str, Any], codec: AnswerCodec
    ) -> Regressions:
        """Rebuild from :meth:`to_state`."""
        return cls(codec, ChainedRegressions.from_state(arrays, content))
