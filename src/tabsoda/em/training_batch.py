"""One batch of the M-step: what is hidden, how much noise, and the loss of what comes back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tabsoda._internal.randomness import keyed_normals, keyed_uniforms
from tabsoda.diffusion.noise import noisy_state, training_noise
from tabsoda.diffusion.objective import LossTerms, Targets
from tabsoda.em.model import Model
from tabsoda.em.working_table import WorkingTable

# What a batch draws noise for; each gets a key of its own at each step.
NOISE_USES = ("level", "noise", "low noise", "share", "hide", "top")
# A row hides at least and at most this share of its visible cells.
HIDDEN_SHARE = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class RoundTargets:
    """The completed table a round trains on.

    Attributes
    ----------
    encoded, standardized : float32 tensor, shape (n, p)
    ramp : float32 tensor, shape ()
        Weight of imputed entries; a tensor, so that a compiled step serves every round.
    """

    encoded: torch.Tensor
    standardized: torch.Tensor
    ramp: torch.Tensor


def batch_loss(
    model: Model, data: WorkingTable, targets: RoundTargets, rows: torch.Tensor, keys: torch.Tensor
) -> LossTerms:
    """Return the objective on some rows, Eq. (tabsoda_loss); free of host synchronisation.

    Parameters
    ----------
    model : Model
    data : WorkingTable
    targets : RoundTargets
    rows : int64 tensor, shape (B,)
    keys : int64 tensor, shape (len(NOISE_USES),)
    """
    settings = model.settings
    row_keys, applicable = data.row_keys[rows], data.applicable[rows]
    clean = targets.standardized[rows]
    n_coordinates = clean.shape[1]
    noise_level = training_noise(
        settings.noise.log_mean, settings.noise.log_sd, keyed_normals(keys[0], row_keys, 1)[:, 0]
    )
    if settings.noise.top_share > 0:
        at_top = keyed_uniforms(keys[5], row_keys, 1)[:, 0] < settings.noise.top_share
        noise_level = noise_level.masked_fill(at_top, settings.sampler.noise_max)
    normals = keyed_normals(keys[1], row_keys, n_coordinates)
    visible_columns = data.visible_columns[rows]
    unknown = None
    if settings.training.conditioning == "clean":
        supervised = hide_some(visible_columns, row_keys, keys[3], keys[4])
        visible = data.visible[rows] & ~supervised[:, model.objective.column_of]
        # Until imputations count, what stands in a missing cell is a filler, not a noisy answer.
        unknown = data.to_impute[rows] & (targets.ramp == 0)
        state = noisy_state(clean, noise_level, normals, applicable, held_clean=visible)
    else:
        supervised = visible_columns
        visible = data.visible[rows]
        state = noisy_state(clean, noise_level, normals, applicable)
    batch = Targets(
        standardized=clean,
        encoded=targets.encoded[rows],
        levels=data.levels[rows],
        supervised=supervised,
        to_impute=data.to_impute[rows],
        applicable=applicable,
        row_weight=data.row_weights[rows],
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
    visible: torch.Tensor, row_keys: torch.Tensor, share_key: torch.Tensor, hide_key: torch.Tensor
) -> torch.Tensor:
    """Choose visible cells to hide, a random share of each row; bool, shape (B, d)."""
    low, high = HIDDEN_SHARE
    share = low + (high - low) * keyed_uniforms(share_key, row_keys, 1)
    return visible & (keyed_uniforms(hide_key, row_keys, visible.shape[1]) < share)


def _is_clean(model: Model) -> bool:
    return model.settings.training.conditioning == "clean"
