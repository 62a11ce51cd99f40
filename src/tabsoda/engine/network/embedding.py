"""The fast network: a sum of learned vectors per cell, and a small residual network."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.network.data import NetworkInput
from tabsoda.engine.network.inputs import N_FEATURES, InputLayer, multi_hot
from tabsoda.engine.settings import NetworkSettings
from tabsoda.torch_runtime.layers import SeededDropout, linear, normal_parameter

# With more vectors than this, a lookup on the CPU is faster than a product with zeros and ones.
_MOST_HOT = 600


class EmbeddingNetwork(nn.Module):
    """Sums one learned vector per cell, passes the sum through residual blocks to all outputs.

    Only the sum and the output layer grow with the number of columns, so that wide surveys stay
    affordable.

    Parameters
    ----------
    codec : AnswerCodec
    n_outputs : int
        Number of outputs for the heads.
    settings : NetworkSettings
    generator : torch.Generator
        On the CPU; draws the weights.
    """

    def __init__(
        self,
        codec: AnswerCodec,
        n_outputs: int,
        settings: NetworkSettings,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width = settings.width
        self.inputs = InputLayer(codec, generator)
        spread = self.inputs.n_columns**-0.5
        self.vectors = normal_parameter((self.inputs.n_tokens, width), spread, generator)
        self.waves = normal_parameter(
            (self.inputs.n_scores * N_FEATURES, width), 1.5 * spread * N_FEATURES**-0.5, generator
        )
        self.bias = nn.Parameter(torch.zeros(width))
        self.blocks = nn.ModuleList(
            _Block(width, settings.dropout, generator) for _ in range(settings.depth)
        )
        self.norm = nn.LayerNorm(width)
        self.read_out = linear(width, n_outputs, generator)
        with torch.no_grad():
            # The heads contain the shares of levels, so the network starts with outputs of 0.
            self.read_out.weight.mul_(0.1)
            self.read_out.bias.zero_()

    def forward(self, inputs: NetworkInput) -> torch.Tensor:
        """Return the outputs for the heads, shape (B, n_outputs)."""
        cells = self.inputs(inputs)
        waves = cells.waves.flatten(1).to(self.waves.dtype) @ self.waves
        hidden = self._sum_of_vectors(cells.tokens) + waves + self.bias
        for block in self.blocks:
            hidden = hidden + block(hidden)
        weight, bias = self.read_out.weight, self.read_out.bias
        # Stored by output, not by row: the heads read them in this order.
        return torch.addmm(bias[:, None], weight, self.norm(hidden).T).T

    def _sum_of_vectors(self, tokens: torch.Tensor) -> torch.Tensor:
        if tokens.device.type == "cpu" and self.inputs.n_tokens > _MOST_HOT:
            return functional.embedding_bag(tokens, self.vectors, mode="sum")
        # A product with zeros and ones: faster than looking up few vectors, and unlike a lookup's
        # gradient it can be captured in a CUDA graph.
        return multi_hot(tokens, self.inputs.n_tokens).to(self.vectors.dtype) @ self.vectors


class _Block(nn.Module):
    """One residual block with two dropouts, because a survey has few rows for its weights."""

    def __init__(self, width: int, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = linear(width, width, generator)
        self.narrow = linear(width, width, generator)
        self.drop = SeededDropout(dropout)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        refined = self.drop(functional.silu(self.widen(self.norm(hidden))))
        dropped: torch.Tensor = self.drop(self.narrow(refined))
        return dropped
