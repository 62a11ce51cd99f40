"""The M-step: calibrate cutpoints, train the denoiser on the completed table, calibrate again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch

from tabsoda._internal.randomness import stream_key
from tabsoda.em.calibration import calibrate_cutpoints
from tabsoda.em.held_out_loss import held_out_loss
from tabsoda.em.model import Model, diverged, new_denoiser
from tabsoda.em.training_batch import NOISE_USES, RoundTargets, batch_loss, compiled_batch_loss
from tabsoda.em.working_table import WorkingTable
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.settings import Settings
from tabsoda.torch_runtime.processes import Processes
from tabsoda.torch_runtime.training import (
    Report,
    TrainingSchedule,
    train_network,
    worth_compiling,
)


def m_step(
    model: Model,
    data: WorkingTable,
    targets: RoundTargets,
    round_number: int,
    events: EventLog,
    report: Report | None = None,
) -> dict[str, Any]:
    """Fit the model to the completed table in place; Algorithm 1, phases 1 to 3.

    Returns
    -------
    dict
        ``epochs``, ``steps``, ``loss`` (the best value watched) and ``losses`` (one per epoch).
    """
    # In the first round the network knows nothing that cutpoints could be fitted to.
    if round_number > 1:
        if model.heads is None:
            calibrate_cutpoints(model, data, targets, round_number, "before")
        if not model.settings.training.warm_start:
            seed = stream_key(model.seed, round_number)
            fresh = new_denoiser(model.codec, model.settings, seed, model.heads)
            model.denoiser.load_state_dict(fresh.state_dict())
    history = train_denoiser(model, data, targets, round_number, events, report)
    if model.heads is None:
        calibrate_cutpoints(model, data, targets, round_number, "after")
    return history


def train_denoiser(
    model: Model,
    data: WorkingTable,
    targets: RoundTargets,
    round_number: int,
    events: EventLog,
    report: Report | None = None,
) -> dict[str, Any]:
    """Train until the watched loss stops improving, and keep the best weights (phase 2)."""
    schedule = training_schedule(model.settings)
    processes = _processes(model)

    def loss_of(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return batch_loss(model, data, targets, rows, keys, processes).total

    def fused_loss_of(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return compiled_batch_loss()(model, data, targets, rows, keys).total

    def watch(weights: Sequence[torch.Tensor]) -> float:
        return held_out_loss(model, data, weights, targets.column_weights)

    _, _, steps_per_epoch, max_epochs = schedule.steps(data.n_rows)
    compiles = worth_compiling(model.settings.em.rounds * max_epochs * steps_per_epoch)
    return train_network(
        model.denoiser,
        schedule,
        loss_of,
        n_rows=data.n_rows,
        seed=model.seed,
        round_number=round_number,
        noise_uses=NOISE_USES,
        device=model.device,
        events=events,
        diverged=lambda what: diverged(model, what),
        watch=watch if model.settings.training.monitor == "held_out" else None,
        fused_loss_of=fused_loss_of if compiles else None,
        processes=processes,
        report=report,
    )


def training_schedule(settings: Settings) -> TrainingSchedule:
    """Return the schedule of one round's training."""
    names = [item.name for item in fields(TrainingSchedule)]
    return TrainingSchedule(**{name: getattr(settings.training, name) for name in names})


def _processes(model: Model) -> Processes | None:
    """Return the processes that train together; raise where the network cannot."""
    processes = Processes.joined()
    if processes is not None and model.heads is None:
        raise InputError(
            "Only the qualities fast, balanced and best train in several processes",
            found=f"{processes.size} processes, and settings without decoder heads",
            next_step="Leave out the preset, or start one process",
        )
    return processes
