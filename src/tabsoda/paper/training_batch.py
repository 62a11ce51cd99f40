"""One batch of the M-step: hidden cells, noise levels and loss."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tabsoda.paper.model import Model
from tabsoda.paper.noise import noisy_state, training_noise
from tabsoda.paper.objective import LossTerms, Targets
from tabsoda.paper.working_table import WorkingTable
from tabsoda.torch_runtime.keyed_noise import keyed_normals, keyed_uniforms

# Purposes of a batch's noise; each has its own key at each step.
NOISE_USES = ("level", "noise", "low noise", "share", "hide", "top")
# Range of the share of visible cells hidden in a row (clean conditioning).
HIDDEN_SHARE = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class RoundTargets:
    """The completed table a round trains on.

    Attributes
    ----------
    encoded, standardized : float32 tensor, shape (n, p)
    ramp : float32 tensor, shape ()
        Weight of imputed entries; a tensor, so that a compiled step can be used in every round.
    """

    encoded: torch.Tensor
    standardized: torch.Tensor
    ramp: torch.Tensor


def batch_loss(
    model: Model,
    data: WorkingTable,
    targets: RoundTargets,
    rows: torch.Tensor,
    keys: torch.Tensor,
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
    # index_select is faster than indexing with brackets, which matters in short steps.
    row_keys, applicable, visible = (
        data.row_keys.index_select(0, rows),
        data.applicable.index_select(0, rows),
        data.visible.index_select(0, rows),
    )
    supervised = data.visible_columns.index_select(0, rows)
    to_impute = data.to_impute.index_select(0, rows)
    clean = targets.standardized.index_select(0, rows)
    noise_level = _noise_level(model, row_keys, keys)
    normals = keyed_normals(keys[1], row_keys, clean.shape[1])
    unknown = held_clean = None
    if settings.training.conditioning == "clean":
        supervised = hide_some(supervised, row_keys, keys[3], keys[4])
        visible = held_clean = visible & ~supervised[:, model.objective.column_of]
        # Until imputations count, the value of a missing cell is a filler, not a noisy answer.
        unknown = to_impute & (targets.ramp == 0)
    state = noisy_state(clean, noise_level, normals, applicable, held_clean)
    prediction = model.denoiser(state, noise_level, visible, ~applicable, unknown)
    decoded_from = prediction
    if settings.training.low_noise_pass:
        low = torch.full_like(noise_level, settings.training.calibration_noise)
        low_normals = keyed_normals(keys[2], row_keys, clean.shape[1])
        low_state = noisy_state(clean, low, low_normals, applicable, held_clean)
        decoded_from = model.denoiser(low_state, low, visible, ~applicable, unknown)
    decoded = model.objective.decode(
        model.standardizer.invert(decoded_from), model.cutpoints().detach()
    )
    batch = Targets(
        standardized=clean,
        encoded=targets.encoded.index_select(0, rows),
        levels=data.levels.index_select(0, rows),
        supervised=supervised,
        to_impute=to_impute,
        applicable=applicable,
        row_weight=data.row_weights.index_select(0, rows),
    )
    return model.objective(prediction, noise_level, decoded, batch, targets.ramp)


def _noise_level(model: Model, row_keys: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Draw the noise level of each row, shape (B,): log-normal, or the highest for a share."""
    settings = model.settings
    level = training_noise(
        settings.noise.log_mean, settings.noise.log_sd, keyed_normals(keys[0], row_keys, 1)[:, 0]
    )
    if settings.noise.top_share > 0:
        at_top = keyed_uniforms(keys[5], row_keys, 1)[:, 0] < settings.noise.top_share
        level = level.masked_fill(at_top, settings.sampler.noise_max)
    return level


@functools.cache
def compiled_batch_loss() -> Callable[..., LossTerms]:
    """Return :func:`batch_loss` compiled, once per process: rounds of one shape share the code."""
    return torch.compile(batch_loss, dynamic=False)


def hide_some(
    visible: torch.Tensor,
    row_keys: torch.Tensor,
    share_key: torch.Tensor,
    hide_key: torch.Tensor,
) -> torch.Tensor:
    """Choose visible cells to hide, a random share of each row; bool, shape (B, d)."""
    least, most = HIDDEN_SHARE
    share = least + (most - least) * keyed_uniforms(share_key, row_keys, 1)
    return visible & (keyed_uniforms(hide_key, row_keys, visible.shape[1]) < share)
