"""The best backbone: a token per column, attention between columns, a head per column."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tabsoda.diffusion.answers import AnswerHeads
from tabsoda.diffusion.backbone import Backbone, DenoiserInput
from tabsoda.diffusion.column_inputs import N_FEATURES, ColumnInputs
from tabsoda.diffusion.network import noise_features
from tabsoda.encoding.layout import Layout
from tabsoda.setting_groups import BackboneSettings
from tabsoda.torch_runtime.layers import SeededDropout, linear, normal_parameter

_NOISE_WIDTH = 64


class TokenBackbone(Backbone):
    """Columns as tokens that attend to each other.

    Parameters
    ----------
    layout : Layout
    heads : AnswerHeads
        Tell which outputs belong to which column.
    settings : BackboneSettings
    data_scale : float
    generator : torch.Generator
        On the CPU; draws the weights.

    Shape: state (B, p) → prediction (B, p), answers (B, heads.n_outputs).
    """

    output_index: torch.Tensor
    score_columns: torch.Tensor
    coordinate_columns: torch.Tensor

    def __init__(
        self,
        layout: Layout,
        heads: AnswerHeads,
        settings: BackboneSettings,
        data_scale: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width = settings.width
        self.inputs = ColumnInputs(layout, data_scale, generator)
        n_columns = self.inputs.columns.numel()
        n_scores = self.inputs.score_coordinates.numel()
        self.vectors = normal_parameter((self.inputs.n_tokens, width), 0.5, generator)
        self.waves = normal_parameter(
            (n_scores, N_FEATURES, width), 0.5 * N_FEATURES**-0.5, generator
        )
        self.noisy = normal_parameter((layout.n_coordinates, width), 0.5, generator)
        self.embed_noise = linear(_NOISE_WIDTH, width, generator)
        self.layers = nn.ModuleList(_Layer(settings, generator) for _ in range(settings.depth))
        self.norm = nn.LayerNorm(width)
        owner = _owners(layout, heads, self.inputs)
        # Outputs of a column lie side by side, padded to the widest column.
        counts = np.bincount(owner, minlength=n_columns)
        widest = int(counts.max(initial=1))
        order = np.argsort(owner, kind="stable")
        slot = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
        index = np.empty(order.size, dtype=np.int64)
        index[order] = owner[order] * widest + slot
        self.n_coordinates = layout.n_coordinates
        self.weights = normal_parameter((n_columns, width, widest), 0.02, generator)
        self.bias = nn.Parameter(torch.zeros(n_columns, 1, widest))
        for name, array in (
            ("output_index", index),
            ("score_columns", self.inputs.score_columns),
            ("coordinate_columns", self.inputs.coordinate_columns),
        ):
            self.register_buffer(name, torch.as_tensor(array), persistent=False)

    def forward(self, inputs: DenoiserInput) -> tuple[torch.Tensor, torch.Tensor]:
        """Predict (B, p) coordinates at unit scale, and the answers' outputs."""
        dtype = self.weights.dtype
        cells = self.inputs(inputs)
        tokens = self.vectors[cells.tokens]
        scores = torch.einsum("bsf,sfw->bsw", cells.waves.to(dtype), self.waves)
        tokens = tokens.index_add(1, self.score_columns, scores.to(tokens.dtype))
        noisy = cells.noisy.to(dtype)[..., None] * self.noisy
        tokens = tokens.index_add(1, self.coordinate_columns, noisy.to(tokens.dtype))
        label = noise_features(inputs.noise_label, _NOISE_WIDTH).to(dtype)
        tokens = tokens + self.embed_noise(label)[:, None]
        for layer in self.layers:
            tokens = layer(tokens)
        per_column = self.norm(tokens).transpose(0, 1) @ self.weights + self.bias
        outputs = per_column.transpose(0, 1).flatten(1).index_select(1, self.output_index)
        return outputs[:, : self.n_coordinates], outputs[:, self.n_coordinates :]


def _owners(layout: Layout, heads: AnswerHeads, inputs: ColumnInputs) -> np.ndarray:
    """Return the token of every output: coordinates first, then the heads'."""
    kind, place = heads.owners()
    categorical = np.concatenate([layout.bit_columns, layout.ordinal_columns])
    lookup = [categorical, layout.continuous_columns]
    column = np.array([lookup[k][p] for k, p in zip(kind, place, strict=True)], dtype=np.int64)
    of_heads = np.searchsorted(inputs.columns.numpy(), column)
    return np.concatenate([inputs.coordinate_columns, of_heads])


class _Layer(nn.Module):
    """Attention between columns, then a small network in each."""

    def __init__(self, settings: BackboneSettings, generator: torch.Generator) -> None:
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
