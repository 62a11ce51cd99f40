"""The paper's backbone: a SiLU network over coordinates and masks, told the noise level."""

from __future__ import annotations

import torch
from torch import nn

from tabsoda.diffusion.backbone import Backbone, DenoiserInput
from tabsoda.setting_groups import BackboneSettings
from tabsoda.torch_runtime.layers import SeededDropout, linear


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
    >>> from tabsoda.torch_runtime.keyed_noise import torch_generator
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
