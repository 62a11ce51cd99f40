"""The most accurate network: one token per column, attention between columns."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.network.data import NetworkInput
from tabsoda.engine.network.heads import AnswerHeads
from tabsoda.engine.network.inputs import N_FEATURES, InputLayer
from tabsoda.engine.settings import NetworkSettings
from tabsoda.torch_runtime.layers import SeededDropout, linear, normal_parameter


class TokenNetwork(nn.Module):
    """Columns as tokens that attend to each other.

    Parameters
    ----------
    codec : AnswerCodec
    heads : AnswerHeads
        Assign outputs to columns.
    settings : NetworkSettings
    generator : torch.Generator
        On the CPU; draws the weights.
    """

    output_index: torch.Tensor

    def __init__(
        self,
        codec: AnswerCodec,
        heads: AnswerHeads,
        settings: NetworkSettings,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width = settings.width
        self.inputs = InputLayer(codec, generator)
        n_columns = self.inputs.n_columns
        self.vectors = normal_parameter((self.inputs.n_tokens, width), 0.5, generator)
        self.waves = normal_parameter(
            (self.inputs.n_scores, N_FEATURES, width), 0.5 * N_FEATURES**-0.5, generator
        )
        self.layers = nn.ModuleList(_Layer(settings, generator) for _ in range(settings.depth))
        self.norm = nn.LayerNorm(width)
        is_number, place = heads.owners()
        owner = np.where(is_number, codec.categorical.size + place, place)
        # Outputs of a column are adjacent, padded to the widest column.
        counts = np.bincount(owner, minlength=n_columns)
        widest = int(counts.max(initial=1))
        order = np.argsort(owner, kind="stable")
        slot = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
        index = np.empty(order.size, dtype=np.int64)
        index[order] = owner[order] * widest + slot
        self.weights = normal_parameter((n_columns, width, widest), 0.02, generator)
        self.bias = nn.Parameter(torch.zeros(n_columns, 1, widest))
        self.register_buffer("output_index", torch.as_tensor(index), persistent=False)

    def forward(self, inputs: NetworkInput) -> torch.Tensor:
        """Return the outputs for the heads, shape (B, n_outputs)."""
        cells = self.inputs(inputs)
        tokens = self.vectors[cells.tokens]
        scores = torch.einsum("bsf,sfw->bsw", cells.waves.to(self.waves.dtype), self.waves)
        tokens = tokens.index_add(1, self.inputs.score_columns, scores.to(tokens.dtype))
        for layer in self.layers:
            tokens = layer(tokens)
        per_column = self.norm(tokens).transpose(0, 1) @ self.weights + self.bias
        return per_column.transpose(0, 1).flatten(1).index_select(1, self.output_index)


class _Layer(nn.Module):
    """Attention between columns, then a small network per column."""

    def __init__(self, settings: NetworkSettings, generator: torch.Generator) -> None:
        super().__init__()
        width = settings.width
        self.n_heads = settings.attention_heads
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = linear(width, 3 * width, generator)
        self.merge = linear(width, width, generator)
        self.widen = linear(width, 4 * width, generator)
        self.narrow = linear(4 * width, width, generator)
        self.drop = SeededDropout(settings.dropout)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        n_rows, n_columns, width = tokens.shape
        shape = (n_rows, n_columns, 3, self.n_heads, width // self.n_heads)
        query, key, value = self.attend(self.first_norm(tokens)).view(shape).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        tokens = tokens + self.drop(self.merge(mixed.transpose(1, 2).flatten(2)))
        refined = self.drop(functional.gelu(self.widen(self.second_norm(tokens))))
        return tokens + self.drop(self.narrow(refined))
