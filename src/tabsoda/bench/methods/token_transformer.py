"""A transformer with one token per column: values to tokens, attention, tokens to values."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from tabsoda.torch_runtime.layers import linear


class ColumnLinear(nn.Module):
    """A separate linear layer for every column.

    Its bias distinguishes columns: a column embedding.

    Shape: (B, n_columns, n_inputs) → (B, n_columns, n_outputs).
    """

    def __init__(
        self, n_columns: int, n_inputs: int, n_outputs: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        bound = n_inputs**-0.5
        shape = (n_columns, n_inputs, n_outputs)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(
            torch.empty(n_columns, n_outputs).uniform_(-bound, bound, generator=generator)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply each column's layer."""
        return torch.einsum("bti,tio->bto", x, self.weight) + self.bias


class ValueTokens(nn.Module):
    """Numbers and levels as tokens: a number times a vector, a level's own vector, plus a bias.

    Parameters
    ----------
    n_numbers, n_categorical, max_levels, width : int
    generator : torch.Generator

    Shape: (B, q), (B, c) → (B, q + c, width).
    """

    def __init__(
        self,
        n_numbers: int,
        n_categorical: int,
        max_levels: int,
        width: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        bound = width**-0.5

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))

        self.number_weight = drawn(n_numbers, width)
        self.level_vectors = drawn(n_categorical * max_levels, width)
        self.bias = drawn(n_numbers + n_categorical, width)
        first = torch.arange(n_categorical) * max_levels
        self.register_buffer("first_level", first, persistent=False)

    first_level: torch.Tensor

    def forward(self, numbers: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """Return the tokens of a batch, numbers first."""
        scaled = numbers[:, :, None] * self.number_weight
        looked_up = self.level_vectors[levels + self.first_level]
        return torch.cat([scaled, looked_up], dim=1) + self.bias


class ValueReadOut(nn.Module):
    """Tokens as numbers and level logits.

    Parameters
    ----------
    n_numbers : int
    level_valid : bool tensor, shape (c, max_levels)
    width : int
    generator : torch.Generator

    Shape: (B, q + c, width) → (B, q), (B, c, max_levels); -inf for levels that do not exist.
    """

    def __init__(
        self, n_numbers: int, level_valid: torch.Tensor, width: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.n_numbers = n_numbers
        self.to_numbers = ColumnLinear(n_numbers, width, 1, generator)
        self.to_levels = ColumnLinear(level_valid.shape[0], width, level_valid.shape[1], generator)
        self.register_buffer("no_level", ~level_valid.cpu(), persistent=False)

    no_level: torch.Tensor

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return numbers and logits."""
        numbers = self.to_numbers(tokens[:, : self.n_numbers])[..., 0]
        logits = self.to_levels(tokens[:, self.n_numbers :])
        return numbers, logits.masked_fill(self.no_level, -torch.inf)


class TransformerBlock(nn.Module):
    """Attention among a row's tokens and a feed-forward layer, each normalised before."""

    def __init__(
        self, width: int, n_heads: int, hidden_factor: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_qkv = linear(width, 3 * width, generator)
        self.mix = linear(width, width, generator)
        self.widen = linear(width, hidden_factor * width, generator)
        self.narrow = linear(hidden_factor * width, width, generator)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return tokens of the same shape."""
        heads = self.to_qkv(self.norm_1(tokens)).unflatten(-1, (3, self.n_heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4).unbind()
        attended = scaled_dot_product_attention(query, key, value)
        tokens = tokens + self.mix(attended.transpose(1, 2).flatten(2))
        return tokens + self.narrow(gelu(self.widen(self.norm_2(tokens))))


def transformer(
    n_layers: int, width: int, n_heads: int, hidden_factor: int, generator: torch.Generator
) -> nn.Sequential:
    """Stack blocks; (B, n_columns, width) in and out.

    Examples
    --------
    >>> net = transformer(2, 8, 2, 2, torch.Generator().manual_seed(1))
    >>> net(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """
    blocks = [TransformerBlock(width, n_heads, hidden_factor, generator) for _ in range(n_layers)]
    return nn.Sequential(*blocks)
