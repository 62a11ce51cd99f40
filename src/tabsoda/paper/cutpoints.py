"""Ordered cutpoints of all latent ordinals: initial values and parametrisation.

Input: level counts, or unconstrained parameters. Output: increasing cutpoints, padded with +inf.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch.nn.functional import pad, softplus

# Epsilon_b of Appendix B: two cutpoints are never closer than this.
MIN_GAP = 1e-4
# Bounds of the smoothed CDF in Eq. (cutpoint_init).
CDF_CLIP = 1e-4
# Beyond this the normal has no mass; the bound keeps MIN_GAP above rounding errors.
MAX_FIRST = 40.0
MAX_SPAN = 80.0


def smoothed_cutpoints(
    counts: NDArray[np.int64], n_levels: NDArray[np.int64], prior: float = 5.0
) -> NDArray[np.float32]:
    """Return the cutpoints of the smoothed empirical CDF, Eq. (cutpoint_init).

    Empty levels can make cutpoints coincide if ``prior`` is 0 or the CDF is clipped; such
    cutpoints are moved apart by twice ``MIN_GAP``.

    Parameters
    ----------
    counts : ndarray, shape (n_latent, max_levels)
        Visible answers per level; 0 in the padding.
    n_levels : ndarray of int64, shape (n_latent,)
    prior : float
        Pseudo-answers distributed evenly over the levels.

    Returns
    -------
    ndarray of float32, shape (n_latent, max_levels - 1)
        +inf beyond each column's last cutpoint.

    Examples
    --------
    >>> smoothed_cutpoints(np.array([[50, 50]]), np.array([2])).tolist()
    [[0.0]]
    """
    level = np.arange(1, counts.shape[1])
    below = np.cumsum(counts, axis=1, dtype=np.float64)
    total = below[:, -1:]
    cdf = (below[:, :-1] + prior * level / n_levels[:, None]) / (total + prior)
    cutpoints = ndtri(np.clip(cdf, CDF_CLIP, 1 - CDF_CLIP))
    apart = 2 * MIN_GAP * level
    cutpoints = np.maximum.accumulate(cutpoints - apart, axis=1) + apart
    cutpoints[level >= n_levels[:, None]] = np.inf
    return cutpoints.astype(np.float32)


class Cutpoints(torch.nn.Module):
    """Learnable cutpoints that increase for all parameter values (Appendix B, softplus).

    b_1 = first; b_k = b_{k-1} + softplus(gap_k) + MIN_GAP. The first cutpoint is held within
    ``MAX_FIRST`` of 0 and the rest within ``MAX_SPAN`` of it, so that rounding keeps the order.

    Parameters
    ----------
    cutpoints : float tensor, shape (n_latent, max_cutpoints)
        Initial values, +inf in the padding; neighbours farther apart than ``MIN_GAP``.

    Shape
    -----
    ``forward()`` returns (n_latent, max_cutpoints), +inf in the padding.

    Examples
    --------
    >>> cutpoints = Cutpoints(torch.tensor([[-1.0, 0.5], [0.0, torch.inf]]))
    >>> cutpoints().round(decimals=3).tolist()
    [[-1.0, 0.5], [0.0, inf]]
    """

    valid: torch.Tensor

    def __init__(self, cutpoints: torch.Tensor) -> None:
        super().__init__()
        self.first = torch.nn.Parameter(torch.empty_like(cutpoints[:, 0]))
        self.gaps = torch.nn.Parameter(torch.empty_like(cutpoints[:, 1:]))
        self.register_buffer("valid", torch.isfinite(cutpoints))
        self.set_(cutpoints)

    @classmethod
    def start(
        cls, counts: NDArray[np.int64], n_levels: NDArray[np.int64], prior: float = 5.0
    ) -> Cutpoints:
        """Start from the smoothed empirical CDF; see :func:`smoothed_cutpoints`."""
        return cls(torch.from_numpy(smoothed_cutpoints(counts, n_levels, prior)))

    @torch.no_grad()
    def set_(self, cutpoints: torch.Tensor) -> None:
        """Set the parameters so that ``forward()`` gives these cutpoints."""
        exact = cutpoints.detach().double().cpu()
        gap = (exact[:, 1:] - exact[:, :-1] - MIN_GAP).clamp(min=1e-7)
        # The inverse of softplus, in a form that does not overflow; padding gets 0.
        gap = gap + torch.log(-torch.expm1(-gap))
        self.first.copy_(exact[:, 0])
        self.gaps.copy_(torch.where(torch.isfinite(exact[:, 1:]), gap, 0.0))

    def forward(self) -> torch.Tensor:
        """Return the cutpoints, shape (n_latent, max_cutpoints)."""
        steps = torch.where(self.valid[:, 1:], softplus(self.gaps), 0.0)
        span = pad(steps.cumsum(-1), (1, 0)).clamp(max=MAX_SPAN)
        spacing = MIN_GAP * torch.arange(span.shape[1], device=span.device, dtype=span.dtype)
        ordered = self.first.clamp(-MAX_FIRST, MAX_FIRST)[:, None] + span + spacing
        return ordered.masked_fill(~self.valid, torch.inf)
