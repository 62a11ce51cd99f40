"""The paper's backbone: a SiLU network over coordinates and masks, told the noise level."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import skip_init

from tabsoda.diffusion.backbone import Backbone, DenoiserInput
from tabsoda.setting_groups import BackboneSettings


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


def noise_features(noise_label: torch.Tensor, width: int) -> torch.Tensor:
    """Embed noise labels as sines and cosines of log-spaced frequencies (the paper's appendix D).

    The two halves come swapped, sines first, as in DiffPuter.

    Parameters
    ----------
    noise_label : tensor, shape (B,)
    width : int
        Even.

    Returns
    -------
    float32 tensor, shape (B, width)
    """
    exponents = torch.arange(width // 2, dtype=torch.float32, device=noise_label.device)
    frequencies = (1 / 10000) ** (exponents / (width // 2))
    angles = noise_label.to(torch.float32)[:, None] * frequencies
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


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


class MLPBackbone(Backbone):
    """The denoising network F of the paper's appendix D, widths H, 2H, 2H, H, p.

    Parameters
    ----------
    n_coordinates : int
        p.
    settings : BackboneSettings
        Width, dropout, and which masks are inputs; DiffPuter's network sees neither.
    generator : torch.Generator
        On the CPU; draws the weights.

    Shape: state (B, p) → prediction (B, p), hidden layer (B, width).

    Examples
    --------
    >>> from tabsoda._internal.keyed_noise import torch_generator
    >>> net = MLPBackbone(3, BackboneSettings(width=8), torch_generator(1, "weights"))
    >>> masks = torch.ones(2, 3, dtype=torch.bool)
    >>> prediction, hidden = net(DenoiserInput(torch.zeros(2, 3), torch.zeros(2), masks, ~masks))
    >>> prediction.shape, hidden.shape
    (torch.Size([2, 3]), torch.Size([2, 8]))
    """

    def __init__(
        self, n_coordinates: int, settings: BackboneSettings, generator: torch.Generator
    ) -> None:
        super().__init__()
        width = settings.width
        self.width = width
        self.sees_visible = settings.sees_visible
        self.sees_skips = settings.sees_skips
        n_inputs = n_coordinates * (1 + settings.sees_visible + settings.sees_skips)
        self.project = linear(n_inputs, width, generator)
        self.embed_noise = nn.Sequential(
            linear(width, width, generator), nn.SiLU(), linear(width, width, generator)
        )
        hidden: list[nn.Module] = []
        for wide_in, wide_out in ((width, 2 * width), (2 * width, 2 * width), (2 * width, width)):
            hidden += [linear(wide_in, wide_out, generator), nn.SiLU()]
            if settings.dropout > 0:
                hidden.append(SeededDropout(settings.dropout))
        self.hidden = nn.Sequential(*hidden)
        self.read_out = linear(width, n_coordinates, generator)

    def forward(self, inputs: DenoiserInput) -> tuple[torch.Tensor, torch.Tensor]:
        """Predict (B, p) coordinates at unit scale, and return the last hidden layer."""
        # Sampling may hold the weights in bfloat16 while the state stays in float32.
        dtype = self.read_out.weight.dtype
        parts = [inputs.state.to(dtype)]
        if self.sees_visible:
            known = inputs.visible.to(dtype)
            # 1 visible, 0 noisy, -1 unknown: a truly missing entry is no noisy answer.
            parts.append(known if inputs.unknown is None else known - inputs.unknown.to(dtype))
        if self.sees_skips:
            parts.append(inputs.skipped.to(dtype))
        embedded = self.embed_noise(noise_features(inputs.noise_label, self.width).to(dtype))
        hidden = self.hidden(self.project(torch.cat(parts, dim=1)) + embedded)
        return self.read_out(hidden), hidden


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
