"""Layers whose weights and dropout come from explicit generators."""

from __future__ import annotations

import torch
from torch import nn


class _UndrawnLinear(nn.Linear):
    """torch's linear layer without its initial weights, which use the global generator."""

    def reset_parameters(self) -> None:
        """Leave the weights to the caller."""


def linear(n_inputs: int, n_outputs: int, generator: torch.Generator) -> nn.Linear:
    """Return torch's linear layer, with initial weights drawn from the given generator.

    Drawn on the CPU, so that a seed gives the same weights on every device.
    """
    layer = _UndrawnLinear(n_inputs, n_outputs)
    bound = n_inputs**-0.5
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


def normal_parameter(
    shape: tuple[int, ...], spread: float, generator: torch.Generator
) -> nn.Parameter:
    """Return a parameter drawn from a centred normal of the given spread, on the CPU."""
    return nn.Parameter(spread * torch.randn(shape, generator=generator))


class SeededDropout(nn.Module):
    """Dropout whose noise comes from an explicit generator.

    torch's own dropout uses the global generator, so a fit would depend on other draws in the
    process. A CUDA graph must register the generator before it is captured.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None
        # First row, end row and number of rows, if x is only a part of the batch.
        self.part: tuple[int, int, int] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop units in training; do nothing in evaluation."""
        if not self.training or self.share == 0:
            return x
        first, last, n_rows = self.part or (0, 1, 1)
        units = x.numel() // (last - first)
        # Eight units share one drawn integer: on a CPU the draws would cost more than the layer.
        words = torch.empty(-(-units * n_rows // 8), dtype=torch.int64, device=x.device)
        words.random_(-(2**63), 2**63 - 1, generator=self.generator)
        drawn = words.view(torch.uint8)[units * first : units * last]
        kept = (drawn.view(x.shape) >= round(256 * self.share)).to(x.dtype)
        return x * (kept * (1 / (1 - round(256 * self.share) / 256)))


def seed_dropout(
    network: nn.Module,
    generator: torch.Generator | None,
    part: tuple[int, int, int] | None = None,
) -> None:
    """Set the generator of every dropout layer of a network (on the network's device).

    ``part`` is the first row, the end row and the number of rows of the whole batch, if the
    network gets a part of it; noise is drawn for the whole batch.
    """
    for module in network.modules():
        if isinstance(module, SeededDropout):
            module.generator, module.part = generator, part
