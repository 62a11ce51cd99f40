"""Fit all parts of an engine to a table: the network, the trees beside it, the regressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.threads import Threads
from tabsoda.coding.row_order import canonical_order
from tabsoda.coding.table_checks import checked_weights
from tabsoda.coding.table_events import log_empty_rows, log_no_skips
from tabsoda.em.advisers import Advisers
from tabsoda.em.cost import fit_shares
from tabsoda.em.estimating import Estimator
from tabsoda.em.growing import Growing
from tabsoda.em.input_events import tell_unresolved_gates
from tabsoda.em.loop import EMState, initial_state, run_em
from tabsoda.em.model import Model
from tabsoda.em.preparing import choose_held_out, latent_columns, without_cells
from tabsoda.em.refitting import RegressionFit
from tabsoda.em.working_table import WorkingTable
from tabsoda.encoding.answer_codec import AnswerCodec
from tabsoda.encoding.table_codec import TableCodec
from tabsoda.events import EventLog
from tabsoda.followers import find_followers, unresolved_followers
from tabsoda.schema.column import ColumnKind
from tabsoda.settings import Settings
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.fit_progress import FitProgress
from tabsoda.torch_runtime.memory import check_memory

# report(done, total, what)
Report = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The parts of a fitted engine.

    Attributes
    ----------
    model : Model
    history : list of dict
        One entry per round.
    estimator : Estimator or None
        None where the model has no decoder heads, or there was nothing to train.
    """

    model: Model
    history: list[dict[str, Any]]
    estimator: Estimator | None = None


@dataclass(frozen=True, eq=False)
class _Start:
    """An untrained model, and the table in the order that training sees it."""

    model: Model
    table: CodedTable
    keys: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    weights: NDArray[np.float64] | None


def fit_parts(
    table: CodedTable,
    settings: Settings,
    seed: int,
    device: torch.device,
    threads: Threads,
    events: EventLog,
    *,
    row_weights: NDArray[np.float64] | None = None,
    checkpoint: Path | None = None,
    draws: bool = True,
    report: Report | None = None,
) -> Fitted:
    """Fit a table; parameters as in :meth:`tabsoda.em.engine.Engine.fit`."""
    start = _start(table, settings, seed, device, row_weights, events)
    model, ordered, weights = start.model, start.table, start.weights
    saved = None
    if checkpoint:
        # Its file format is the one thing here that needs more than torch and numpy.
        from tabsoda.em.checkpoint import Checkpoint

        saved = Checkpoint(checkpoint, ordered, model.settings, seed, weights)
    if model.codec.layout.n_coordinates == 0:
        events.add("train", "nothing to train", detail="no column has two different answers")
        return Fitted(model, [])
    after_round = (lambda done: saved.save(model, done, events)) if saved else None
    bins = None if model.answer_codec is None else model.answer_codec.bins
    followers = unresolved_followers(ordered, find_followers(ordered, known_only=True))
    tell_unresolved_gates(followers, ordered, events)
    data = WorkingTable.build(
        ordered, model.codec, start.keys, device, start.held_out, weights, bins
    )
    # Targets, their standardised copy and the completed table are all as large as the encoded one.
    check_memory(4 * data.encoded.numel() * data.encoded.element_size(), device)
    state: EMState | None = saved.load(model, events) if saved else None
    state = state or initial_state(model, data)
    shown = without_cells(ordered, start.held_out)
    estimator = None
    growing = Growing(shown, model.settings, seed, weights, followers, threads, device, events)
    shares = fit_shares(ordered, model.settings, threads, device, draws=draws)
    progress = FitProgress(report, shares)
    with growing:
        training = progress.stage("training")
        state = run_em(model, data, state, events, after_round=after_round, report=training)
        if model.heads is not None:
            fit = RegressionFit.start(model, data, shown, followers, weights, events, draws)
            advisers = growing.result(progress.stage("trees"))
            regressing = progress.stage("regressing")
            advisers = _with_regressions(advisers, fit, shown, ordered, draws, regressing)
            if model.settings.regressions.sets and not draws:
                told = "draws were not asked for; any would come from the heads alone"
                events.add("train", "no regressions for draws", detail=told)
            estimator = Estimator.fit(model, data, shown, advisers, events)
    return Fitted(model, state.history, estimator)


def _start(
    table: CodedTable,
    settings: Settings,
    seed: int,
    device: torch.device,
    row_weights: NDArray[np.float64] | None,
    events: EventLog,
) -> _Start:
    """Order the rows, hold cells out, fit the codecs and start a model."""
    kinds = [column.kind for column in table.columns]
    settings = settings.resolve(len(kinds), kinds.count(ColumnKind.CONTINUOUS))
    weights = None if row_weights is None else checked_weights(row_weights, table)
    order, keys = canonical_order(table, weights)
    ordered = table.rows(order)
    weights = None if weights is None else weights[order]
    log_empty_rows(table, events)
    log_no_skips(table, events)
    # Which ordinals get a latent comes first: only they have temperatures to hold out for.
    latent = latent_columns(ordered, settings, events)
    held_out = choose_held_out(ordered, latent, settings, seed)
    visible = ordered.states.answered & ~held_out
    codec = TableCodec.fit(ordered, visible, settings.encoding, events, latent)
    if settings.training.monitor == "held_out" and not held_out[:, codec.modelled].any():
        settings = settings.replace(training={"monitor": "training_loss"})
        events.add("train", "training loss watched", detail="no answer could be held out")
    answer_codec = None
    if settings.has_heads and codec.layout.n_coordinates:
        # TabSODA-N takes ordinals for nominals throughout.
        as_ordinals = settings.encoding.ordinal == "latent"
        answer_codec = AnswerCodec.fit(ordered, visible, codec, as_ordinals)
    model = Model.start(codec, settings, seed, device, answer_codec)
    return _Start(model, ordered, keys, held_out, weights)


def _with_regressions(
    advisers: Advisers,
    fit: RegressionFit | None,
    shown: CodedTable,
    table: CodedTable,
    draws: bool,
    report: Report,
) -> Advisers:
    if fit is None:
        return advisers
    return replace(
        advisers,
        regressions=fit.for_points(shown),
        draw_regressions=fit.for_draws(table, report) if draws else None,
    )
