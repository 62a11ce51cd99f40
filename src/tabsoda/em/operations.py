"""Count the floating-point operations of the network, in training and in sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from tabsoda._internal.threads import Threads
from tabsoda.encoding.layout import n_bits
from tabsoda.schema.column import Column
from tabsoda.settings import Settings


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


def step_operations(settings: Settings, columns: Sequence[Column], n_rows: int) -> float:
    """Count the operations of one training step of one network."""
    rows = min(n_rows, settings.training.batch_size)
    return 6.0 * rows * network_weights(count_coordinates(columns), settings)


def planned_threads(
    settings: Settings, columns: Sequence[Column], n_rows: int, device: torch.device
) -> Threads:
    """Plan the threads for a table; a GPU leaves the CPU little to do."""
    on_cpu = device.type == "cpu"
    return Threads.planned(step_operations(settings, columns, n_rows) if on_cpu else 0.0)


def network_weights(n_coordinates: int, settings: Settings) -> int:
    """Count the products per row of one pass through the backbone.

    Exact for the paper's; for the others about, because levels and numbers are not told apart.
    """
    width, backbone = settings.backbone.width, settings.backbone
    if backbone.name == "embedding":
        return width * (12 * n_coordinates + 2 * backbone.depth * width + 64)
    if backbone.name == "tokens":
        return n_coordinates * width * (12 * backbone.depth * width + 16)
    inputs = n_coordinates * (1 + backbone.sees_visible + backbone.sees_skips)
    return width * inputs + 8 * width**2 + width * n_coordinates


def passes_per_chain(settings: Settings) -> int:
    """Count the network passes of one reverse process: two a step, one for the last.

    Examples
    --------
    >>> passes_per_chain(Settings.preset("path"))
    393
    """
    sampler = settings.sampler
    return 2 * (sampler.steps - 1) * sampler.refresh_cycles + 1


def training_steps(settings: Settings, n_rows: int) -> int:
    """Count the training steps of one round, at most: training may stop early.

    Examples
    --------
    >>> training_steps(Settings.preset("balanced"), 2000)
    1000
    """
    training = settings.training
    steps_per_pass = math.ceil(n_rows / training.batch_size)
    steps = (
        training.max_epochs * steps_per_pass * math.ceil(training.min_epoch_steps / steps_per_pass)
    )
    return steps if training.max_steps is None else min(steps, training.max_steps)


def count_operations(
    settings: Settings, n_rows: int, n_incomplete: int, n_coordinates: int, n_draws: int
) -> tuple[float, float]:
    """Return the operations of training and of sampling: 2 per weight and row, 6 with gradients."""
    weights = network_weights(n_coordinates, settings)
    training = settings.training
    steps_per_pass = math.ceil(n_rows / training.batch_size)
    rows_seen = settings.em.rounds * training_steps(settings, n_rows) * n_rows / steps_per_pass
    trained = 6.0 * weights * rows_seen * (2 if training.low_noise_pass else 1)
    one_chain = passes_per_chain(settings)
    point = 1 if settings.sampler.point == "one_pass" else settings.sampler.chains * one_chain
    one_draw = one_chain
    if settings.sampler.draws != "reverse":
        one_draw = min(settings.sampler.draw_steps, n_coordinates)
    passes = (settings.em.rounds + 1) * point + n_draws * one_draw
    members = settings.backbone.members
    return members * trained, 2.0 * weights * n_incomplete * passes
