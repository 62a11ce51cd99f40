"""Standardises every coordinate to mean 0 and the scale that the denoiser expects.

Input: an encoded table. Output: coordinates of standard deviation ``data_scale``, 0 at skips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tabsoda.events import EventLog

# A coordinate whose spread is below this share of its size is constant up to rounding.
_CONSTANT = 1e-6


def moment_entries(refresh: str, visible: torch.Tensor, applicable: torch.Tensor) -> torch.Tensor:
    """Return the entries over which the moments are computed, by refresh policy.

    ``"once"``: the visible ones, because mean-filled entries would shrink the scale;
    ``"each_round"``: all applicable ones, because by then imputed entries vary.
    """
    return visible if refresh == "once" else applicable


@dataclass(frozen=True, eq=False)
class Standardizer:
    """A coordinate-wise affine map (T_Sigma in the paper).

    Attributes
    ----------
    mean, scale : float32 tensor, shape (p,)
        A coordinate z becomes (z - mean) / scale, with scale = sd / data_scale.

    Examples
    --------
    >>> encoded = torch.tensor([[0.0], [2.0], [99.0]])
    >>> applicable = torch.tensor([[True], [True], [False]])
    >>> standardizer = Standardizer.fit(encoded, applicable)
    >>> standardizer.apply(encoded, applicable).ravel().tolist()
    [-0.5, 0.5, 0.0]
    """

    mean: torch.Tensor
    scale: torch.Tensor

    @classmethod
    def fit(
        cls,
        encoded: torch.Tensor,
        weights: torch.Tensor,
        data_scale: float = 0.5,
        *,
        names: Sequence[str] | None = None,
        events: EventLog | None = None,
    ) -> Standardizer:
        """Compute the moments of some entries.

        Parameters
        ----------
        encoded : float tensor, shape (n, p)
        weights : bool or float tensor, shape (n, p)
            0 for entries that do not count; see :func:`moment_entries`.
        data_scale : float
            Standard deviation of the standardised coordinates; the preconditioning assumes it.
        names : sequence of str, optional
            The column of each coordinate, for the events.
        events : EventLog, optional
            Gets ``"constant_column_not_rescaled"`` where a coordinate does not vary.
        """
        # Float64 sums are exact enough for any table and available on every CPU.
        counted = weights.cpu().double()
        z = torch.where(counted > 0, encoded.cpu().double(), 0.0)
        total = counted.sum(0).clamp(min=torch.finfo(torch.float64).tiny)
        mean = (counted * z).sum(0) / total
        sd = ((counted * (z - mean).square()).sum(0) / total).sqrt()
        constant = sd <= _CONSTANT * mean.abs().clamp(min=1.0)
        scale = torch.where(constant, 1.0, sd / data_scale)
        if events is not None and names is not None:
            for position in torch.nonzero(constant).ravel().tolist():
                events.add(
                    "constant_column_not_rescaled",
                    column=names[position],
                    coordinate=position,
                    value=float(mean[position]),
                )
        return cls(mean.float().to(encoded.device), scale.float().to(encoded.device))

    def apply(self, encoded: torch.Tensor, applicable: torch.Tensor) -> torch.Tensor:
        """Standardise; entries that are not applicable (skips) become exactly 0."""
        return torch.where(applicable, (encoded - self.mean) / self.scale, 0.0)

    def invert(self, standardized: torch.Tensor) -> torch.Tensor:
        """Convert back to the scale of codewords and cutpoints; skips are undefined there."""
        return standardized * self.scale + self.mean

    def to(self, device: torch.device | str) -> Standardizer:
        """Move to a device."""
        return Standardizer(self.mean.to(device), self.scale.to(device))
