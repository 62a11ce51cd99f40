"""Algorithm 1: alternates training on the completed table and completing the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import stream_key
from tabsoda.events import EventLog
from tabsoda.paper.decoding import Rule
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.m_step import m_step
from tabsoda.paper.model import Model
from tabsoda.paper.standardizer import Standardizer, moment_entries
from tabsoda.paper.temperatures import choose_temperatures
from tabsoda.paper.training_batch import RoundTargets
from tabsoda.paper.working_table import WorkingTable
from tabsoda.progress import Progress
from tabsoda.torch_runtime.keyed_noise import keyed_normals

# Progress is reported in thousandths of all rounds: progress(done, total, what).
# Training takes about this share of a round; only the progress bar uses it.
_TRAINING_SHARE = 0.6


@dataclass(eq=False)
class EMState:
    """The state after a finished round; with the model, all that a resumed run needs.

    Attributes
    ----------
    completed : float32 tensor, shape (n, p)
        The completed table, unstandardised, 0 at skips.
    round_number : int
        Rounds finished.
    history : list of dict
        One entry per round.
    """

    completed: torch.Tensor
    round_number: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)


def initial_state(model: Model, data: WorkingTable) -> EMState:
    """Fill missing entries by column means, latents by medians, skips by 0 (line 4)."""
    fill = torch.from_numpy(model.codec.fill).to(model.device)
    filled = torch.where(data.visible, data.encoded, fill)
    return EMState(torch.where(data.applicable, filled, 0.0))


def pseudo_missing_weight(ramp: tuple[float, ...], round_number: int, rounds: int) -> float:
    """Return the weight of imputed entries in a round; the ramp is scaled to the rounds.

    Examples
    --------
    >>> [pseudo_missing_weight((0.0, 0.0, 0.25, 0.5, 0.75), r, 5) for r in (1, 3, 5)]
    [0.0, 0.25, 0.75]
    >>> pseudo_missing_weight((0.0, 0.5), 2, 3)
    0.25
    """
    if len(ramp) == 1 or rounds == 1:
        return float(ramp[0])
    place = (round_number - 1) * (len(ramp) - 1) / (rounds - 1)
    return float(np.interp(place, np.arange(len(ramp)), ramp))


def run_em(
    model: Model,
    data: WorkingTable,
    state: EMState,
    events: EventLog,
    *,
    after_round: Callable[[EMState], None] | None = None,
    progress: Progress | None = None,
) -> EMState:
    """Run the remaining rounds; ``after_round`` may save the state.

    The model is changed in place; finally its temperatures are chosen.
    """
    rounds = model.settings.em.rounds
    sampler: Sampler | None = None
    while state.round_number < rounds and not _converged(model, state):
        number = state.round_number + 1
        started = time.perf_counter()
        if number > 1 and model.has_latents and model.settings.encoding.shared_cutpoints:
            data = _follow_cutpoints(model, data)
        targets = _round_targets(model, data, state, number, events)
        part = _round_part(progress, number, rounds, "training", 0.0, _TRAINING_SHARE)
        training = m_step(model, data, targets, number, events, part)
        trained = time.perf_counter()
        sampler = sampler or Sampler(model, events)
        sampler.start_round(number)
        part = _round_part(progress, number, rounds, "imputing", _TRAINING_SHARE, 1.0)
        rows, expected = sampler.expect(data, part)
        completed, change = _complete(model, data, targets.encoded, rows, expected)
        seconds = {
            "training_seconds": trained - started,
            "imputing_seconds": time.perf_counter() - trained,
        }
        entry = {"round": number, **training, "change": change, **seconds}
        state = EMState(completed, number, [*state.history, entry])
        if number == rounds or _converged(model, state):
            model.temperatures = _temperatures(model, data, rows, expected, events)
        if after_round is not None:
            after_round(state)
    if state.round_number < rounds:
        change = float(state.history[-1]["change"])
        events.add("training_stopped_early", round=state.round_number, change=change)
    return state


def _round_part(
    progress: Progress | None, number: int, rounds: int, what: str, start: float, end: float
) -> Callable[[int, int], None]:
    """Return the progress callback of a part of a round, between two shares of it."""

    def part(done: int, total: int) -> None:
        if progress is not None:
            place = (number - 1 + start + (end - start) * done / max(total, 1)) / rounds
            progress(round(1000 * place), 1000, f"round {number} of {rounds}, {what}")

    return part


def _converged(model: Model, state: EMState) -> bool:
    settings = model.settings.em
    return (
        settings.stop_change > 0
        and state.round_number >= settings.min_rounds
        and state.history[-1]["change"] < settings.stop_change
    )


def _follow_cutpoints(model: Model, data: WorkingTable) -> WorkingTable:
    """Encode answers with the learned cutpoints, for this round's training and sampler."""
    model.codec = model.codec.with_cutpoints(model.cutpoints())
    objective = model.objective
    return data.with_interval_means(
        model.encoder_cutpoints(), objective.ordinal_columns, objective.ordinal_coordinates
    )


