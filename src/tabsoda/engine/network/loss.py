"""The loss of a network's answers: log score, ranked probability score and squared error."""

from __future__ import annotations

from typing import NamedTuple

import torch

from tabsoda.engine.network.heads import AnswerHeads

# Squared errors grow linearly beyond this many standard deviations, so that one extreme income
# does not outweigh a thousand answers.
MAX_DEVIATION = 5.0
# About the logarithm of the smallest number in single precision.
_LOWEST = -85.0


class AnswerTargets(NamedTuple):
    """The true answers of a batch, and which of them count.

    Attributes
    ----------
    levels : int64 tensor, shape (B, n_categorical)
    numbers : float32 tensor, shape (B, n_numbers)
        Standardised.
    bins : int64 tensor, shape (B, n_numbers)
    level_weight, number_weight : float32 tensor, shape (B, n_categorical) and (B, n_numbers)
        0 where an answer is not known or does not count.
    """

    levels: torch.Tensor
    numbers: torch.Tensor
    bins: torch.Tensor
    level_weight: torch.Tensor
    number_weight: torch.Tensor


class AnswerLoss(NamedTuple):
    """The loss and its parts, each a tensor of shape (); means over the weight of all cells."""

    total: torch.Tensor
    levels: torch.Tensor
    numbers: torch.Tensor


def answer_loss(
    heads: AnswerHeads,
    outputs: torch.Tensor,
    targets: AnswerTargets,
    ranked_probability: float,
    bins: float,
) -> AnswerLoss:
    """Return the weighted mean loss over the cells that count.

    Parameters
    ----------
    heads : AnswerHeads
    outputs : tensor, shape (B, n_outputs)
        The outputs of a network.
    targets : AnswerTargets
    ranked_probability : float
        Weight of an ordinal's ranked probability score, relative to its log score.
    bins : float
        Weight of the bins' log score, relative to a number's squared error.
    """
    answers = heads.grouped(outputs)
    weight = targets.level_weight.sum() + targets.number_weight.sum()
    weight = weight.clamp(min=1e-6)
    levels = weight.new_zeros(())
    for group, predicted in zip(heads.groups, answers.levels, strict=True):
        truth = targets.levels.index_select(1, group.places).T
        counts = targets.level_weight.index_select(1, group.places).T
        levels = levels - (predicted.gather(0, truth[None])[0] * counts).sum()
        if ranked_probability > 0 and group.n_ordered:
            score = _ranked_score(
                predicted.index_select(1, group.ordered), truth.index_select(0, group.ordered)
            )
            counted = score * counts.index_select(0, group.ordered)
            levels = levels + ranked_probability * counted.sum()
    deviation = (answers.numbers - targets.numbers.T).abs()
    near = deviation.clamp(max=MAX_DEVIATION)
    number_loss = near.square() + 2 * MAX_DEVIATION * (deviation - near)
    if bins > 0:
        placed = answers.bin_log_probabilities.gather(0, targets.bins.T[None])[0]
        number_loss = number_loss - bins * placed
    levels = levels / weight
    numbers = (number_loss * targets.number_weight.T).sum() / weight
    return AnswerLoss(levels + numbers, levels, numbers)


def _ranked_score(log_probabilities: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Return the ranked probability score, shape (k, B), of levels (width, k, B)."""
    # Exponentials that underflow are slow on some processors.
    cumulated = log_probabilities.clamp(min=_LOWEST).exp().cumsum(dim=0)
    level = torch.arange(cumulated.shape[0], device=cumulated.device)[:, None, None]
    reached = (truth <= level).float()
    # Beyond a column's last level both cumulative probabilities are 1.
    return (cumulated - reached).square().sum(dim=0)
