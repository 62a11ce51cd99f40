"""Ordinal answers as a latent normal variable: level k is the interval (b_{k-1}, b_k].

Input: cutpoints of all latent ordinals, padded with +inf, shape (n_latent, max_cutpoints), and
levels or latents. Output: latents, level probabilities or levels. Levels count from 0.
"""

from __future__ import annotations

import math

import torch
from torch.nn.functional import one_hot, pad


def _normal_cdf(x: torch.Tensor) -> torch.Tensor:
    """Return the normal CDF, accurate in the lower tail."""
    return 0.5 * torch.erfc(x * -math.sqrt(0.5))


def _float64(tensor: torch.Tensor) -> torch.Tensor:
    """Convert to double precision, on the CPU if the device has none."""
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).double()


def _interval_bounds(cutpoints: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return lower and upper ends of the levels, each (n_latent, max_levels)."""
    lower = pad(cutpoints, (1, 0), value=-torch.inf)
    upper = pad(cutpoints, (0, 1), value=torch.inf)
    return lower, upper


def _to_lower_tail(
    lower: torch.Tensor, upper: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mirror intervals right of 0, where differences of the CDF would cancel."""
    mirrored = lower > 0
    return torch.where(mirrored, -upper, lower), torch.where(mirrored, -lower, upper), mirrored


def _into_interval(
    latent: torch.Tensor, lower: torch.Tensor, upper: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """Cast without leaving (lower, upper]: the lower end itself belongs to the level below."""
    lower, upper = lower.to(dtype), upper.to(dtype)
    above = torch.nextafter(lower, torch.full_like(lower, torch.inf))
    return torch.minimum(torch.maximum(latent.to(dtype), above), upper)


def interval_means(cutpoints: torch.Tensor) -> torch.Tensor:
    """Return E[U | level] for U standard normal: Eq. (warmstart_schedule), first case.

    Parameters
    ----------
    cutpoints : float tensor, shape (n_latent, max_cutpoints)

    Returns
    -------
    float tensor, shape (n_latent, max_levels)
        Each inside its interval; 0 in the padding.

    Examples
    --------
    >>> interval_means(torch.tensor([[0.0]])).round(decimals=4).tolist()
    [[-0.7979000210762024, 0.7979000210762024]]
    """
    lower, upper = _interval_bounds(_float64(cutpoints))
    near, far, mirrored = _to_lower_tail(lower, upper)
    mass = _normal_cdf(far) - _normal_cdf(near)
    density_fall = torch.exp(-0.5 * near.square()) - torch.exp(-0.5 * far.square())
    mean = density_fall / (math.sqrt(2 * math.pi) * mass)
    # If the mass underflows, all of it is at the end nearest to 0.
    mean = torch.where(mass > 0, mean, far)
    mean = torch.where(mirrored, -mean, mean)
    inside = _into_interval(mean, lower, upper, cutpoints.dtype)
    return torch.where(torch.isposinf(lower), 0.0, inside).to(cutpoints.device)


def truncated_normal_draw(
    levels: torch.Tensor, cutpoints: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    """Draw latents within the interval of each level: Eq. (warmstart_schedule), second case.

    Parameters
    ----------
    levels : int64 tensor, shape (B, n_latent)
    cutpoints : float tensor, shape (n_latent, max_cutpoints)
    uniforms : float tensor, shape (B, n_latent)
        In (0, 1); the draw is their inverse CDF, so it increases with them.

    Returns
    -------
    float tensor, shape (B, n_latent), in the cutpoints' dtype

    Examples
    --------
    >>> draw = truncated_normal_draw(torch.tensor([[1]]), torch.tensor([[0.0, 1.0]]),
    ...                              torch.tensor([[0.5]]))
    >>> bool(0 < draw < 1)
    True
    """
    lower, upper = (
        ends.gather(1, levels.T.to(ends.device)).T for ends in _interval_bounds(_float64(cutpoints))
    )
    near, far, mirrored = _to_lower_tail(lower, upper)
    uniforms = _float64(uniforms)
    share = torch.where(mirrored, 1 - uniforms, uniforms)
    low, high = _normal_cdf(near), _normal_cdf(far)
    latent = torch.special.ndtri(low + share * (high - low))
    latent = torch.where(high > low, latent, far)
    latent = torch.where(mirrored, -latent, latent)
    return _into_interval(latent, lower, upper, cutpoints.dtype).to(cutpoints.device)


def level_probabilities(
    latent: torch.Tensor, cutpoints: torch.Tensor, temperature: torch.Tensor | float = 1.0
) -> torch.Tensor:
    """Return P(level | latent) at a temperature, Eqs. (probit_decoder, temperature_decoder).

    Parameters
    ----------
    latent : float tensor, shape (B, n_latent)
        Unstandardised: on the scale of the cutpoints.
    cutpoints : float tensor, shape (n_latent, max_cutpoints)
    temperature : float or float tensor, shape (n_latent,)
        1 is the paper's decoder; 0 gives probability 1 to the interval of the latent.

    Returns
    -------
    float tensor, shape (B, n_latent, max_levels)
        0 in the padding; sums to 1.

    Examples
    --------
    >>> level_probabilities(torch.tensor([[0.0]]), torch.tensor([[0.0]])).tolist()
    [[[0.5, 0.5]]]
    """
    if isinstance(temperature, int | float):
        if temperature == 0:
            return _interval_indicator(latent, cutpoints)
        return _probit(latent, cutpoints, temperature)
    spread = torch.where(temperature > 0, temperature, 1.0)[:, None]
    probit = _probit(latent, cutpoints, spread)
    indicator = _interval_indicator(latent, cutpoints)
    return torch.where((temperature > 0)[:, None], probit, indicator)


def _probit(
    latent: torch.Tensor, cutpoints: torch.Tensor, spread: torch.Tensor | float
) -> torch.Tensor:
    lower, upper = _interval_bounds(cutpoints)
    near, far, _ = _to_lower_tail(
        (lower - latent[..., None]) / spread, (upper - latent[..., None]) / spread
    )
    return _normal_cdf(far) - _normal_cdf(near)


def _interval_indicator(latent: torch.Tensor, cutpoints: torch.Tensor) -> torch.Tensor:
    n_levels = cutpoints.shape[-1] + 1
    return one_hot(interval_level(latent, cutpoints), n_levels).to(latent.dtype)


def interval_level(latent: torch.Tensor, cutpoints: torch.Tensor) -> torch.Tensor:
    """Return the level whose interval contains the latent; the exact inverse of the encoder.

    Examples
    --------
    >>> interval_level(torch.tensor([[-1.0], [0.0], [0.1]]), torch.tensor([[0.0]])).tolist()
    [[0], [0], [1]]
    """
    return (latent[..., None] > cutpoints).sum(-1)


def most_probable_level(probabilities: torch.Tensor) -> torch.Tensor:
    """Return the mode over the last axis; ties go to the lower level."""
    return probabilities.argmax(-1)


def median_level(probabilities: torch.Tensor) -> torch.Tensor:
    """Return the lowest level at which the cumulative probability reaches one half.

    Examples
    --------
    >>> median_level(torch.tensor([0.3, 0.3, 0.4])).item()
    1
    """
    below = probabilities.cumsum(-1)[..., :-1] < 0.5
    return below.sum(-1)
