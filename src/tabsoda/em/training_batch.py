"""One batch of the M-step: what is hidden, how much noise, and the loss of what comes back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tabsoda.diffusion.answer_loss import AnswerLoss, AnswerTargets, answer_loss
from tabsoda.diffusion.noise import noisy_state, training_noise
from tabsoda.diffusion.objective import LossTerms, Targets
from tabsoda.em.model import Model
from tabsoda.em.working_table import WorkingTable
from tabsoda.setting_groups import TrainingSettings
from tabsoda.torch_runtime.keyed_noise import keyed_normals, keyed_uniforms
from tabsoda.torch_runtime.processes import Processes

# What a batch draws noise for; each gets a key of its own at each step.
NOISE_USES = ("level", "noise", "low noise", "share", "hide", "top", "pattern")
# A row hides at least and, unless settings say otherwise, at most this share of its cells.
HIDDEN_SHARE = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class RoundTargets:
    """The completed table a round trains on.

    Attributes
    ----------
    encoded, standardized : float32 tensor, shape (n, p)
    ramp : float32 tensor, shape ()
        Weight of imputed entries; a tensor, so that a compiled step serves every round.
    column_weights : float32 tensor, shape (d,), optional
        How much a cell of each column counts for the decoder heads; all the same unless given.
    """

    encoded: torch.Tensor
    standardized: torch.Tensor
    ramp: torch.Tensor
    column_weights: torch.Tensor | None = None


def batch_loss(
    model: Model,
    data: WorkingTable,
    targets: RoundTargets,
    rows: torch.Tensor,
    keys: torch.Tensor,
    processes: Processes | None = None,
) -> LossTerms:
    """Return the objective on some rows, Eq. (tabsoda_loss); free of host synchronisation.

    Parameters
    ----------
    model : Model
    data : WorkingTable
    targets : RoundTargets
    rows : int64 tensor, shape (B,)
    keys : int64 tensor, shape (len(NOISE_USES),)
    processes : Processes, optional
        Who computes the other rows of the batch; what is returned is then these rows' part of the
        sum. With decoder heads only.
    """
    settings = model.settings
    # A step does so little that even indexing by brackets instead of index_select would show.
    row_keys, applicable = (
        data.row_keys.index_select(0, rows),
        data.applicable.index_select(0, rows),
    )
    clean = targets.standardized.index_select(0, rows)
    n_coordinates = clean.shape[1]
    noise_level = training_noise(
        settings.noise.log_mean, settings.noise.log_sd, keyed_normals(keys[0], row_keys, 1)[:, 0]
    )
    if settings.noise.top_share > 0:
        at_top = keyed_uniforms(keys[5], row_keys, 1)[:, 0] < settings.noise.top_share
        noise_level = noise_level.masked_fill(at_top, settings.sampler.noise_max)
    normals = keyed_normals(keys[1], row_keys, n_coordinates)
    visible_columns = data.visible_columns.index_select(0, rows)
    unknown = None
    if settings.training.conditioning == "clean":
        supervised = hide_for_training(visible_columns, row_keys, keys, settings.training, data)
        visible = data.visible.index_select(0, rows) & ~supervised[:, model.objective.column_of]
        # Until imputations count, what stands in a missing cell is a filler, not a noisy answer.
        unknown = data.to_impute.index_select(0, rows) & (targets.ramp == 0)
        if model.heads is not None and settings.noise.top_share > 0:
            # Answers are given from pure noise, where nothing at all is left of a hidden cell.
            unknown = unknown | (at_top[:, None] & applicable & ~visible)
        state = noisy_state(clean, noise_level, normals, applicable, held_clean=visible)
    else:
        supervised = visible_columns
        visible = data.visible.index_select(0, rows)
        state = noisy_state(clean, noise_level, normals, applicable)
    batch = Targets(
        standardized=clean,
        encoded=targets.encoded.index_select(0, rows),
        levels=data.levels.index_select(0, rows),
        supervised=supervised,
        to_impute=data.to_impute.index_select(0, rows),
        applicable=applicable,
        row_weight=data.row_weights.index_select(0, rows),
    )
    if model.heads is not None:
        prediction, outputs = model.denoiser.with_answers(
            state, noise_level, visible, ~applicable, batch.levels, unknown
        )
        reconstruction = model.objective.reconstruction(
            prediction, noise_level, batch, targets.ramp
        )
        answered = answer_targets(data, model, rows, supervised, targets.column_weights)
        answers = answer_loss(
            model.heads,
            outputs,
            answered,
            settings.loss.ranked_probability,
            settings.loss.bins,
        )
        if processes is not None:
            of_rows, of_cells = _shares(data.row_weights.index_select(0, rows), answered, processes)
            reconstruction = of_rows * reconstruction
            answers = AnswerLoss(*(of_cells * part for part in answers))
        return LossTerms(
            settings.loss.reconstruction * reconstruction + answers.total,
            reconstruction,
            answers.numbers,
            answers.levels,
            torch.zeros_like(answers.levels),
        )
    prediction = model.denoiser(state, noise_level, visible, ~applicable, batch.levels, unknown)
    decoded_from = prediction
    if settings.training.low_noise_pass:
        low = torch.full_like(noise_level, settings.training.calibration_noise)
        low_normals = keyed_normals(keys[2], row_keys, n_coordinates)
        low_state = noisy_state(
            clean, low, low_normals, applicable, visible if _is_clean(model) else None
        )
        decoded_from = model.denoiser(low_state, low, visible, ~applicable, batch.levels, unknown)
    decoded = model.objective.decode(
        model.standardizer.invert(decoded_from), model.cutpoints().detach()
    )
    return model.objective(prediction, noise_level, decoded, batch, targets.ramp)


@functools.cache
def compiled_batch_loss() -> Callable[..., LossTerms]:
    """Return :func:`batch_loss` compiled, once per process: rounds of one shape share the code."""
    return torch.compile(batch_loss, dynamic=False)


def hide_some(
    visible: torch.Tensor,
    row_keys: torch.Tensor,
    share_key: torch.Tensor,
    hide_key: torch.Tensor,
    most: float = HIDDEN_SHARE[1],
) -> torch.Tensor:
    """Choose visible cells to hide, a random share of each row; bool, shape (B, d)."""
    least = HIDDEN_SHARE[0]
    share = least + (most - least) * keyed_uniforms(share_key, row_keys, 1)
    return visible & (keyed_uniforms(hide_key, row_keys, visible.shape[1]) < share)


def hide_for_training(
    visible: torch.Tensor,
    row_keys: torch.Tensor,
    keys: torch.Tensor,
    settings: TrainingSettings,
    data: WorkingTable,
) -> torch.Tensor:
    """Choose visible cells to hide as the settings say; bool, shape (B, d).

    Parameters
    ----------
    visible : bool tensor, shape (B, d)
    row_keys : int64 tensor, shape (B,)
    keys : int64 tensor, shape (len(NOISE_USES),)
    settings : TrainingSettings
        Its ``hiding`` says how; a row that a pattern would leave as it is hides a random share.
    data : WorkingTable
        Whose missing cells are the patterns.
    """
    at_random = hide_some(visible, row_keys, keys[3], keys[4], settings.hidden_share)
    if settings.hiding == "uniform":
        return at_random
    drawn = keyed_uniforms(keys[6], row_keys, 2)
    # Rounding may give a uniform of 1.
    other = (drawn[:, 0] * data.n_rows).long().clamp(max=data.n_rows - 1)
    missed = visible & data.missing_columns[other]
    usable = missed.any(dim=1, keepdim=True)
    if settings.hiding == "mixed":
        usable = usable & (drawn[:, 1:] < 0.5)
    return torch.where(usable, missed, at_random)


def answer_targets(
    data: WorkingTable,
    model: Model,
    rows: torch.Tensor,
    supervised: torch.Tensor,
    column_weights: torch.Tensor | None,
) -> AnswerTargets:
    """Return what the decoder heads should have said of some rows.

    Parameters
    ----------
    supervised : bool tensor, shape (B, d)
        Visible or held-out cells that count.
    column_weights : float32 tensor, shape (d,), optional
    """
    objective = model.objective
    columns = torch.cat([objective.bit_columns, objective.ordinal_columns])
    weight = supervised * data.row_weights.index_select(0, rows)[:, None]
    if column_weights is not None:
        weight = weight * column_weights
    levels = torch.where(
        data.held_out_columns.index_select(0, rows),
        data.held_out_levels.index_select(0, rows),
        data.levels.index_select(0, rows),
    )
    return AnswerTargets(
        levels.index_select(1, columns),
        data.numbers.index_select(0, rows),
        data.number_bins.index_select(0, rows),
        weight.index_select(1, columns),
        weight.index_select(1, objective.continuous_columns),
    )


def _shares(
    row_weight: torch.Tensor, answered: AnswerTargets, processes: Processes
) -> torch.Tensor:
    """Return the share of these rows in the weight of all, and of their cells; shape (2,)."""
    of_cells = answered.level_weight.sum() + answered.number_weight.sum()
    own = torch.stack([row_weight.sum(), of_cells])
    return own / processes.total(own).clamp(min=1e-6)


def column_balance(data: WorkingTable, balance: str) -> torch.Tensor:
    """Return how much a cell of each column counts, shape (d,)."""
    share = data.visible_columns.float().mean(dim=0).clamp(min=1e-3)
    return share ** {"cells": 0.0, "root": -0.5, "columns": -1.0}[balance]


def _is_clean(model: Model) -> bool:
    return model.settings.training.conditioning == "clean"
