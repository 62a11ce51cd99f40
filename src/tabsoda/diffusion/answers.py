"""Decoder heads: what a network says about every cell, as probabilities and as numbers.

A backbone gives one flat vector of outputs a row; an :class:`AnswerHeads` knows which of them
belong to which column. Nominals have a softmax, ordinals a softmax with an ordered part, numbers
an expectation and a softmax over bins of their ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import nn

from tabsoda.encoding.number_bins import MAX_BINS

_IMPOSSIBLE = -1e30


class Answers(NamedTuple):
    """What a network says about the cells of a batch.

    Attributes
    ----------
    log_probabilities : float32 tensor, shape (B, n_categorical, max_levels)
        Very low in the padding.
    numbers : float32 tensor, shape (B, n_numbers)
        Expectations, standardised.
    bin_log_probabilities : float32 tensor, shape (B, n_numbers, MAX_BINS)
    """

    log_probabilities: torch.Tensor
    numbers: torch.Tensor
    bin_log_probabilities: torch.Tensor


def level_scores(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores of ordered levels: normal quantiles of their mid-ranks, at unit variance.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_levels,)
        Visible answers per level.

    Examples
    --------
    >>> level_scores(np.array([10, 10, 10])).round(2).tolist()
    [-1.22, 0.0, 1.22]
    """
    smoothed = counts + 0.5
    share = smoothed / smoothed.sum()
    scores = ndtri(np.cumsum(share) - share / 2)
    centred = scores - (share * scores).sum()
    return centred / np.sqrt((share * centred**2).sum())


class AnswerHeads(nn.Module):
    """Reads a backbone's flat outputs as answers; holds index tensors and scores, learns nothing.

    Outputs lie in this order: levels of each categorical column, location and spread of each
    ordered one, expectation of each number, bins of each number.

    Parameters
    ----------
    level_counts : ndarray of int64, shape (n_categorical, max_levels)
        Visible answers per level.
    n_levels : ndarray of int64, shape (n_categorical,)
    ordered : ndarray of bool, shape (n_categorical,)
        Which of them are ordinals.
    bin_counts : ndarray of int64, shape (n_numbers,)
        Bins per number.

    Examples
    --------
    >>> heads = AnswerHeads(np.array([[4, 4, 2]]), np.array([3]), np.array([True]), np.array([5]))
    >>> heads.n_outputs
    26
    >>> answers = heads(torch.zeros(2, heads.n_outputs))
    >>> answers.log_probabilities.exp().sum(dim=2).ravel().tolist()
    [1.0, 1.0]
    """

    level_index: torch.Tensor
    level_valid: torch.Tensor
    level_prior: torch.Tensor
    ordered_places: torch.Tensor
    scores: torch.Tensor
    bin_valid: torch.Tensor

    def __init__(
        self,
        level_counts: NDArray[np.int64],
        n_levels: NDArray[np.int64],
        ordered: NDArray[np.bool_],
        bin_counts: NDArray[np.int64],
    ) -> None:
        super().__init__()
        n_categorical, n_numbers = n_levels.size, bin_counts.size
        max_levels = max(int(n_levels.max(initial=1)), 1)
        valid = np.arange(max_levels) < n_levels[:, None]
        index = np.zeros(valid.shape, dtype=np.int64)
        index[valid] = np.arange(valid.sum())
        places = np.flatnonzero(ordered & (n_levels > 2))
        scores = np.zeros((places.size, max_levels))
        prior = np.zeros(valid.shape)
        for place in range(n_categorical):
            smoothed = level_counts[place, : n_levels[place]] + 0.5
            prior[place, : n_levels[place]] = np.log(smoothed / smoothed.sum())
        for row, place in enumerate(places.tolist()):
            scores[row, : n_levels[place]] = level_scores(level_counts[place, : n_levels[place]])
        self.n_logits, self.n_ordered, self.n_numbers = (
            int(valid.sum()),
            int(places.size),
            n_numbers,
        )
        self.n_outputs = self.n_logits + 2 * places.size + n_numbers * (1 + MAX_BINS)
        bins = np.arange(MAX_BINS) < np.maximum(bin_counts, 1)[:, None]
        for name, array in (
            ("level_index", index),
            ("level_valid", valid),
            ("level_prior", prior.astype(np.float32)),
            ("ordered_places", places),
            ("scores", scores.astype(np.float32)),
            ("bin_valid", bins),
        ):
            self.register_buffer(name, torch.as_tensor(array), persistent=False)

    def owners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for every output, its kind (0 categorical, 1 number) and its place among them."""
        valid = self.level_valid.cpu().numpy()
        levels = np.repeat(np.arange(valid.shape[0]), valid.sum(axis=1))
        ordered = self.ordered_places.cpu().numpy()
        numbers = np.arange(self.n_numbers)
        place = np.concatenate(
            [levels, ordered, ordered, numbers, np.repeat(numbers, MAX_BINS)]
        ).astype(np.int64)
        is_number = np.arange(place.size) >= self.n_logits + 2 * self.n_ordered
        return is_number.astype(np.int64), place

    def forward(self, outputs: torch.Tensor) -> Answers:
        """Turn outputs (B, n_outputs) into answers."""
        outputs = outputs.to(torch.float32)
        logits, location, spread, numbers, bins = outputs.split(
            [
                self.n_logits,
                self.n_ordered,
                self.n_ordered,
                self.n_numbers,
                self.n_numbers * MAX_BINS,
            ],
            dim=1,
        )
        n_categorical = self.level_index.shape[0]
        if n_categorical:
            padded = logits.index_select(1, self.level_index.flatten())
            padded = padded.unflatten(1, self.level_index.shape) + self.level_prior
            if self.n_ordered:
                # The logits of a discretised normal: neighbours of a likely level are likely too.
                bent = spread[..., None] * (self.scores**2 - 1.0)
                smooth = location[..., None] * self.scores + 0.5 * bent
                padded = padded.index_add(1, self.ordered_places, smooth)
            padded = padded.masked_fill(~self.level_valid, _IMPOSSIBLE)
        else:
            padded = logits.new_zeros(logits.shape[0], 0, 1)
        bins = bins.unflatten(1, (self.n_numbers, MAX_BINS)) if self.n_numbers else bins[:, :, None]
        if self.n_numbers:
            bins = bins.masked_fill(~self.bin_valid, _IMPOSSIBLE)
        return Answers(padded.log_softmax(dim=-1), numbers, bins.log_softmax(dim=-1))
