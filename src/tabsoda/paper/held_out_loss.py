"""The loss for early stopping: how well held-out answers are predicted from visible ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.func import functional_call

from tabsoda._internal.randomness import stream_key
from tabsoda.paper.model import Model
from tabsoda.paper.objective import Targets
from tabsoda.paper.reverse_sampler import SampledRows, SamplerForm, start_state
from tabsoda.paper.working_table import WorkingTable

# Enough rows to compare epochs; more would slow the training down.
_MAX_ROWS = 2048


@torch.no_grad()
def held_out_loss(model: Model, data: WorkingTable, weights: Sequence[torch.Tensor]) -> float:
    """Return the decoding terms on held-out cells, predicted in one pass from pure noise.

    Parameters
    ----------
    model : Model
    data : WorkingTable
    weights : sequence of tensor
        The denoiser's parameters to evaluate, in order.
    """
    chosen = torch.nonzero(data.held_out_columns.any(dim=1)).ravel()[:_MAX_ROWS]
    observed = model.standardizer.apply(data.encoded[chosen], data.visible[chosen])
    rows = SampledRows(
        observed, data.to_impute[chosen], data.applicable[chosen], data.row_keys[chosen]
    )
    noise_max = model.settings.sampler.noise_max
    form = SamplerForm.of(model.settings.sampler, model.settings.training.conditioning)
    state = start_state(rows, stream_key(model.seed, "held out"), noise_max, form)
    names = [name for name, _ in model.denoiser.named_parameters()]
    level = torch.full((1,), noise_max, device=state.device)
    was_training = model.denoiser.training
    model.denoiser.eval()
    prediction = functional_call(
        model.denoiser,
        dict(zip(names, weights, strict=True)),
        (state, level, rows.visible, ~rows.applicable),
    )
    model.denoiser.train(was_training)
    decoded = model.objective.decode(model.standardizer.invert(prediction), model.cutpoints())
    # The true answers of held-out cells; the working table's own tensors do not show them.
    truth = Targets(
        standardized=prediction,
        encoded=data.held_out_encoded[chosen],
        levels=data.held_out_levels[chosen],
        supervised=data.held_out_columns[chosen],
        to_impute=rows.to_impute,
        applicable=rows.applicable,
        row_weight=data.row_weights[chosen],
    )
    loss = model.settings.loss
    objective = model.objective
    # Continuous errors are compared at unit variance, as in training.
    return float(
        loss.continuous * objective.continuous(decoded, truth)
        + loss.nominal * objective.nominal(decoded, truth)
        + loss.ordinal * objective.ordinal(decoded, truth)
    )
