"""Noise levels: distribution in training, weight in the loss, grid in sampling."""

from __future__ import annotations

import torch


def training_noise(log_mean: float, log_sd: float, normals: torch.Tensor) -> torch.Tensor:
    """Convert standard normals to log-normal noise levels, one per row (Karras et al. 2022).

    Examples
    --------
    >>> training_noise(0.0, 1.2, torch.zeros(2))
    tensor([1., 1.])
    """
    return torch.exp(log_mean + log_sd * normals)


def loss_weight(noise_level: torch.Tensor, data_scale: float) -> torch.Tensor:
    """Weight that gives every noise level the same expected loss at the start of training.

    The ω(σ) under Eq. (diffusion_loss).

    Examples
    --------
    >>> loss_weight(torch.tensor([0.5]), data_scale=0.5)
    tensor([8.])
    """
    return (noise_level**2 + data_scale**2) / (noise_level * data_scale) ** 2


def noise_grid(
    steps: int, noise_max: float, noise_min: float, exponent: float = 7.0
) -> torch.Tensor:
    """Return the sampler's noise levels: ``steps`` decreasing levels, then 0.

    The polynomial grid of the paper's sampler appendix; float64, because neighbouring levels are
    subtracted from each other.

    Returns
    -------
    float64 tensor, shape (steps + 1,)

    Examples
    --------
    >>> noise_grid(3, 20.0, 0.002).round(decimals=3).tolist()
    [20.0, 0.825, 0.002, 0.0]
    """
    fraction = torch.linspace(0.0, 1.0, steps, dtype=torch.float64)
    first, last = noise_max ** (1 / exponent), noise_min ** (1 / exponent)
    levels = (first + fraction * (last - first)) ** exponent
    # Powers are inexact in the last bits; the end points must be exact.
    levels[0], levels[-1] = noise_max, noise_min
    return torch.cat([levels, levels.new_zeros(1)])


def noisy_state(
    clean: torch.Tensor,
    noise_level: torch.Tensor,
    normals: torch.Tensor,
    applicable: torch.Tensor,
    held_clean: torch.Tensor | None = None,
) -> torch.Tensor:
    """Add noise to a batch: the skip-aware input w ⊙ (z + σ ε) of the M-step.

    Parameters
    ----------
    clean : tensor, shape (B, p)
        Entries that are not applicable are ignored.
    noise_level : tensor, shape (B,)
    normals : tensor, shape (B, p)
    applicable : bool tensor, shape (B, p)
        Entries that are not skipped; all others become 0.
    held_clean : bool tensor, shape (B, p), optional
        Entries without noise: the visible ones with ``"clean"`` conditioning.

    Returns
    -------
    tensor, shape (B, p)
    """
    noisy = clean + noise_level[:, None] * normals
    if held_clean is not None:
        noisy = torch.where(held_clean, clean, noisy)
    return noisy.masked_fill(~applicable, 0.0)
