"""How much work each stage of the default engine is, counted before it starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tabsoda._internal.threads import Threads
from tabsoda.cost.estimate import GPU_RATE, WorkPlan, stage_seconds, wall_seconds
from tabsoda.cost.table_size import TableSize, count_coordinates
from tabsoda.cost.work import Counts, estimated_rows, table_stages, threads_for, times
from tabsoda.engine.network.training import schedule_of
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.trees.background_fit import fits_beside
from tabsoda.engine.trees.settings import TreeSettings
from tabsoda.schema.column import Column
from tabsoda.table import CodedTable

# Burn-in rounds of the regressions for draws.
_FIRST_ROUNDS = 3
# Held-out rows per block of the blend.
_BLEND_ROWS = 2048
_MAX_BLEND_ROWS = 20_000


def work_plan(
    size: TableSize,
    settings: EngineSettings,
    n_draws: int,
    threads: Threads,
    device: torch.device,
    *,
    fits: bool = True,
    follows: bool = False,
) -> WorkPlan:
    """Count the work of a run.

    Parameters
    ----------
    size : TableSize
    settings : EngineSettings
    n_draws : int
    threads : Threads
    device : torch.device
    fits : bool
        Whether a model is fitted first.
    follows : bool
        Whether draws follow rules: rows that depend on a missing gate are then drawn separately.
    """
    has_trees = settings.trees.effort != "none"
    return WorkPlan(
        stage_work(size, settings, n_draws, fits=fits, follows=follows),
        memory_work(size, settings, n_draws),
        size.cells,
        fits and has_trees and fits_beside(size.cells, threads, device),
    )


def fit_shares(
    table: CodedTable,
    settings: EngineSettings,
    threads: Threads,
    device: torch.device,
    *,
    draws: bool,
) -> dict[str, float]:
    """Return how long the stages of a fit take relative to each other, in their order."""
    plan = work_plan(TableSize.of(table), settings, int(draws), threads, device)
    rate = GPU_RATE if device.type == "cuda" else None
    waited = wall_seconds(stage_seconds(plan, 0.01, rate), plan, threads)
    return {stage: waited[stage] for stage in ("training", "completing", "trees", "regressing")}


def planned_threads(
    settings: EngineSettings, columns: Sequence[Column], n_rows: int, device: torch.device
) -> Threads:
    """Plan the threads for a table of some rows."""
    products = network_products(count_coordinates(columns), settings)
    return threads_for(products, settings.training.batch_size, n_rows, device)


def network_products(n_coordinates: int, settings: EngineSettings) -> int:
    """Count, approximately, the products per row of one pass through the network."""
    width, depth = settings.network.width, settings.network.depth
    if settings.network.name == "tokens":
        return n_coordinates * width * (12 * depth * width + 16)
    return width * (12 * n_coordinates + 2 * depth * width + 64)


def memory_work(size: TableSize, settings: EngineSettings, n_draws: int) -> Counts:
    """Count the objects in memory; see :class:`~tabsoda.cost.estimate.WorkPlan`."""
    batch = min(size.rows, settings.training.batch_size)
    tokens = size.columns if settings.network.name == "tokens" else 1
    _, held_out = size.held_out(settings.training.held_out_share)
    block = max(min(size.rows, settings.draws.block_rows), min(held_out, _BLEND_ROWS))
    coded = size.rows * (size.coordinates + float(size.widths.sum()))
    kept = tokens * settings.network.width * float(batch)
    kept += 4.0 * network_products(size.coordinates, settings)
    return (
        1.0,
        float(size.cells),
        coded,
        kept,
        size.probabilities * block,
        n_draws * size.n_missing,
    )


def stage_work(
    size: TableSize,
    settings: EngineSettings,
    n_draws: int,
    *,
    fits: bool = True,
    follows: bool = False,
) -> dict[str, Counts]:
    """Count the work of each stage of ``tabsoda impute``.

    Parameters
    ----------
    size : TableSize
    settings : EngineSettings
    n_draws : int
    fits : bool
        Whether a model is fitted first.
    follows : bool
        Whether draws follow rules: rows that depend on a missing gate are then drawn separately.
    """
    parts = 2 if follows else 1
    work = table_stages(size, n_draws) | {
        "answering": _answering(size, settings, fits=fits, follows=follows),
        "drawing": times(n_draws, _draw(size, settings, size.n_missing, parts)),
        "redrawing": times(n_draws, _redraw(size, settings)),
    }
    if fits:
        work |= {
            "training": _training(size, settings),
            "trees": _trees(size, settings),
            "completing": _completing(size, settings),
            "regressing": _regressing(size, settings, n_draws > 0),
        }
    return work


def _pass(size: TableSize, settings: EngineSettings, calls: float, rows: float) -> Counts:
    """Count calls of the network, cells read, products, and pairs of tokens in attention."""
    pairs = float(size.columns**2) if settings.network.name == "tokens" else 0.0
    products = network_products(size.coordinates, settings)
    return calls, rows * size.columns, 2.0 * rows * products, rows * pairs


def _training(size: TableSize, settings: EngineSettings) -> Counts:
    """Count as :func:`_pass` does; a step with gradients is three passes."""
    batch_size, _, steps_per_epoch, max_epochs = schedule_of(settings).steps(size.rows)
    calls, cells, products, pairs = _pass(size, settings, 1.0, batch_size)
    steps = settings.network.members * steps_per_epoch * max_epochs
    return times(steps, (calls, cells, 3.0 * products, pairs))


def _answering(size: TableSize, settings: EngineSettings, *, fits: bool, follows: bool) -> Counts:
    """Count the predictions for point estimates, for the report and for the blend."""
    _, held_out = size.held_out(settings.training.held_out_share)
    blend = [min(held_out, _MAX_BLEND_ROWS)] if fits else []
    blocks, rows, answers = estimated_rows(size, settings.draws.block_rows, blend, follows=follows)
    passes = settings.network.members
    network = _pass(size, settings, passes * blocks, passes * rows)
    return (*network, rows * size.probabilities, answers)


def _draw(size: TableSize, settings: EngineSettings, cells: float, parts: int) -> Counts:
    """Count one draw of some missing cells from the network."""
    groups = min(settings.draws.steps, size.columns)
    # A group of columns is drawn for the rows in which one of them is missing.
    return _pass(size, settings, parts * groups, min(cells, groups * size.rows))


def _redraw(size: TableSize, settings: EngineSettings) -> Counts:
    if settings.draws.method != "refitted":
        return (0.0, 0.0, 0.0)
    sweeps, predictors = settings.regressions.sweeps, _predictors(size, settings)
    drawn = float((size.missing * size.classes).sum()) * predictors
    calls = float(np.count_nonzero(size.missing))
    return sweeps * calls, sweeps * drawn, size.incomplete_rows * float(size.widths.sum())


def _predictors(size: TableSize, settings: EngineSettings) -> float:
    """Return about how many predictors a column is regressed on."""
    questions = min(settings.regressions.max_questions, max(size.columns - 1, 0))
    return float(questions * size.widths.mean())


def _trees(size: TableSize, settings: EngineSettings) -> Counts:
    """Count models, and the cells that the trees of a round read; first quick, then full."""
    effort = settings.trees.effort
    if effort == "none":
        return (0.0, 0.0, 0.0, 0.0)
    fitted = TreeSettings.named(effort)
    trees = np.where(size.levels > 2, np.minimum(size.levels, fitted.max_classes), 1.0)
    seen = trees * size.answered * min(max(size.columns - 1, 0), fitted.max_predictors)
    counts = float(trees.sum()), float(seen.sum())
    return (*counts, 0.0, 0.0) if effort == "quick" else (0.0, 0.0, *counts)


def _completing(size: TableSize, settings: EngineSettings) -> Counts:
    """Count work done once on the whole table: coding it, and drawing held-out cells."""
    cells, _ = size.held_out(settings.training.held_out_share)
    drawn: Counts = (0.0, 0.0, 0.0, 0.0)
    if settings.regressions.sets or settings.regressions.point_sets:
        drawn = _draw(size, settings, cells + size.n_missing, 1)
    return (*drawn, float(size.cells), 1.0)


def _regressing(size: TableSize, settings: EngineSettings, draws: bool) -> Counts:
    """Count regressions, the products of one gradient of each, and of one Hessian."""
    chosen = settings.regressions
    rows = size.answered * min(1.0, chosen.max_rows / max(size.rows, 1))
    incomplete = (size.missing > 0).astype(float)
    # In the rounds before a set is stored, only incomplete columns are regressed.
    rounds = chosen.sets * (chosen.rounds - 1) + (_FIRST_ROUNDS if chosen.sets else 0)
    fits = (chosen.sets + rounds * incomplete) * draws + chosen.point_sets
    predictors = _predictors(size, settings)
    gradients = float((fits * rows * size.classes).sum()) * predictors
    hessians = float((fits * rows).sum()) * predictors**2
    return float(np.sum(fits * np.ones(size.columns))), gradients, hessians
