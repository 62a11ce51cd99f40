"""Fits the default engine: network and trees in parallel, then regressions and blend."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.threads import Threads
from tabsoda.coding.table_checks import checked_weights, log_empty_rows, log_no_skips
from tabsoda.engine.draws import Drawer
from tabsoda.engine.ensemble import Ensemble
from tabsoda.engine.network.network import Network
from tabsoda.engine.predictor import Predictor
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.engine.regressions.fit import RegressionFit
from tabsoda.engine.regressions.regressions import Regressions
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.training_table import TrainingTable
from tabsoda.engine.trees.background_fit import BackgroundTreeFit
from tabsoda.engine.work import fit_shares
from tabsoda.events import EventLog
from tabsoda.progress import Progress, StagedProgress
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of a fit.

    Attributes
    ----------
    training : TrainingTable
    ensemble : Ensemble or None
        None if no column has two different answers.
    drawer : Drawer or None
    history : list of dict
        One entry per network.
    """

    training: TrainingTable
    ensemble: Ensemble | None = None
    drawer: Drawer | None = None
    history: tuple[dict[str, Any], ...] = ()


def fit_engine(
    table: CodedTable,
    settings: EngineSettings,
    seed: int,
    device: torch.device,
    threads: Threads,
    events: EventLog,
    *,
    row_weights: NDArray[np.float64] | None = None,
    checkpoint: Path | None = None,
    draws: bool = True,
    forced: tuple[tuple[int, ...], ...] = (),
    progress: Progress | None = None,
) -> Fitted:
    """Fit a table; parameters as in :meth:`tabsoda.engine.engine.DefaultEngine.fit`.

    ``forced`` are the positions of the questions of each requested term.
    """
    log_empty_rows(table, events)
    log_no_skips(table, events)
    weights = None if row_weights is None else checked_weights(row_weights, table)
    share = settings.training.held_out_share
    training = TrainingTable.build(table, share, seed, events, weights)
    if not training.codec.modelled.size:
        events.add("nothing_to_train")
        return Fitted(training)
    if not training.held_out[:, training.codec.modelled].any():
        events.add("training_loss_watched")
    _log_unresolved_gates(training, events)
    stages = StagedProgress(progress, fit_shares(table, settings, threads, device, draws=draws))
    background = BackgroundTreeFit(training, settings.trees.effort, seed, threads, device, events)
    with background:
        network, history = _network(
            training, settings, seed, device, events, checkpoint, stages.stage("training")
        )
        regressions = _regression_fit(training, network, settings, seed, draws, events)
        predictors: list[Predictor] = [network]
        trees = background.result(stages.stage("trees"))
        if trees is not None:
            predictors.append(trees)
    for_draws: ChainedRegressions | None = None
    if regressions is not None:
        if settings.regressions.point_sets:
            predictors.append(Regressions(training.codec, regressions.for_points()))
        if draws and settings.draws.method == "refitted":
            usable = _usable_terms(training, forced, events)
            for_draws = regressions.for_draws(stages.stage("regressing"), usable)
            _log_interactions(training, usable, for_draws, events)
    if for_draws is None and settings.draws.method == "refitted":
        events.add("draw_regressions_not_fitted")
    ensemble = Ensemble.fit(training, predictors, events)
    return Fitted(training, ensemble, Drawer(network, for_draws, settings, seed), tuple(history))


def _network(
    training: TrainingTable,
    settings: EngineSettings,
    seed: int,
    device: torch.device,
    events: EventLog,
    checkpoint: Path | None,
    progress: Progress,
) -> tuple[Network, list[dict[str, Any]]]:
    """Train the network, or load the one that an earlier start of the same run trained."""
    if checkpoint is None:
        return Network.fit(training, settings, seed, device, events, progress)
    # Imported here because the file format needs more than torch and scikit-learn.
    from tabsoda.engine.checkpoint import NetworkCheckpoint

    kept = NetworkCheckpoint(checkpoint, training, settings, seed)
    found = kept.load(device, events)
    if found is None:
        found = Network.fit(training, settings, seed, device, events, progress)
        kept.save(*found, events)
    return found


def _regression_fit(
    training: TrainingTable,
    network: Network,
    settings: EngineSettings,
    seed: int,
    draws: bool,
    events: EventLog,
) -> RegressionFit | None:
    """Prepare the regressions; None if the settings ask for none."""
    wanted = settings.regressions
    if not (wanted.point_sets or (draws and settings.draws.method == "refitted")):
        return None
    from_network = Drawer(network, None, settings, seed)

    def complete(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        part = training.shown.rows(rows)
        filled = training.codec.with_constants(part)
        open_rows = np.flatnonzero(part.states.missing[:, training.codec.modelled].any(axis=1))
        drawn = from_network.draw(part.rows(open_rows), training.row_keys[rows][open_rows], 1)
        filled[open_rows] = np.where(np.isnan(drawn), filled[open_rows], drawn)
        return filled

    return RegressionFit.start(training, wanted, seed, complete, events)


def _usable_terms(
    training: TrainingTable, forced: tuple[tuple[int, ...], ...], events: EventLog
) -> tuple[tuple[int, ...], ...]:
    """Return the requested terms whose questions all vary; log the others."""
    names, modelled = training.whole.names, set(training.codec.modelled.tolist())
    usable = []
    for term in forced:
        constant = [names[place] for place in term if place not in modelled]
        if constant:
            questions = [names[place] for place in term]
            events.add("requested_interaction_left_out", column=constant[0], questions=questions)
        else:
            usable.append(term)
    return tuple(usable)


def _log_interactions(
    training: TrainingTable,
    forced: tuple[tuple[int, ...], ...],
    regressions: ChainedRegressions,
    events: EventLog,
) -> None:
    """Log the products and curves that the regressions for draws have."""
    names = training.whole.names
    for term in forced:
        events.add("interaction_requested", questions=[names[place] for place in term])
    for relation in regressions.relations:
        events.add(
            "interaction_in_draws",
            column=names[relation.response],
            questions=[names[place] for place in relation.sources],
        )


def _log_unresolved_gates(training: TrainingTable, events: EventLog) -> None:
    """Log the gates that are estimated without their followers."""
    gates = training.followers.any(axis=1) & training.whole.states.missing.any(axis=0)
    for gate in np.flatnonzero(gates):
        events.add("gate_estimated_without_followers", column=training.whole.names[gate])
