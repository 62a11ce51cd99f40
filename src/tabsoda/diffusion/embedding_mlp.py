"""The quick backbone: learned vectors of all cells, summed, and a small residual network."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from tabsoda.diffusion.backbone import Backbone, DenoiserInput
from tabsoda.diffusion.column_inputs import N_FEATURES, ColumnInputs, multi_hot
from tabsoda.diffusion.network import noise_features
from tabsoda.encoding.layout import Layout
from tabsoda.setting_groups import BackboneSettings
from tabsoda.torch_runtime.layers import SeededDropout, linear, normal_parameter


class EmbeddingBackbone(Backbone):
    """Sums a learned vector per cell, refines the sum, and reads everything off it.

    Its cost grows with the number of columns only by the sum and the read-out, so wide surveys
    stay affordable.

    Parameters
    ----------
    layout : Layout
    n_answers : int
        Outputs for the decoder heads.
    settings : BackboneSettings
    data_scale : float
    generator : torch.Generator
        On the CPU; draws the weights.

    Shape: state (B, p) → prediction (B, p), answers (B, n_answers).
    """

    def __init__(
        self,
        layout: Layout,
        n_answers: int,
        settings: BackboneSettings,
        data_scale: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width = settings.width
        self.width = width
        self.inputs = ColumnInputs(layout, data_scale, generator)
        n_columns = self.inputs.columns.numel()
        n_scores = self.inputs.score_coordinates.numel()
        spread = n_columns**-0.5
        self.vectors = normal_parameter((self.inputs.n_tokens, width), spread, generator)
        self.waves = normal_parameter(
            (n_scores * N_FEATURES, width), 1.5 * spread * N_FEATURES**-0.5, generator
        )
        self.noisy = normal_parameter((layout.n_coordinates, width), spread, generator)
        self.embed_noise = linear(_NOISE_WIDTH, width, generator)
        self.drop_sum = SeededDropout(settings.input_dropout)
        self.blocks = nn.ModuleList(
            _Block(width, settings.dropout, generator) for _ in range(settings.depth)
        )
        self.norm = nn.LayerNorm(width)
        self.read_out = linear(width, layout.n_coordinates, generator)
        self.read_answers = linear(width, n_answers, generator)
        with torch.no_grad():
            # The heads know the shares of levels; the network starts from there.
            self.read_answers.weight.mul_(0.1)
            self.read_answers.bias.zero_()

    def forward(self, inputs: DenoiserInput) -> tuple[torch.Tensor, torch.Tensor]:
        """Predict (B, p) coordinates at unit scale, and the answers' outputs."""
        dtype = self.read_out.weight.dtype
        cells = self.inputs(inputs)
        total = self._sum_of_vectors(cells.tokens)
        total = total + cells.waves.flatten(1).to(dtype) @ self.waves
        total = total + cells.noisy.to(dtype) @ self.noisy
        label = noise_features(inputs.noise_label, _NOISE_WIDTH).to(dtype)
        hidden = self.drop_sum(total + self.embed_noise(label))
        for block in self.blocks:
            hidden = hidden + block(hidden)
        hidden = self.norm(hidden)
        return self.read_out(hidden), self.read_answers(hidden)

    def _sum_of_vectors(self, tokens: torch.Tensor) -> torch.Tensor:
        if tokens.device.type == "cpu" and self.inputs.n_tokens > _MOST_HOT:
            return functional.embedding_bag(tokens, self.vectors, mode="sum")
        # A product with zeros and ones: quicker than looking up few vectors, and unlike a lookup's
        # gradient it can be captured in a graph.
        return multi_hot(tokens, self.inputs.n_tokens).to(self.vectors.dtype) @ self.vectors


_NOISE_WIDTH = 64
# With more vectors than this, a CPU looks them up instead of multiplying by zeros.
_MOST_HOT = 600


class _Block(nn.Module):
    """One residual step; dropped out twice, because a survey has few rows for its weights."""

    def __init__(self, width: int, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = linear(width, width, generator)
        self.narrow = linear(width, width, generator)
        self.drop = SeededDropout(dropout)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        refined = self.drop(functional.silu(self.widen(self.norm(hidden))))
        return self.drop(self.narrow(refined))
