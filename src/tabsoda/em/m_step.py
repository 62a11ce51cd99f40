"""The M-step: calibrate cutpoints, train the denoiser on the completed table, calibrate again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tabsoda._internal.keyed_noise import torch_generator
from tabsoda._internal.randomness import stream_key
from tabsoda.diffusion.network import seed_dropout
from tabsoda.em.calibration import calibrate_cutpoints
from tabsoda.em.held_out_loss import held_out_loss
from tabsoda.em.model import Model, diverged, new_denoiser
from tabsoda.em.optimizer_step import OptimizerSteps
from tabsoda.em.processes import Processes
from tabsoda.em.training_batch import NOISE_USES, RoundTargets, batch_loss, compiled_batch_loss
from tabsoda.em.working_table import WorkingTable
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.settings import Settings

# Tells how far a round's training is: report(done, total).
Report = Callable[[int, int], None]
# Steps that earn back the compiling of one, see docs/decisions/0011-compiling.md.
_COMPILED_FROM_STEPS = 20_000


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


def worth_compiling(settings: Settings, steps_per_round: int) -> bool:
    """Say whether so many steps would take longer as they are than compiling takes.

    Examples
    --------
    >>> worth_compiling(Settings.preset("best"), 4_000)
    False
    >>> worth_compiling(Settings.preset("path"), 8_000)
    True
    """
    return settings.em.rounds * steps_per_round >= _COMPILED_FROM_STEPS


def train_denoiser(
    model: Model,
    data: WorkingTable,
    targets: RoundTargets,
    round_number: int,
    events: EventLog,
    report: Report | None = None,
) -> dict[str, Any]:
    """Train until the watched loss stops improving, and keep the best weights (phase 2)."""
    settings = model.settings.training
    steps_per_pass = math.ceil(data.n_rows / settings.batch_size)
    batch_size = data.n_rows // steps_per_pass
    passes = math.ceil(settings.min_epoch_steps / steps_per_pass)
    max_epochs, steps_per_epoch = settings.max_epochs, steps_per_pass * passes
    if settings.max_steps is not None:
        steps_per_epoch = min(steps_per_epoch, settings.max_steps)
        max_epochs = min(max_epochs, settings.max_steps // steps_per_epoch)
    processes = _helped_by(model)
    mine = (0, batch_size) if processes is None else processes.share(batch_size)
    seed_dropout(
        model.denoiser,
        torch_generator(model.seed, "dropout", round_number, device=model.device),
        None if processes is None else (*mine, batch_size),
    )
    model.denoiser.train()

    def loss_of(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return batch_loss(model, data, targets, rows[slice(*mine)], keys, processes).total

    def fused_loss_of(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return compiled_batch_loss()(model, data, targets, rows, keys).total

    steps = OptimizerSteps(
        model,
        loss_of,
        fused_loss_of if worth_compiling(model.settings, max_epochs * steps_per_epoch) else None,
        batch_size,
        len(NOISE_USES),
        steps_per_epoch,
        events,
        processes,
    )
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        steps.optimizer, factor=settings.plateau_factor, patience=settings.plateau_patience
    )
    order = torch_generator(model.seed, "batches", round_number)
    parameters = list(model.denoiser.parameters())
    best_weights = [parameter.detach().clone() for parameter in parameters]
    best, best_epoch, losses = math.inf, 0, []
    for epoch in range(1, max_epochs + 1):
        rows = torch.cat(
            [
                torch.randperm(data.n_rows, generator=order)[: steps_per_pass * batch_size]
                for _ in range(passes)
            ]
        )
        keys = [
            [
                stream_key(model.seed, "training", round_number, epoch, step, use)
                for use in NOISE_USES
            ]
            for step in range(steps_per_epoch)
        ]
        new_share = _new_share(settings.average_decay, (epoch - 1) * steps_per_epoch)
        rows = rows[: steps_per_epoch * batch_size].view(steps_per_epoch, batch_size)
        if settings.schedule == "cosine":
            steps.set_learning_rate(cosine_rate(settings.learning_rate, epoch, max_epochs))
        loss = steps.run_epoch(rows, torch.tensor(keys), new_share)
        weights: Sequence[torch.Tensor] = parameters
        if settings.average_decay > 0:
            weights = steps.averaged
        if settings.monitor == "held_out":
            # A NaN of the steps must not hide behind a finite average of weights.
            judged = held_out_loss(model, data, weights, targets.column_weights)
            loss = judged if math.isfinite(loss) else loss
        if processes is not None:
            loss = processes.agreed(loss, model.device)
        if not math.isfinite(loss):
            raise diverged(model, f"the loss became {loss} in round {round_number}, epoch {epoch}")
        losses.append(loss)
        if settings.schedule == "plateau":
            plateau.step(loss)
        if loss < best:
            best, best_epoch = loss, epoch
            with torch.no_grad():
                for kept, weight in zip(best_weights, weights, strict=True):
                    kept.copy_(weight)
        if report is not None:
            report(epoch, max_epochs)
        if epoch - best_epoch >= settings.patience:
            break
    with torch.no_grad():
        for parameter, kept in zip(parameters, best_weights, strict=True):
            parameter.copy_(kept)
    model.denoiser.eval()
    return {
        "epochs": epoch,
        "steps": epoch * steps_per_epoch,
        "best_epoch": best_epoch,
        "loss": best,
        "losses": losses,
    }


def _helped_by(model: Model) -> Processes | None:
    """Return the processes that train side by side; raise where the network cannot."""
    processes = Processes.joined()
    if processes is not None and model.heads is None:
        raise InputError(
            "Only the qualities fast, balanced and best train in several processes",
            found=f"{processes.size} processes, and settings without decoder heads",
            next_step="Leave out the preset, or start one process",
        )
    return processes


def cosine_rate(rate: float, epoch: int, max_epochs: int) -> float:
    """Return the learning rate of an epoch: half in the first, then along a cosine towards 0.

    Examples
    --------
    >>> [round(cosine_rate(1.0, epoch, 5), 2) for epoch in (1, 2, 5)]
    [0.5, 0.9, 0.1]
    """
    if epoch == 1:
        return rate / 2
    return rate * 0.5 * (1 + math.cos(math.pi * (epoch - 1) / max_epochs))


def _new_share(decay: float, steps_done: int) -> float:
    """Let the average forget its random start quickly, then settle at the decay."""
    if decay == 0:
        return 1.0
    return 1.0 - min(decay, (1 + steps_done) / (10 + steps_done))
