"""Those who answer beside the network: tree experts, experts of gates, and regressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.em.blending import CellAnswers
from tabsoda.em.model import Model
from tabsoda.encoding.answer_codec import AnswerCodec
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.experts import GateExperts, TreeExperts
    from tabsoda.regressions import ChainedRegressions

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Advisers:
    """Any of them may be missing.

    Attributes
    ----------
    experts : TreeExperts or None
    gate_experts : GateExperts or None
    regressions, draw_regressions : ChainedRegressions or None
        For point estimates, and for draws.
    """

    experts: TreeExperts | None = None
    gate_experts: GateExperts | None = None
    regressions: ChainedRegressions | None = None
    draw_regressions: ChainedRegressions | None = None

    def tree_answers(
        self, model: Model, table: CodedTable, cells: NDArray[np.bool_] | None = None
    ) -> CellAnswers | None:
        """Return what the tree experts say; where a column has none, its shares of levels.

        Parameters
        ----------
        model : Model
        table : CodedTable
            The rows in question alone.
        cells : ndarray of bool, shape (n, d), optional
            About which cells they are asked; all unless given. What stands in the others must
            not be read.
        """
        if self.experts is None:
            return None
        everyone = np.arange(table.shape[0])
        codec, layout = model.codec, model.codec.layout
        said = self.experts.predict(table, everyone, cells)
        max_levels = max(int(layout.n_levels[codec.categorical_columns].max(initial=1)), 1)
        probabilities = np.zeros((table.shape[0], codec.categorical_columns.size, max_levels))
        for place, column in enumerate(codec.categorical_columns.tolist()):
            n_levels = int(layout.n_levels[column])
            if column in said.probabilities:
                probabilities[:, place, :n_levels] = said.probabilities[column]
            else:
                counts = codec.level_counts[column, :n_levels] + 0.5
                probabilities[:, place, :n_levels] = counts / counts.sum()
        bins = answer_codec_of(model).bins
        numbers = np.zeros((table.shape[0], layout.continuous_columns.size))
        for place, column in enumerate(layout.continuous_columns.tolist()):
            if column in said.numbers:
                deviation = said.numbers[column] - bins.mean[place]
                numbers[:, place] = deviation / bins.scale[place]
        answers = CellAnswers(probabilities, numbers)
        self._ask_gate_experts(model, table, answers)
        return answers

    def _ask_gate_experts(self, model: Model, table: CodedTable, answers: CellAnswers) -> None:
        """Put in, in place, what is said of gates whose followers are unresolved."""
        if self.gate_experts is None:
            return
        unresolved = self.gate_experts.unresolved(table.states)
        rows = np.flatnonzero(unresolved.any(axis=1))
        if not rows.size:
            return
        said = self.gate_experts.experts.predict(table, rows, unresolved[rows])
        categorical = model.codec.categorical_columns.tolist()
        continuous = model.codec.layout.continuous_columns.tolist()
        bins = answer_codec_of(model).bins
        for column, given in said.probabilities.items():
            if column in categorical:
                mine = unresolved[rows, column]
                place = categorical.index(column)
                answers.probabilities[rows[mine], place, : given.shape[1]] = given[mine]
        for column, given in said.numbers.items():
            if column in continuous:
                mine = unresolved[rows, column]
                place = continuous.index(column)
                standard = (given[mine] - bins.mean[place]) / bins.scale[place]
                answers.numbers[rows[mine], place] = standard

    def without_blanks(
        self,
        model: Model,
        table: CodedTable,
        network: CellAnswers,
        experts: CellAnswers | None,
        regressions: CellAnswers | None,
    ) -> CellAnswers:
        """Let others speak for the network of gates whose followers are unresolved.

        The network reads a blank follower as one that was asked.
        """
        other = experts if experts is not None else regressions
        if self.gate_experts is None or other is None:
            return network
        unresolved = self.gate_experts.unresolved(table.states)
        levels = unresolved[:, model.codec.categorical_columns, None]
        numbers = unresolved[:, model.codec.layout.continuous_columns]
        return CellAnswers(
            np.where(levels, other.probabilities, network.probabilities),
            np.where(numbers, other.numbers, network.numbers),
            network.bins,
        )

    def regression_answers(
        self, model: Model, table: CodedTable, network: CellAnswers
    ) -> CellAnswers | None:
        """Return what the regressions say; what the network says where a column has none.

        Where a predictor is missing, the regressions read what the network expects of it, and,
        unless it is a number, how sure it is of that.

        Parameters
        ----------
        model : Model
        table : CodedTable
            The rows in question alone.
        network : CellAnswers
            Of the same rows.
        """
        if self.regressions is None:
            return None
        layout, bins = model.codec.layout, answer_codec_of(model).bins
        probabilities, numbers = network.probabilities.copy(), network.numbers.copy()
        design = self.regressions.design
        matrix = design.matrix(table.values, table.states.skipped)
        variances = np.zeros_like(matrix)
        # Every column, its place among its kind, and the rows it is missing in.
        missing = [
            (column, place, np.flatnonzero(table.states.missing[:, column]))
            for columns in (model.codec.categorical_columns, layout.continuous_columns)
            for place, column in enumerate(columns.tolist())
        ]
        n_levels = layout.n_levels
        for column, place, rows in missing:
            if table.columns[column].is_categorical:
                expected = network.probabilities[rows, place, : n_levels[column]]
                design.put_variances(variances, rows, column, expected)
            else:
                expected = network.numbers[rows, place] * bins.scale[place] + bins.mean[place]
            design.put(matrix, rows, column, expected)
        for column, place, rows in missing:
            if column not in self.regressions.predictors:
                continue
            said = self.regressions.expect(matrix[rows], column, variances[rows])
            if table.columns[column].is_categorical:
                probabilities[rows, place, : n_levels[column]] = said
            else:
                numbers[rows, place] = (said - bins.mean[place]) / bins.scale[place]
        return CellAnswers(probabilities, numbers)

    def to_state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return what :meth:`from_state` needs: arrays, and content for JSON."""
        parts: dict[str, Any] = {
            "experts": self.experts,
            "regressions": self.regressions,
            "draw_regressions": self.draw_regressions,
        }
        arrays: Arrays = {}
        if self.gate_experts is not None:
            parts["gate_experts"] = self.gate_experts.experts
            arrays["followers"] = self.gate_experts.followers
        content = {}
        for name, part in parts.items():
            if part is not None:
                own, content[name] = part.to_state()
                arrays |= {f"{name}.{key}": array for key, array in own.items()}
        return arrays, content

    @classmethod
    def from_state(cls, arrays: Arrays, content: dict[str, Any]) -> Advisers:
        """Rebuild from :meth:`to_state`."""

        def part(name: str) -> Arrays:
            prefix = f"{name}."
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        found: dict[str, Any] = {}
        for name in ("experts", "gate_experts"):
            if name in content:
                from tabsoda.experts import GateExperts, TreeExperts

                found[name] = TreeExperts.from_state(part(name), content[name])
                if name == "gate_experts":
                    found[name] = GateExperts.of(found[name], arrays["followers"])
        for name in ("regressions", "draw_regressions"):
            if name in content:
                from tabsoda.regressions import ChainedRegressions

                found[name] = ChainedRegressions.from_state(part(name), content[name])
        return cls(**found)


def answer_codec_of(model: Model) -> AnswerCodec:
    """Return the answer codec of a model that must have one."""
    if model.answer_codec is None:
        raise ValueError("the model has no decoder heads")
    return model.answer_codec
