"""Heads: a network's outputs as probabilities of levels, expected numbers and bins.

A network returns one flat vector of outputs per row; :class:`AnswerHeads` assigns them to columns.
Nominals have a softmax, ordinals a softmax with an ordered part, numbers an expectation and a
softmax over bins of their ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import nn
from torch.nn import functional

from tabsoda.engine.network.level_groups import IMPOSSIBLE, LevelGroup, group_of
from tabsoda.engine.number_bins import MAX_BINS


class Answers(NamedTuple):
    """A network's answers for the cells of a batch.

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


class GroupedAnswers(NamedTuple):
    """The same with rows last, and the categorical columns in the groups of the heads.

    Attributes
    ----------
    levels : tuple of float32 tensor, shape (width, k, B)
        Log probabilities, per group.
    numbers : float32 tensor, shape (n_numbers, B)
    bin_log_probabilities : float32 tensor, shape (MAX_BINS, n_numbers, B)
    """

    levels: tuple[torch.Tensor, ...]
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
    """Converts a network's flat outputs to answers; has no trainable weights.

    The order of the outputs is: levels of each categorical column, location and spread of each
    ordered one, expectation of each number, bins of each number.

    Parameters
    ----------
    level_counts : ndarray of int64, shape (n_categorical, max_levels)
        Visible answers per level.
    n_levels : ndarray of int64, shape (n_categorical,)
    ordered : ndarray of bool, shape (n_categorical,)
        True for ordinals.
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

    ordered_places: torch.Tensor
    place_in_groups: torch.Tensor
    bin_padding: torch.Tensor

    def __init__(
        self,
        level_counts: NDArray[np.int64],
        n_levels: NDArray[np.int64],
        ordered: NDArray[np.bool_],
        bin_counts: NDArray[np.int64],
    ) -> None:
        super().__init__()
        self.n_numbers = bin_counts.size
        self.max_levels = max(int(n_levels.max(initial=1)), 1)
        self._n_levels = n_levels
        # With two levels, an ordered part adds nothing.
        places = np.flatnonzero(ordered & (n_levels > 2))
        self.n_logits, self.n_ordered = int(n_levels.sum()), int(places.size)
        self.n_outputs = self.n_logits + 2 * places.size + self.n_numbers * (1 + MAX_BINS)
        groups = group_of(n_levels)
        members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
        self._groups = nn.ModuleList(
            _level_group(own, level_counts, n_levels, places) for own in members
        )
        grouped = np.concatenate([*members, np.empty(0, dtype=np.int64)])
        bin_padding = np.arange(MAX_BINS)[:, None] >= np.maximum(bin_counts, 1)
        for name, array in (
            ("ordered_places", places),
            ("place_in_groups", np.argsort(grouped)),
            ("bin_padding", bin_padding[..., None]),
        ):
            self.register_buffer(name, torch.as_tensor(array), persistent=False)

    @property
    def groups(self) -> list[LevelGroup]:
        """The groups of columns, in the order of :attr:`GroupedAnswers.levels`."""
        return [group for group in self._groups if isinstance(group, LevelGroup)]

    def owners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for every output, its kind (0 categorical, 1 number) and its place among them."""
        levels = np.repeat(np.arange(self._n_levels.size), self._n_levels)
        ordered = self.ordered_places.cpu().numpy()
        numbers = np.arange(self.n_numbers)
        place = np.concatenate(
            [levels, ordered, ordered, numbers, np.repeat(numbers, MAX_BINS)]
        ).astype(np.int64)
        is_number = np.arange(place.size) >= self.n_logits + 2 * self.n_ordered
        return is_number.astype(np.int64), place

    def grouped(self, outputs: torch.Tensor) -> GroupedAnswers:
        """Convert outputs (B, n_outputs) to answers, by group."""
        logits, location, spread, numbers, bins = (
            outputs.to(torch.float32)
            .T.contiguous()
            .split(
                [
                    self.n_logits,
                    self.n_ordered,
                    self.n_ordered,
                    self.n_numbers,
                    self.n_numbers * MAX_BINS,
                ]
            )
        )
        levels = tuple(group(logits, location, spread) for group in self._groups)
        # The bins of a number are outputs next to each other.
        bins = bins.view(self.n_numbers, MAX_BINS, outputs.shape[0]).transpose(0, 1)
        bins = bins.masked_fill(self.bin_padding, IMPOSSIBLE)
        return GroupedAnswers(levels, numbers, bins.log_softmax(dim=0))

    def forward(self, outputs: torch.Tensor) -> Answers:
        """Convert outputs (B, n_outputs) to answers."""
        levels, numbers, bins = self.grouped(outputs)
        numbers, bins = numbers.T, bins.permute(2, 1, 0)
        if not levels:
            return Answers(numbers.new_zeros(numbers.shape[0], 0, 1), numbers, bins)
        padded = [
            functional.pad(
                part.permute(2, 1, 0), (0, self.max_levels - part.shape[0]), value=IMPOSSIBLE
            )
            for part in levels
        ]
        together = torch.cat(padded, dim=1).index_select(1, self.place_in_groups)
        return Answers(together, numbers, bins)


def _level_group(
    own: NDArray[np.int64],
    level_counts: NDArray[np.int64],
    n_levels: NDArray[np.int64],
    ordered_places: NDArray[np.int64],
) -> LevelGroup:
    """Build the group of some columns, given as places among the categorical ones."""
    width = int(n_levels[own].max())
    first = np.cumsum(n_levels) - n_levels
    index = first[own, None] + np.minimum(np.arange(width), n_levels[own, None] - 1)
    ordered = np.flatnonzero(np.isin(own, ordered_places))
    prior = np.zeros((own.size, width))
    scores = np.zeros((ordered.size, width))
    for row, place in enumerate(own.tolist()):
        smoothed = level_counts[place, : n_levels[place]] + 0.5
        prior[row, : n_levels[place]] = np.log(smoothed / smoothed.sum())
    for row, place in enumerate(own[ordered].tolist()):
        scores[row, : n_levels[place]] = level_scores(level_counts[place, : n_levels[place]])
    return LevelGroup(
        own,
        index,
        n_levels[own],
        prior,
        ordered,
        np.searchsorted(ordered_places, own[ordered]),
        scores,
    )
