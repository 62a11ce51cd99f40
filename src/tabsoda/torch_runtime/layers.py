"""Layers whose weights and dropout come from generators that the caller holds."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import skip_init


def linear(n_inputs: int, n_outputs: int, generator: torch.Generator) -> nn.Linear:
    """Return torch's linear layer, its usual uniform start drawn from the given generator.

    Drawn on the CPU, so that a seed gives the same weights on every device.
    """
    layer = skip_init(nn.Linear, n_inputs, n_outputs)
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
    """Dropout whose noise comes from a generator that the caller holds.

    torch's own dropout draws from the global generator, which would make a fit depend on what
    else the process drew. A CUDA graph must register the generator before it is captured.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None
        # First and last row, and number, where x is only part of the batch that is drawn for.
        self.part: tuple[int, int, int] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop units in training; change nothing in evaluation."""
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
    """Let every dropout layer of a network draw from this generator (on the network's device).

    ``part`` is the first row, the one after the last, and the number of rows of the whole batch,
    where the network sees a part of it; noise is that of the whole.
    """
    for module in network.modules():
        if isinstance(module, SeededDropout):
            module.generator, module.part = generator, part