def _round_targets(
    model: Model, data: WorkingTable, state: EMState, number: int, events: EventLog
) -> RoundTargets:
    """Redraw the latents of answers, refresh the standardiser, and set the ramp."""
    settings = model.settings
    encoded = data.encoded
    if number > 1 and settings.encoding.latent_draws:
        encoded = data.draw_latents(
            model.encoder_cutpoints(),
            model.objective.ordinal_columns,
            model.objective.ordinal_coordinates,
            stream_key(model.seed, "latents", number),
        )
    completed = torch.where(data.visible, encoded, state.completed)
    refresh = settings.encoding.standardizer_refresh
    if number == 1 or refresh == "each_round":
        # Before anything is imputed, the fill values would shrink the scale under any policy.
        entries = moment_entries("once" if number == 1 else refresh, data.visible, data.applicable)
        model.standardizer = Standardizer.fit(
            completed,
            entries,
            settings.noise.data_scale,
            names=model.codec.coordinate_names,
            events=events if number == 1 else None,
        )
    ramp = pseudo_missing_weight(settings.training.pseudo_missing, number, settings.em.rounds)
    return RoundTargets(
        completed,
        model.standardizer.apply(completed, data.applicable),
        torch.tensor(ramp, device=model.device),
    )


def _complete(
    model: Model,
    data: WorkingTable,
    before: torch.Tensor,
    rows: torch.Tensor,
    expected: torch.Tensor,
) -> tuple[torch.Tensor, float]:
    """Write the imputations into the table, as codes of answers; return how far it moved."""
    imputed = expected
    if model.settings.sampler.inner_decode != "none":
        rule: Rule = "mode" if model.settings.sampler.inner_decode == "mode" else "interval"
        codec = model.codec.with_cutpoints(model.encoder_cutpoints())
        clean = codec.reencode(
            expected, 1.0, rule, cutpoints=model.cutpoints().detach() if rule == "mode" else None
        )
        imputed = torch.from_numpy(clean).to(model.device)
    to_impute = data.to_impute[rows]
    moved = ((imputed - before[rows]) / model.standardizer.scale)[to_impute]
    change = float(moved.square().mean().sqrt()) if moved.numel() else 0.0
    completed = before.clone()
    completed[rows] = torch.where(to_impute, imputed, before[rows])
    return completed, change


def _temperatures(
    model: Model,
    data: WorkingTable,
    rows: torch.Tensor,
    expected: torch.Tensor,
    events: EventLog,
) -> NDArray[np.float32]:
    """Choose the decoder's temperatures on the held-out cells among the imputed ones."""
    if not model.has_latents:
        return model.temperatures
    columns, coordinates = model.objective.ordinal_columns, model.objective.ordinal_coordinates
    chosen = choose_temperatures(
        _calibrated(model, data, rows, expected)[:, coordinates].cpu(),
        data.held_out_levels[rows][:, columns].cpu(),
        data.held_out_columns[rows][:, columns].cpu(),
        model.cutpoints().detach().cpu(),
        model.settings.temperature.grid,
        names=[model.codec.names[column] for column in columns.tolist()],
        events=events,
    )
    return chosen.astype(np.float32)


@torch.no_grad()
def _calibrated(
    model: Model, data: WorkingTable, rows: torch.Tensor, expected: torch.Tensor
) -> torch.Tensor:
    """Pass imputations through the denoiser at low noise, as in appendix C; shape (n, p)."""
    if not model.settings.training.low_noise_pass:
        return expected
    noise = model.settings.training.calibration_noise
    applicable = data.applicable[rows]
    key = stream_key(model.seed, "temperature")
    normals = keyed_normals(key, data.row_keys[rows], expected.shape[1])
    state = model.standardizer.apply(expected, applicable) + noise * normals
    level = torch.full((1,), noise, device=model.device)
    clean = model.denoiser(state, level, data.visible[rows], ~applicable)
    return model.standardizer.invert(clean)
