"""Training: hide some of the visible cells of each row, and predict them from the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from tabsoda.engine.network.data import NetworkInput, TrainingData
from tabsoda.engine.network.heads import AnswerHeads
from tabsoda.engine.network.loss import AnswerTargets, answer_loss
from tabsoda.engine.settings import EngineSettings, LossSettings
from tabsoda.errors import TabSODAError
from tabsoda.events import EventLog
from tabsoda.progress import StageProgress
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms
from tabsoda.torch_runtime.processes import Processes
from tabsoda.torch_runtime.training import TrainingSchedule, train_network

# Purposes of a batch's random numbers; each has its own key at each step.
NOISE_USES = ("share", "hide", "pattern")
# Range of the share of cells hidden at random in a row.
HIDDEN_SHARE = (0.05, 0.8)
# Share of the rows that hide the cells missing in another row, instead of cells at random.
_PATTERN_SHARE = 0.5
# Decay of the averaged weights per step.
_AVERAGE_DECAY = 0.99
# Enough rows to compare epochs; more would slow the training down.
_MAX_WATCHED_ROWS = 2048


def train(
    network: nn.Module,
    heads: AnswerHeads,
    data: TrainingData,
    settings: EngineSettings,
    seed: int,
    device: torch.device,
    events: EventLog,
    progress: StageProgress | None = None,
) -> dict[str, Any]:
    """Train a network in place, until the loss of held-out answers stops improving.

    Returns
    -------
    dict
        ``epochs``, ``steps``, ``best_epoch``, ``loss`` (the best watched) and ``losses`` (one per
        epoch).
    """
    processes = Processes.joined()

    def loss_of(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return batch_loss(network, heads, data, rows, keys, settings.loss, processes)

    def watched(weights: Sequence[torch.Tensor]) -> float:
        return held_out_loss(network, heads, data, settings.loss, weights)

    return train_network(
        network,
        schedule_of(settings),
        loss_of,
        n_rows=data.n_rows,
        seed=seed,
        round_number=1,
        noise_uses=NOISE_USES,
        device=device,
        events=events,
        watch=watched if bool(data.held_out.any()) else None,
        processes=processes,
        progress=progress,
        diverged=lambda what: _diverged(settings, what),
    )


def schedule_of(settings: EngineSettings) -> TrainingSchedule:
    """Return the training schedule of the settings."""
    training = settings.training
    return TrainingSchedule(
        batch_size=training.batch_size,
        max_epochs=training.max_steps,
        max_steps=training.max_steps,
        min_epoch_steps=training.epoch_steps,
        learning_rate=training.learning_rate,
        weight_decay=training.weight_decay,
        schedule="cosine",
        average_decay=_AVERAGE_DECAY,
        patience=training.patience,
    )


def batch_loss(
    network: nn.Module,
    heads: AnswerHeads,
    data: TrainingData,
    rows: torch.Tensor,
    keys: torch.Tensor,
    loss: LossSettings,
    processes: Processes | None = None,
) -> torch.Tensor:
    """Return the loss of the cells hidden in some rows, shape ().

    Parameters
    ----------
    network : Module
    heads : AnswerHeads
    data : TrainingData
    rows : int64 tensor, shape (B,)
    keys : int64 tensor, shape (len(NOISE_USES),)
    loss : LossSettings
    processes : Processes, optional
        The processes that share the batch; the result is then this process's part of the sum.
    """
    inputs = data.inputs.rows(rows)
    hidden = hide_cells(inputs.visible, data, rows, keys)
    shown = NetworkInput(inputs.levels, inputs.scores, inputs.visible & ~hidden, inputs.skipped)
    targets = targets_of(data, rows, hidden)
    total = answer_loss(heads, network(shown), targets, loss.ranked_probability, loss.bins).total
    if processes is not None:
        own = targets.level_weight.sum() + targets.number_weight.sum()
        total = total * own / processes.total(own).clamp(min=1e-6)
    return total


def hide_cells(
    visible: torch.Tensor, data: TrainingData, rows: torch.Tensor, keys: torch.Tensor
) -> torch.Tensor:
    """Choose visible cells to hide; bool, shape (B, T).

    Half of the rows hide the cells that are missing in another row of the table. The others, and
    rows in which that would hide nothing, hide a random share of their cells.
    """
    row_keys = data.row_keys.index_select(0, rows)
    least, most = HIDDEN_SHARE
    share = least + (most - least) * keyed_uniforms(keys[0], row_keys, 1)
    at_random = visible & (keyed_uniforms(keys[1], row_keys, visible.shape[1]) < share)
    drawn = keyed_uniforms(keys[2], row_keys, 2)
    # A uniform may be rounded to 1.
    other = (drawn[:, 0] * data.n_rows).long().clamp(max=data.n_rows - 1)
    pattern = visible & data.missing.index_select(0, other)
    by_pattern = pattern.any(dim=1, keepdim=True) & (drawn[:, 1:] < _PATTERN_SHARE)
    return torch.where(by_pattern, pattern, at_random)


def targets_of(data: TrainingData, rows: torch.Tensor, counted: torch.Tensor) -> AnswerTargets:
    """Return the true answers of some rows, and the weights of the cells that count.

    Parameters
    ----------
    data : TrainingData
    rows : int64 tensor, shape (B,)
    counted : bool tensor, shape (B, T)
    """
    n_categorical = data.inputs.levels.shape[1]
    weight = counted * data.row_weights.index_select(0, rows)[:, None] * data.column_weights
    return AnswerTargets(
        data.inputs.levels.index_select(0, rows),
        data.numbers.index_select(0, rows),
        data.bins.index_select(0, rows),
        weight[:, :n_categorical],
        weight[:, n_categorical:],
    )


@torch.no_grad()
def held_out_loss(
    network: nn.Module,
    heads: AnswerHeads,
    data: TrainingData,
    loss: LossSettings,
    weights: Sequence[torch.Tensor],
) -> float:
    """Return the loss of held-out answers with the given weights of the network."""
    rows = torch.nonzero(data.held_out.any(dim=1)).ravel()[:_MAX_WATCHED_ROWS]
    names = [name for name, _ in network.named_parameters()]
    was_training = network.training
    network.eval()
    given = dict(zip(names, weights, strict=True))
    outputs = functional_call(network, given, (data.inputs.rows(rows),))
    network.train(was_training)
    targets = targets_of(data, rows, data.held_out.index_select(0, rows))
    return float(answer_loss(heads, outputs, targets, loss.ranked_probability, loss.bins).total)


def _diverged(settings: EngineSettings, what: str) -> TabSODAError:
    return TabSODAError(
        f"Training did not converge: {what}. Lower training.learning_rate (now "
        f"{settings.training.learning_rate:g}), or look for extreme values in continuous columns."
    )
