"""The terms of the M-step's objective, Eq. (tabsoda_loss), each over all columns of a kind at once.

Shapes do not depend on the data and nothing is copied to the host, so that a training step can be
captured as a graph. For the same reason, masks fill in place instead of choosing between a tensor
and a number, which would copy the number to the device. Entries that a mask excludes may have any
value, also NaN.
"""

from __future__ import annotations

import torch

from tabsoda.paper.noise import loss_weight

# The floor of a level's probability in Eq. (nll).
PROBABILITY_FLOOR = 1e-8


def reconstruction_loss(
    prediction: torch.Tensor,
    target: torch.Tensor,
    noise_level: torch.Tensor,
    applicable: torch.Tensor,
    entry_weight: torch.Tensor,
    data_scale: float,
    row_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the skip-masked, noise-weighted squared error, Eq. (diffusion_loss).

    Parameters
    ----------
    prediction, target : tensor, shape (B, p)
        Standardised.
    noise_level : tensor, shape (B,)
    applicable : bool tensor, shape (B, p)
        Entries that are not skipped; a row's error is divided by their number.
    entry_weight : tensor, shape (B, p)
        From :func:`entry_weights`.
    data_scale : float
    row_weight : tensor, shape (B,), optional

    Returns
    -------
    tensor of shape ()
    """
    weight = entry_weight * applicable
    error = (prediction - target).masked_fill(weight == 0, 0.0)
    summed = (weight * error**2).sum(dim=1)
    per_row = loss_weight(noise_level, data_scale) * summed / applicable.sum(dim=1).clamp(min=1)
    if row_weight is None:
        return per_row.mean()
    return _safe_ratio((row_weight * per_row).sum(), row_weight.sum())


def entry_weights(
    supervised: torch.Tensor,
    to_impute: torch.Tensor,
    ramp: torch.Tensor | float,
    width_parity: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the weight of each entry: 1 for supervised entries, the ramp for imputed ones.

    Parameters
    ----------
    supervised, to_impute : bool tensor, shape (B, p)
    ramp : float or tensor of shape ()
        The round's weight of imputed entries.
    width_parity : tensor, shape (p,), optional
        Factor per coordinate, so that a latent ordinal weighs as much as its bits would.

    Returns
    -------
    tensor, shape (B, p)

    Examples
    --------
    >>> entry_weights(torch.tensor([[True, False]]), torch.tensor([[False, True]]), 0.25)
    tensor([[1.0000, 0.2500]])
    """
    weight = supervised.float() + ramp * to_impute.float()
    return weight if width_parity is None else weight * width_parity


def column_mean(
    cell_loss: torch.Tensor,
    supervised: torch.Tensor,
    row_weight: torch.Tensor | None,
    reduction: str,
) -> torch.Tensor:
    """Average each column over its supervised cells, then sum or average the columns.

    A column without a supervised cell in the batch contributes 0.

    Parameters
    ----------
    cell_loss : tensor, shape (B, n)
    supervised : bool tensor, shape (B, n)
    row_weight : tensor, shape (B,), optional
    reduction : {"mean", "sum"}

    Examples
    --------
    >>> column_mean(torch.tensor([[1.0, 5.0], [3.0, 5.0]]),
    ...             torch.tensor([[True, False], [True, False]]), None, "sum")
    tensor(2.)
    """
    weight = supervised.to(cell_loss.dtype)
    if row_weight is not None:
        weight = weight * row_weight[:, None]
    total = (weight * cell_loss.masked_fill(~supervised, 0.0)).sum(dim=0)
    columns = _safe_ratio(total, weight.sum(dim=0)).sum()
    return columns / max(cell_loss.shape[1], 1) if reduction == "mean" else columns


def continuous_loss(
    prediction: torch.Tensor,
    target: torch.Tensor,
    supervised: torch.Tensor,
    row_weight: torch.Tensor | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Return the squared error of continuous columns, L_cont of Eq. (tabsoda_loss).

    Parameters
    ----------
    prediction, target : tensor, shape (B, n_continuous)
        Encoded, at unit variance.
    supervised : bool tensor, shape (B, n_continuous)
    row_weight, reduction
        As in :func:`column_mean`.
    """
    error = (prediction - target).masked_fill(~supervised, 0.0)
    return column_mean(error**2, supervised, row_weight, reduction)


def nominal_loss(
    log_probabilities: torch.Tensor,
    levels: torch.Tensor,
    supervised: torch.Tensor,
    row_weight: torch.Tensor | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Return the cross-entropy of the observed levels, Eq. (nom_loss).

    Parameters
    ----------
    log_probabilities : tensor, shape (B, n, max_levels)
        From the prototype softmax.
    levels : int64 tensor, shape (B, n)
        From 0; ignored where not supervised.
    supervised : bool tensor, shape (B, n)
    row_weight, reduction
        As in :func:`column_mean`.
    """
    chosen = _level_or_first(levels, supervised)
    cell_loss = -log_probabilities.gather(2, chosen[..., None])[..., 0]
    return column_mean(cell_loss, supervised, row_weight, reduction)


def negative_log_likelihood(probabilities: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
    """Return -log of the observed level's probability, floored, per cell: Eq. (nll)."""
    observed = probabilities.gather(2, levels[..., None])[..., 0]
    return -torch.log(observed.clamp(min=PROBABILITY_FLOOR))


def ranked_probability_score(
    probabilities: torch.Tensor, levels: torch.Tensor, n_levels: torch.Tensor
) -> torch.Tensor:
    """Return the mean squared error of the cumulative probabilities, per cell: Eq. (rps).

    Parameters
    ----------
    probabilities : tensor, shape (B, n, max_levels)
        0 in the padding.
    levels : int64 tensor, shape (B, n)
    n_levels : int64 tensor, shape (n,)

    Returns
    -------
    tensor, shape (B, n)

    Examples
    --------
    >>> ranked_probability_score(torch.tensor([[[0.5, 0.5, 0.0]]]), torch.tensor([[1]]),
    ...                          torch.tensor([3]))
    tensor([[0.1250]])
    """
    position = torch.arange(probabilities.shape[2] - 1, device=probabilities.device)
    predicted = probabilities.cumsum(dim=2)[..., :-1]
    observed = (levels[..., None] <= position).to(probabilities.dtype)
    # Beyond a column's last cutpoint both cumulative probabilities are 1.
    squared = (predicted - observed) ** 2
    return squared.sum(dim=2) / (n_levels - 1).clamp(min=1)


def ordinal_loss(
    probabilities: torch.Tensor,
    levels: torch.Tensor,
    supervised: torch.Tensor,
    n_levels: torch.Tensor,
    ranked_probability: float,
    level_weights: torch.Tensor | None = None,
    row_weight: torch.Tensor | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Return negative log likelihood plus weighted ranked probability score, Eq. (scalar_loss).

    Parameters
    ----------
    probabilities : tensor, shape (B, n, max_levels)
        From the cumulative-probit decoder.
    levels : int64 tensor, shape (B, n)
        From 0; ignored where not supervised.
    supervised : bool tensor, shape (B, n)
    n_levels : int64 tensor, shape (n,)
    ranked_probability : float
        λ_RPS.
    level_weights : tensor, shape (n, max_levels), optional
        From :func:`inverse_frequency_weights`: the class-balanced variant.
    row_weight, reduction
        As in :func:`column_mean`.
    """
    chosen = _level_or_first(levels, supervised)
    cell_loss = negative_log_likelihood(probabilities, chosen)
    if ranked_probability > 0:
        score = ranked_probability_score(probabilities, chosen, n_levels)
        cell_loss = cell_loss + ranked_probability * score
    if level_weights is not None:
        column = torch.arange(chosen.shape[1], device=chosen.device)
        cell_loss = cell_loss * level_weights[column, chosen]
    return column_mean(cell_loss, supervised, row_weight, reduction)


def inverse_frequency_weights(counts: torch.Tensor) -> torch.Tensor:
    """Weigh levels by inverse frequency, so that the mean weight of a column's answers is 1.

    Parameters
    ----------
    counts : tensor, shape (n, max_levels)
        Visible answers per level; 0 in the padding.

    Examples
    --------
    >>> inverse_frequency_weights(torch.tensor([[1.0, 3.0, 0.0]]))
    tensor([[2.0000, 0.6667, 0.0000]])
    """
    seen = counts > 0
    mean_count = counts.sum(dim=1, keepdim=True) / seen.sum(dim=1, keepdim=True).clamp(min=1)
    return _safe_ratio(mean_count, counts)


def _level_or_first(levels: torch.Tensor, supervised: torch.Tensor) -> torch.Tensor:
    """Replace missing levels by a valid level, so that no index is out of range."""
    return levels.masked_fill(~supervised, 0)


def _safe_ratio(numerator: torch.Tensor, denominator: torch.Tensor) -> torch.Tensor:
    """Divide, with 0 if the denominator is 0, and finite gradients."""
    empty = denominator == 0
    return (numerator / denominator.masked_fill(empty, 1.0)).masked_fill(empty, 0.0)
