"""The temperature at which each latent ordinal is decoded, chosen on held-out answers.

Input: predicted latents and true levels of held-out cells. Output: one temperature per column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.paper.latents import level_probabilities, most_probable_level

# Epsilon_pi of Eq. (nll).
MIN_PROBABILITY = 1e-8
_BLOCK_ROWS = 4096


class DecodingScore(NamedTuple):
    """Sums over the held-out cells of each column, each of shape (n_latent,)."""

    correct: NDArray[np.int64]
    distance: NDArray[np.int64]
    negative_log_likelihood: NDArray[np.float64]


def score_temperature(
    latent: torch.Tensor,
    levels: torch.Tensor,
    held_out: torch.Tensor,
    cutpoints: torch.Tensor,
    temperature: float,
) -> DecodingScore:
    """Decode the held-out cells by mode at one temperature, and sum the scores.

    Sums instead of means, so that ties between temperatures are exact.

    Parameters
    ----------
    latent : float tensor, shape (n, n_latent)
    levels : int64 tensor, shape (n, n_latent)
    held_out : bool tensor, shape (n, n_latent)
    cutpoints : float tensor, shape (n_latent, max_cutpoints)
    temperature : float
    """
    correct = torch.zeros(latent.shape[1], dtype=torch.int64)
    distance = torch.zeros_like(correct)
    likelihood = torch.zeros(latent.shape[1], dtype=torch.float64)
    for start in range(0, latent.shape[0], _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        counted = held_out[rows]
        truth = torch.where(counted, levels[rows], 0)
        probability = level_probabilities(latent[rows], cutpoints, temperature)
        gap = torch.where(counted, (most_probable_level(probability) - truth).abs(), 0)
        chosen = probability.gather(2, truth[..., None])[..., 0].clamp(min=MIN_PROBABILITY)
        correct += (counted & (gap == 0)).sum(0).cpu()
        distance += gap.sum(0).cpu()
        likelihood += torch.where(counted, -chosen.log(), 0.0).sum(0).cpu()
    return DecodingScore(correct.numpy(), distance.numpy(), likelihood.numpy())


def choose_temperatures(
    latent: torch.Tensor,
    levels: torch.Tensor,
    held_out: torch.Tensor,
    cutpoints: torch.Tensor,
    grid: Sequence[float],
    *,
    names: Sequence[str] | None = None,
    events: EventLog | None = None,
) -> NDArray[np.float64]:
    """Choose per column the smallest (-accuracy, MACE, NLL, |temperature - 1|), Appendix C.

    Remaining ties go to the lower temperature. A column without a held-out cell gets the interval
    (temperature 0) if it is in the grid, because that inverts the encoder, otherwise 1.

    Parameters
    ----------
    latent, levels, held_out, cutpoints
        As in :func:`score_temperature`; cells that are not held out are ignored.
    grid : sequence of float
        Temperatures to try; 0 is interval membership.
    names : sequence of str, optional
        The columns, for the events.
    events : EventLog, optional
        Gets ``"temperature_chosen"`` or ``"temperature_not_tuned"`` per column.

    Returns
    -------
    ndarray of float64, shape (n_latent,)

    Examples
    --------
    Perfect latents of five equal levels: the mode at temperature 1 misses the outer levels.

    >>> cutpoints = torch.tensor([[-0.84, -0.25, 0.25, 0.84]])
    >>> latent = torch.tensor([[-1.4], [-0.5], [0.0], [0.5], [1.4]])
    >>> levels = torch.arange(5)[:, None]
    >>> choose_temperatures(latent, levels, levels >= 0, cutpoints, (0.0, 1.0)).tolist()
    [0.0]
    """
    temperatures = np.unique(np.asarray(grid, dtype=np.float64))
    scores = [
        score_temperature(latent, levels, held_out, cutpoints, float(t)) for t in temperatures
    ]
    correct, distance, likelihood = (np.stack(part) for part in zip(*scores, strict=True))
    closeness = np.broadcast_to(np.abs(temperatures - 1.0)[:, None], correct.shape)
    # The last key of lexsort is the primary one; it is stable, so ties keep the grid's order.
    best = np.lexsort((closeness, likelihood, distance, -correct), axis=0)[0]
    counts = held_out.sum(0).cpu().numpy()
    fallback = 0.0 if 0.0 in temperatures else 1.0
    chosen = np.where(counts > 0, temperatures[best], fallback)
    if events is not None and names is not None:
        for position, name in enumerate(names):
            temperature = float(chosen[position])
            if counts[position]:
                events.add(
                    "temperature_chosen",
                    column=name,
                    temperature=temperature,
                    right=int(correct[best[position], position]),
                    cells=int(counts[position]),
                )
            else:
                events.add("temperature_not_tuned", column=name, temperature=temperature)
    return chosen
