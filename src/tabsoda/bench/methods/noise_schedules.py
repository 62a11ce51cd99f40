"""TabDiff's learned noise schedules: one exponent per column, from data to pure noise."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import softplus

# As released: where the exponents start, and what they cannot fall below.
_NUMBER_START, _NUMBER_OFFSET = 7.0, 5.0
_MASK_START, _MASK_OFFSET = -6.0, 1.0
# Shares of categories that are masked at time 0 and not masked at time 1.
_FIRST_SHARE, _LAST_SHARE = 1e-5, 1e-3


def power_mean(
    time: torch.Tensor, exponent: torch.Tensor | float, low: float, high: float
) -> torch.Tensor:
    """Return EDM's noise level at a time between 0 and 1: ``low`` at 0, ``high`` at 1.

    Examples
    --------
    >>> power_mean(torch.tensor([0.0, 0.5, 1.0]), 2.0, 1.0, 9.0)
    tensor([1., 4., 9.])
    """
    start, end = low ** (1 / exponent), high ** (1 / exponent)
    return (start + time * (end - start)) ** exponent


class NumberSchedule(nn.Module):
    """The noise of each number: a power mean whose exponent is learned and above 5.

    Parameters
    ----------
    n_numbers : int
    low, high : float
        Noise at times 0 and 1, whatever the exponents.

    Examples
    --------
    >>> schedule = NumberSchedule(2, 0.002, 80.0)
    >>> schedule(torch.tensor([[1.0]])).round()
    tensor([[80., 80.]], grad_fn=<RoundBackward0>)
    """

    def __init__(self, n_numbers: int, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high
        self.raw = nn.Parameter(torch.full((n_numbers,), _NUMBER_START))

    def exponent(self) -> torch.Tensor:
        """Return the exponents, shape (q,)."""
        return softplus(self.raw) + _NUMBER_OFFSET

    def forward(self, time: torch.Tensor) -> torch.Tensor:
        """Return the noise levels at times (B, 1); shape (B, q)."""
        return power_mean(time, self.exponent(), self.low, self.high)

    def time_of(self, level: torch.Tensor) -> torch.Tensor:
        """Return the times at which the columns have these levels; shape (B, q)."""
        power = 1 / self.exponent()
        start, end = self.low**power, self.high**power
        return (level**power - start) / (end - start)


class MaskSchedule(nn.Module):
    """The share of masked categories: a power of time whose exponent is learned and above 1.

    Parameters
    ----------
    n_categorical : int
    """

    def __init__(self, n_categorical: int) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.full((n_categorical,), _MASK_START))

    def exponent(self) -> torch.Tensor:
        """Return the exponents, shape (c,)."""
        return softplus(self.raw) + _MASK_OFFSET

    def forward(self, time: torch.Tensor) -> torch.Tensor:
        """Return the masked shares at times (B, 1); shape (B, c)."""
        return (1 - _FIRST_SHARE - _LAST_SHARE) * time ** self.exponent() + _FIRST_SHARE

    def weight(self, time: torch.Tensor) -> torch.Tensor:
        """Return the weight of a masked cell in the likelihood's bound; shape (B, c).

        The derivative of the log masked share: a cell is masked with probability m, and the bound
        weighs it by m' / m.
        """
        exponent = self.exponent()
        growth = (1 - _FIRST_SHARE - _LAST_SHARE) * exponent * time ** (exponent - 1)
        return growth / self(time)
