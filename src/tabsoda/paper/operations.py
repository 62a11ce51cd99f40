"""Count the floating-point operations of the network, in training and in sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from tabsoda._internal.threads import Threads
from tabsoda.paper.layout import n_bits
from tabsoda.paper.settings import PaperSettings
from tabsoda.schema.column import Column


def count_coordinates(columns: Sequence[Column]) -> int:
    """Count the coordinates of an encoded table, at most: ordinals with a latent take fewer.

    Examples
    --------
    >>> from tabsoda.schema.column import ColumnKind
    >>> region = Column("region", ColumnKind.NOMINAL, (1, 2, 3, 4))
    >>> count_coordinates([region, Column("age", ColumnKind.CONTINUOUS)])
    3
    """
    return sum(n_bits(column.n_levels) if column.is_categorical else 1 for column in columns)


def step_operations(settings: PaperSettings, columns: Sequence[Column], n_rows: int) -> float:
    """Count the operations of one training step."""
    rows = min(n_rows, settings.training.batch_size)
    return 6.0 * rows * network_weights(count_coordinates(columns), settings)


def planned_threads(
    settings: PaperSettings, columns: Sequence[Column], n_rows: int, device: torch.device
) -> Threads:
    """Plan the threads for a table; a GPU leaves the CPU little to do."""
    on_cpu = device.type == "cpu"
    return Threads.planned(step_operations(settings, columns, n_rows) if on_cpu else 0.0)


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
    1500
    """
    training = settings.training
    steps_per_pass = math.ceil(n_rows / training.batch_size)
    steps = (
        training.max_epochs * steps_per_pass * math.ceil(training.min_epoch_steps / steps_per_pass)
    )
    return steps if training.max_steps is None else min(steps, training.max_steps)
