"""EDM preconditioning around the network: from a noisy batch to its clean coordinates."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import nn

from tabsoda.paper.network import MLPBackbone
from tabsoda.paper.settings import BackboneSettings
from tabsoda.torch_runtime.layers import seed_dropout


class Scalings(NamedTuple):
    """The four preconditioning scalings of Eq. (precond), each shaped like the noise level.

    ``residual`` is EDM's c_skip, ``output`` its c_out, ``input`` its c_in and ``noise_label`` its
    c_noise.
    """

    residual: torch.Tensor
    output: torch.Tensor
    input: torch.Tensor
    noise_label: torch.Tensor


def preconditioning(noise_level: torch.Tensor, data_scale: float) -> Scalings:
    """Return the scalings that keep the network's input and target at unit variance.

    Examples
    --------
    >>> scalings = preconditioning(torch.tensor([1.0]), data_scale=1.0)
    >>> scalings.residual, scalings.noise_label
    (tensor([0.5000]), tensor([0.]))
    """
    total = noise_level**2 + data_scale**2
    return Scalings(
        residual=data_scale**2 / total,
        output=noise_level * data_scale * torch.rsqrt(total),
        input=torch.rsqrt(total),
        noise_label=torch.log(noise_level) / 4,
    )


class Denoiser(nn.Module):
    """D(z, σ, visible, skipped): the expected clean coordinates of a noisy batch, Eq. (precond).

    Two conditionings. ``"noisy"``, the paper's: every applicable entry has noise, and the backbone
    gets the mask of visible entries. ``"clean"``: visible entries enter without noise and are
    returned unchanged (with noise 0, preconditioning is the identity); only the others have noise.

    Parameters
    ----------
    backbone : MLPBackbone
    data_scale : float
        Standard deviation of the standardised coordinates.
    conditioning : {"noisy", "clean"}

    Shape: state (B, p) → (B, p), float32, exactly 0 where skipped.

    Examples
    --------
    >>> from tabsoda.torch_runtime.keyed_noise import torch_generator
    >>> backbone = MLPBackbone(2, BackboneSettings(width=8), torch_generator(1, "weights"))
    >>> denoiser = Denoiser(backbone, data_scale=0.5, conditioning="clean")
    >>> visible = torch.tensor([[True, False]])
    >>> clean = denoiser(torch.tensor([[0.3, 9.0]]), torch.tensor([2.0]), visible,
    ...                  torch.zeros_like(visible))
    >>> clean[visible].tolist() == torch.tensor([0.3]).tolist()
    True
    """

    def __init__(self, backbone: MLPBackbone, data_scale: float, conditioning: str) -> None:
        super().__init__()
        self.backbone = backbone
        self.data_scale = data_scale
        self.conditioning = conditioning

    def forward(
        self,
        state: torch.Tensor,
        noise_level: torch.Tensor,
        visible: torch.Tensor,
        skipped: torch.Tensor,
        unknown: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Denoise a batch.

        Parameters
        ----------
        state : float32 tensor, shape (B, p)
            Noisy coordinates; with ``"clean"`` conditioning the visible ones without noise.
        noise_level : float32 tensor, shape (B,), or (1,) if all rows share it
            Above 0.
        visible, skipped : bool tensor, shape (B, p)
        unknown : bool tensor, shape (B, p), optional
            Entries whose state must be ignored; none in sampling.
        """
        scalings = preconditioning(noise_level, self.data_scale)
        residual, output, scale_in = (s[:, None] for s in scalings[:3])
        state = state.masked_fill(skipped if unknown is None else skipped | unknown, 0.0)
        scaled = scale_in * state
        if self.conditioning == "clean":
            scaled = torch.where(visible, state / self.data_scale, scaled)
        predicted = self.backbone(scaled, scalings.noise_label, visible, skipped, unknown)
        clean = residual * state + output * predicted.to(torch.float32)
        if self.conditioning == "clean":
            clean = torch.where(visible, state, clean)
        return clean.masked_fill(skipped, 0.0)


def build_denoiser(
    n_coordinates: int,
    settings: BackboneSettings,
    data_scale: float,
    conditioning: str,
    generator: torch.Generator,
) -> Denoiser:
    """Build the paper's denoiser, with weights drawn from a CPU generator."""
    return Denoiser(MLPBackbone(n_coordinates, settings, generator), data_scale, conditioning)


def sampling_copy(denoiser: Denoiser, matrix_dtype: torch.dtype = torch.float32) -> Denoiser:
    """Return a frozen copy whose backbone multiplies in ``matrix_dtype``.

    The state and the preconditioning stay in float32. Refresh the copy between rounds with
    ``copy.load_state_dict(denoiser.state_dict())``: its tensors stay at the same memory address,
    so a captured graph stays valid.
    """
    twin = copy.deepcopy(denoiser).eval().requires_grad_(False)
    seed_dropout(twin, None)
    twin.backbone.to(matrix_dtype)
    return twin
