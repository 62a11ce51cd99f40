"""Fits the decoder's cutpoints to the denoiser's latents, with the network fixed."""

from __future__ import annotations

import torch

from tabsoda._internal.randomness import stream_key
from tabsoda.paper.latents import level_probabilities
from tabsoda.paper.model import Model
from tabsoda.paper.noise import noisy_state
from tabsoda.paper.objective import Decoded, Targets
from tabsoda.paper.training_batch import RoundTargets, hide_some
from tabsoda.paper.working_table import WorkingTable
from tabsoda.torch_runtime.keyed_noise import keyed_normals

_BLOCK_ROWS = 8192
# Steps between checks of the loss, and the relative gain below which the fit stops.
_PATIENCE_STEPS = 10
_MIN_GAIN = 1e-5


def calibrate_cutpoints(
    model: Model, data: WorkingTable, targets: RoundTargets, round_number: int, when: str
) -> None:
    """Minimise the ordinal loss over the cutpoints, full batch, in place (phases 1 and 3).

    The latents are the network's predictions of answers at low noise or, with clean conditioning,
    of hidden answers.
    """
    settings = model.settings.training
    if not model.has_latents or settings.calibration_steps == 0:
        return
    latent, supervised = _predicted_latents(model, data, targets, round_number, when)
    truth = Targets(
        standardized=latent,
        encoded=latent,
        levels=data.levels,
        supervised=supervised,
        to_impute=data.to_impute,
        applicable=data.applicable,
        row_weight=data.row_weights,
    )
    optimizer = torch.optim.Adam(
        model.cutpoints.parameters(), lr=settings.calibration_learning_rate
    )
    nothing = latent.new_zeros(0)
    best, kept = float("inf"), _copy(model)
    for step in range(settings.calibration_steps + 1):
        is_last = step == settings.calibration_steps
        optimizer.zero_grad(set_to_none=True)
        decoded = Decoded(nothing, nothing, level_probabilities(latent, model.cutpoints()))
        loss = model.objective.ordinal(decoded, truth)
        if step % _PATIENCE_STEPS == 0 or is_last:
            now = float(loss.detach())
            gain = best - now
            if gain > 0:
                best, kept = now, _copy(model)
            if is_last or gain < _MIN_GAIN * abs(now):
                break
        loss.backward()
        optimizer.step()
    # The last cutpoints may be worse than those of the previous check.
    model.cutpoints.load_state_dict(kept)


def _copy(model: Model) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.cutpoints.state_dict().items()}


@torch.no_grad()
def _predicted_latents(
    model: Model, data: WorkingTable, targets: RoundTargets, round_number: int, when: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return latents (n, n_latent) of the denoiser, and which columns' cells count (n, d)."""
    settings = model.settings
    keys = [stream_key(model.seed, "calibration", round_number, when, use) for use in range(3)]
    is_clean = settings.training.conditioning == "clean"
    noise = settings.sampler.noise_max if is_clean else settings.training.calibration_noise
    level = torch.full((1,), noise, device=model.device)
    coordinates = model.objective.ordinal_coordinates
    model.denoiser.eval()
    latents, counted = [], []
    for rows in torch.arange(data.n_rows, device=model.device).split(_BLOCK_ROWS):
        applicable, visible = data.applicable[rows], data.visible[rows]
        supervised = data.visible_columns[rows]
        row_keys = data.row_keys[rows]
        if is_clean:
            share_key, hide_key = (torch.tensor(k, device=model.device) for k in keys[1:])
            supervised = hide_some(supervised, row_keys, share_key, hide_key)
            visible = visible & ~supervised[:, model.objective.column_of]
        normals = keyed_normals(keys[0], row_keys, applicable.shape[1])
        state = noisy_state(
            targets.standardized[rows], level, normals, applicable, visible if is_clean else None
        )
        clean = model.denoiser(state, level, visible, ~applicable)
        latents.append(model.standardizer.invert(clean)[:, coordinates])
        counted.append(supervised)
    return torch.cat(latents), torch.cat(counted)
