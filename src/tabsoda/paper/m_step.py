"""The M-step: calibrates cutpoints, trains the denoiser, and calibrates again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tabsoda._internal.randomness import stream_key
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.paper.calibration import calibrate_cutpoints
from tabsoda.paper.held_out_loss import held_out_loss
from tabsoda.paper.model import Model, diverged, new_denoiser
from tabsoda.paper.settings import TrainingSettings
from tabsoda.paper.training_batch import NOISE_USES, RoundTargets, batch_loss, compiled_batch_loss
from tabsoda.paper.working_table import WorkingTable
from tabsoda.progress import StageProgress
from tabsoda.torch_runtime.processes import Processes
from tabsoda.torch_runtime.training import (
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
    progress: StageProgress | None = None,
) -> dict[str, Any]:
    """Fit the model to the completed table in place; Algorithm 1, phases 1 to 3.

    Returns
    -------
    dict
        ``epochs``, ``steps``, ``loss`` (the best monitored) and ``losses`` (one per epoch).
    """
    # In the first round the network is untrained, so cutpoints cannot be fitted to it.
    if round_number > 1:
        calibrate_cutpoints(model, data, targets, round_number, "before")
        if not model.settings.training.warm_start:
            seed = stream_key(model.seed, round_number)
            fresh = new_denoiser(model.codec, model.settings, seed)
            model.denoiser.load_state_dict(fresh.state_dict())
    history = train_denoiser(model, data, targets, round_number, events, progress)
    calibrate_cutpoints(model, data, targets, round_number, "after")
    return history


def train_denoiser(
    model: Model,
    data: WorkingTable,
    targets: RoundTargets,
    round_number: int,
    events: EventLog,
    progress: StageProgress | None = None,
) -> dict[str, Any]:
    """Train until the monitored loss stops improving, and keep the best weights (phase 2)."""
    schedule = training_schedule(model.settings.training)
    _check_processes()

    def loss_of(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return batch_loss(model, data, targets, rows, keys).total

    def fused_loss_of(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return compiled_batch_loss()(model, data, targets, rows, keys).total

    def watch(weights: Sequence[torch.Tensor]) -> float:
        return held_out_loss(model, data, weights)

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
        precision=model.settings.training.precision,
        progress=progress,
    )


def training_schedule(settings: TrainingSettings) -> TrainingSchedule:
    """Return the schedule of one round's training."""
    return TrainingSchedule(
        batch_size=settings.batch_size,
        max_epochs=settings.max_epochs,
        max_steps=settings.max_steps,
        min_epoch_steps=settings.min_epoch_steps,
        whole_passes=settings.whole_passes,
        learning_rate=settings.learning_rate,
        average_decay=settings.average_decay,
        patience=settings.patience,
        plateau_factor=settings.plateau_factor,
        plateau_patience=settings.plateau_patience,
    )


def _check_processes() -> None:
    """Raise if several processes would train together: the loss is not a sum over rows."""
    processes = Processes.joined()
    if processes is not None:
        raise InputError(
            "The engine of the paper cannot be trained in several processes",
            found=f"{processes.size} processes, and a preset of the paper",
            next_step="Leave out the preset, or start one process",
        )
