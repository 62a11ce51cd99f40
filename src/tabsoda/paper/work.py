"""How much work each stage of the paper's engine is, counted before it starts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from tabsoda._internal.threads import Threads
from tabsoda.cost.estimate import WorkPlan
from tabsoda.cost.table_size import TableSize, count_coordinates
from tabsoda.cost.work import Counts, estimated_rows, table_stages, threads_for, times
from tabsoda.paper.m_step import training_schedule
from tabsoda.paper.settings import PaperSettings
from tabsoda.schema.column import Column


def work_plan(
    size: TableSize,
    settings: PaperSettings,
    n_draws: int,
    *,
    fits: bool = True,
    follows: bool = False,
) -> WorkPlan:
    """Count the work of a run.

    Parameters
    ----------
    size : TableSize
    settings : PaperSettings
    n_draws : int
    fits : bool
        Whether a model is fitted first.
    follows : bool
        Whether draws follow rules: rows that depend on a missing gate are then drawn separately.
    """
    parts = 2 if follows else 1
    passes = float(passes_per_chain(settings))
    one_draw = _pass(size, settings, parts * passes, passes * size.incomplete_rows)
    stages = table_stages(size, n_draws) | {
        "answering": _answering(size, settings, fits=fits, follows=follows),
        "drawing": times(n_draws, one_draw),
    }
    if fits:
        stages["training"] = _training(size, settings)
        stages["completing"] = (0.0, 0.0, 0.0, 0.0, float(size.cells), 1.0)
    batch = min(size.rows, settings.training.batch_size)
    kept = settings.backbone.width * float(batch)
    kept += 4.0 * network_weights(size.coordinates, settings)
    encoded = size.rows * (size.coordinates + float(size.widths.sum()))
    memory = (1.0, float(size.cells), encoded, kept, 0.0, n_draws * size.n_missing)
    return WorkPlan(stages, memory, size.cells)


def _pass(size: TableSize, settings: PaperSettings, calls: float, rows: float) -> Counts:
    """Count calls of the network, cells read and products; there is no attention."""
    products = network_weights(size.coordinates, settings)
    return calls, rows * size.columns, 2.0 * rows * products, 0.0


def _training(size: TableSize, settings: PaperSettings) -> Counts:
    """Count as :func:`_pass` does; a step with gradients is three passes."""
    steps = training_steps(settings, size.rows)
    rows = size.rows / math.ceil(size.rows / settings.training.batch_size)
    passes = 2 if settings.training.low_noise_pass else 1
    calls, cells, products, pairs = _pass(size, settings, 1.0, rows)
    return times(settings.em.rounds * steps * passes, (calls, cells, 3.0 * products, pairs))


def _answering(size: TableSize, settings: PaperSettings, *, fits: bool, follows: bool) -> Counts:
    """Count the point estimates, the estimates for the report and the E-steps."""
    passes = 1.0
    if settings.sampler.point == "chains":
        passes = float(settings.sampler.chains * passes_per_chain(settings))
    e_steps = [float(size.incomplete_rows)] * (settings.em.rounds if fits else 0)
    block_rows = settings.sampler.block_rows
    blocks, rows, answers = estimated_rows(size, block_rows, e_steps, follows=follows)
    return (*_pass(size, settings, passes * blocks, passes * rows), 0.0, answers)


def planned_threads(
    settings: PaperSettings, columns: Sequence[Column], n_rows: int, device: torch.device
) -> Threads:
    """Plan the threads for a table of some rows."""
    products = network_weights(count_coordinates(columns), settings)
    return threads_for(products, settings.training.batch_size, n_rows, device)


def network_weights(n_coordinates: int, settings: PaperSettings) -> int:
    """Count the products per row of one pass through the network."""
    width, backbone = settings.backbone.width, settings.backbone
    inputs = n_coordinates * (1 + backbone.sees_visible + backbone.sees_skips)
    return width * inputs + 8 * width**2 + width * n_coordinates


def passes_per_chain(settings: PaperSettings) -> int:
    """Count the network passes of one reverse process: two per step, one for the last.

    Examples
    --------
    >>> passes_per_chain(PaperSettings.preset("path"))
    393
    """
    sampler = settings.sampler
    return 2 * (sampler.steps - 1) * sampler.refresh_cycles + 1


def training_steps(settings: PaperSettings, n_rows: int) -> int:
    """Count the training steps of one round, at most: training may stop early.

    Examples
    --------
    >>> training_steps(PaperSettings.preset("small"), 2000)
    1484
    """
    _, _, steps_per_epoch, max_epochs = training_schedule(settings.training).steps(n_rows)
    return steps_per_epoch * max_epochs
