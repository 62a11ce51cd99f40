"""Boosted trees as a predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.predictor import CellAnswers, Mask, State, UsualShares
from tabsoda.engine.trees.tree_models import TreeAnswers, TreeModels
from tabsoda.followers import unresolved_gates
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class Trees:
    """One model per question, and separate models for gates whose followers are unresolved.

    Attributes
    ----------
    codec : AnswerCodec
    models : TreeModels
    gate_models : TreeModels or None
        Models of gates that do not use their followers.
    followers : ndarray of bool, shape (d, d)
        True at (gate, follower) for the gates with a separate model.
    """

    name: ClassVar[str] = "trees"
    usual: ClassVar[UsualShares] = UsualShares(nominals=0.5, ordinals=0.5, numbers=0.5)

    codec: AnswerCodec
    models: TreeModels
    gate_models: TreeModels | None
    followers: Mask

    @classmethod
    def of(
        cls,
        codec: AnswerCodec,
        models: TreeModels,
        gate_models: TreeModels | None,
        followers: Mask,
    ) -> Trees:
        """Keep the followers of the gates with a separate model."""
        fitted = [] if gate_models is None else list(gate_models.models)
        own = np.isin(np.arange(len(followers)), fitted)
        return cls(codec, models, gate_models, followers & own[:, None])

    def answers(
        self, table: CodedTable, cells: Mask, network: CellAnswers | None = None
    ) -> CellAnswers:
        """Predict; returns shares of levels and means for questions without trees."""
        codec = self.codec
        n_rows = table.shape[0]
        counts = codec.level_counts[:, : codec.max_levels] + 0.5
        levels = np.arange(codec.max_levels) < codec.n_levels[codec.categorical, None]
        counts = np.where(levels, counts, 0.0)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        cell_answers = CellAnswers(
            np.tile(shares, (n_rows, 1, 1)), np.zeros((n_rows, codec.numbers.size))
        )
        every = np.arange(n_rows)
        self._put(cell_answers, every, self.models.predict(table, every, cells))
        if self.gate_models is not None:
            gates = unresolved_gates(self.followers, table.states)
            rows = np.flatnonzero(gates.any(axis=1))
            if rows.size:
                answers = self.gate_models.predict(table, rows, gates[rows])
                self._put(cell_answers, rows, answers, gates[rows])
        return cell_answers

    def _put(
        self,
        cell_answers: CellAnswers,
        rows: NDArray[np.int64],
        answers: TreeAnswers,
        only: Mask | None = None,
    ) -> None:
        """Write the trees' answers for some rows, in place; ``only`` restricts them to cells."""
        for place, column in enumerate(self.codec.categorical.tolist()):
            if column in answers.probabilities:
                chosen = slice(None) if only is None else only[:, column]
                given = answers.probabilities[column]
                cell_answers.probabilities[rows[chosen], place, : given.shape[1]] = given[chosen]
        bins = self.codec.bins
        for place, column in enumerate(self.codec.numbers.tolist()):
            if column in answers.numbers:
                chosen = slice(None) if only is None else only[:, column]
                deviation = answers.numbers[column][chosen] - bins.mean[place]
                cell_answers.numbers[rows[chosen], place] = deviation / bins.scale[place]

    def to_state(self) -> State:
        """Return what :meth:`from_state` needs."""
        arrays, content = self.models.to_state()
        arrays = {f"models.{name}": array for name, array in arrays.items()}
        arrays["followers"] = self.followers
        found: dict[str, Any] = {"models": content}
        if self.gate_models is not None:
            of_gates, found["gate_models"] = self.gate_models.to_state()
            arrays |= {f"gate_models.{name}": array for name, array in of_gates.items()}
        return arrays, found

    @classmethod
    def from_state(
        cls, arrays: dict[str, NDArray[Any]], content: dict[str, Any], codec: AnswerCodec
    ) -> Trees:
        """Rebuild from :meth:`to_state`."""
        found = {}
        for name in ("models", "gate_models"):
            prefix = f"{name}."
            own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
            found[name] = TreeModels.from_state(own, content[name]) if name in content else None
        if found["models"] is None:
            raise ValueError("the saved trees are incomplete")
        if arrays["followers"].shape != (len(codec.names), len(codec.names)):
            raise ValueError("the saved followers do not fit the columns")
        return cls(codec, found["models"], found["gate_models"], arrays["followers"])
