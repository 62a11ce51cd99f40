"""The loss of a network's answers: log score, ranked probability score and squared error."""

from __future__ import annotations

from typing import NamedTuple

import torch

from tabsoda.diffusion.answers import Answers

# Squared errors grow linearly beyond this many standard deviations: one absurd income must not
# outweigh a thousand answers.
MAX_DEVIATION = 5.0


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
    answers: Answers,
    targets: AnswerTargets,
    ordered_places: torch.Tensor,
    ranked_probability: float,
    bins: float,
) -> AnswerLoss:
    """Return the weighted mean loss over the cells that count.

    Parameters
    ----------
    answers : Answers
    targets : AnswerTargets
    ordered_places : int64 tensor, shape (n_ordered,)
        The ordinals among the categorical columns.
    ranked_probability : float
        Weight of the ranked probability score beside an ordinal's log score.
    bins : float
        Weight of the bins' log score beside a number's squared error.
    """
    chosen = targets.levels[..., None]
    level_loss = -answers.log_probabilities.gather(2, chosen)[..., 0]
    if ranked_probability > 0 and ordered_places.numel():
        cumulated = answers.log_probabilities.index_select(1, ordered_places).exp().cumsum(dim=2)
        level = torch.arange(cumulated.shape[2], device=cumulated.device)
        reached = (targets.levels.index_select(1, ordered_places)[..., None] <= level).float()
        # Beyond a column's last level both are 1 and add nothing.
        score = (cumulated - reached).square().sum(dim=2)
        level_loss = level_loss.index_add(1, ordered_places, ranked_probability * score)
    deviation = (answers.numbers - targets.numbers).abs()
    near = deviation.clamp(max=MAX_DEVIATION)
    number_loss = near.square() + 2 * MAX_DEVIATION * (deviation - near)
    if bins > 0:
        placed = answers.bin_log_probabilities.gather(2, targets.bins[..., None])[..., 0]
        number_loss = number_loss - bins * placed
    weight = targets.level_weight.sum() + targets.number_weight.sum()
    weight = weight.clamp(min=1e-6)
    levels = (level_loss * targets.level_weight).sum() / weight
    numbers = (number_loss * targets.number_weight).sum() / weight
    return AnswerLoss(levels + numbers, levels, numbers)
