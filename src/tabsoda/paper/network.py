"""The denoising network F: SiLU layers over coordinates and masks, given the noise level."""

from __future__ import annotations

import torch
from torch import nn

from tabsoda.paper.settings import BackboneSettings
from tabsoda.torch_runtime.layers import SeededDropout, linear


def noise_features(noise_label: torch.Tensor, width: int) -> torch.Tensor:
    """Embed noise labels as sines and cosines of log-spaced frequencies (the paper's appendix D).

    The two halves are swapped, sines first, as in DiffPuter.

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


class MLPBackbone(nn.Module):
    """The denoising network F of the paper's appendix D, widths H, 2H, 2H, H, p.

    Parameters
    ----------
    n_coordinates : int
        p.
    settings : BackboneSettings
        Width, dropout, and which masks are inputs; DiffPuter's network uses neither mask.
    generator : torch.Generator
        On the CPU; draws the weights.

    Shape: state (B, p) → prediction (B, p).

    Examples
    --------
    >>> from tabsoda.torch_runtime.keyed_noise import torch_generator
    >>> net = MLPBackbone(3, BackboneSettings(width=8), torch_generator(1, "weights"))
    >>> masks = torch.ones(2, 3, dtype=torch.bool)
    >>> net(torch.zeros(2, 3), torch.zeros(2), masks, ~masks).shape
    torch.Size([2, 3])
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

    def forward(
        self,
        state: torch.Tensor,
        noise_label: torch.Tensor,
        visible: torch.Tensor,
        skipped: torch.Tensor,
        unknown: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Predict coordinates at unit scale, shape (B, p).

        Parameters
        ----------
        state : float32 tensor, shape (B, p)
            Coordinates at unit variance, 0 where skipped.
        noise_label : float32 tensor, shape (B,) or (1,)
            A quarter of the log noise level; of length 1 if all rows share it, as in sampling.
        visible, skipped : bool tensor, shape (B, p)
        unknown : bool tensor, shape (B, p), optional
            Entries without any value, not even a noisy one: missing entries in training. Their
            state is 0.
        """
        # In sampling, weights may be bfloat16 while the state stays float32.
        dtype = self.read_out.weight.dtype
        parts = [state.to(dtype)]
        if self.sees_visible:
            known = visible.to(dtype)
            # 1 visible, 0 noisy, -1 unknown: a missing entry is not a noisy answer.
            parts.append(known if unknown is None else known - unknown.to(dtype))
        if self.sees_skips:
            parts.append(skipped.to(dtype))
        embedded = self.embed_noise(noise_features(noise_label, self.width).to(dtype))
        hidden = self.hidden(self.project(torch.cat(parts, dim=1)) + embedded)
        return self.read_out(hidden)
