"""A table as tensors: the network's inputs and targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.training_table import TrainingTable
from tabsoda.table import CodedTable


@dataclass(eq=False)
class NetworkInput:
    """The modelled columns of some rows (T = n_categorical + n_numbers, in the codec's order).

    Attributes
    ----------
    levels : int64 tensor, shape (n, n_categorical)
        Valid only where visible.
    scores : float32 tensor, shape (n, n_numbers)
        Normal scores, valid only where visible.
    visible, skipped : bool tensor, shape (n, T)
        Cells that are neither are missing.
    """

    levels: torch.Tensor
    scores: torch.Tensor
    visible: torch.Tensor
    skipped: torch.Tensor

    @classmethod
    def of(
        cls,
        table: CodedTable,
        codec: AnswerCodec,
        device: torch.device,
        held_out: NDArray[np.bool_] | None = None,
    ) -> NetworkInput:
        """Code a table; held-out answers are not visible."""
        visible = table.states.answered
        if held_out is not None:
            visible = visible & ~held_out
        columns = codec.modelled
        scores = np.nan_to_num(codec.scores.encode(table.values[:, codec.numbers]))

        def tensor(array: NDArray[np.generic], dtype: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

        return cls(
            tensor(np.nan_to_num(table.values[:, codec.categorical]), torch.int64),
            tensor(scores, torch.float32),
            tensor(visible[:, columns], torch.bool),
            tensor(table.states.skipped[:, columns], torch.bool),
        )

    @property
    def missing(self) -> torch.Tensor:
        """Cells that are neither visible nor skipped, shape (n, T)."""
        return ~(self.visible | self.skipped)

    def rows(self, index: torch.Tensor) -> NetworkInput:
        """Return some of the rows."""
        # index_select is faster than indexing with brackets, which matters in short training steps.
        return NetworkInput(
            self.levels.index_select(0, index),
            self.scores.index_select(0, index),
            self.visible.index_select(0, index),
            self.skipped.index_select(0, index),
        )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """A training table as tensors.

    Attributes
    ----------
    inputs : NetworkInput
        With held-out answers not visible.
    numbers : float32 tensor, shape (n, n_numbers)
        Answers in standard deviations from the mean; 0 where there is none.
    bins : int64 tensor, shape (n, n_numbers)
    held_out : bool tensor, shape (n, T)
    row_keys : int64 tensor, shape (n,)
    row_weights : float32 tensor, shape (n,)
        Mean 1.
    column_weights : float32 tensor, shape (T,)
        Weight of a cell of each column.
    missing : bool tensor, shape (n, T)
        Cells that are neither visible nor skipped; training hides cells in these patterns.
    """

    inputs: NetworkInput
    numbers: torch.Tensor
    bins: torch.Tensor
    held_out: torch.Tensor
    row_keys: torch.Tensor
    row_weights: torch.Tensor
    column_weights: torch.Tensor
    missing: torch.Tensor

    @classmethod
    def of(cls, training: TrainingTable, device: torch.device) -> TrainingData:
        """Code a training table."""
        codec, table = training.codec, training.whole
        inputs = NetworkInput.of(table, codec, device, training.held_out)
        answers = np.nan_to_num(table.values[:, codec.numbers])

        def tensor(array: NDArray[np.generic], dtype: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

        share = inputs.visible.float().mean(dim=0).clamp(min=1e-3)
        return cls(
            inputs,
            tensor(codec.bins.standardize(answers), torch.float32),
            tensor(codec.bins.place(answers), torch.int64),
            tensor(training.held_out[:, codec.modelled], torch.bool),
            tensor(training.row_keys, torch.int64),
            tensor(training.row_weights, torch.float32),
            # Weighted by cells, rarely asked questions would hardly be learned; weighted equally,
            # they would dominate. The square root is a compromise.
            share**-0.5,
            inputs.missing,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.row_keys.shape[0]
