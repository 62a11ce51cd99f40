"""What a run will take, told before it starts: counted operations over a measured rate."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from tabsoda.em.operations import count_operations, network_weights
from tabsoda.settings import Settings

# Share of the plain matrix rate that training and sampling reach; the rest goes to noise, masks
# and losses. Measured in benchmarks/engine.
_EFFICIENCY = {"cpu": 0.35, "cuda": 0.45}
_PROBE_SIZE = {"cpu": 512, "cuda": 8192}
_PROBE_SECONDS = 0.1
# Regressing a column once on one core: per row, and whatever the number of rows.
_REGRESSION_SECONDS = (1e-6, 3e-3)
# Growing the trees of a column on one core: per row, and whatever the number of rows.
_TREE_SECONDS = {"quick": (1.5e-5, 0.1), "full": (5e-5, 0.3)}


@dataclass(frozen=True)
class Cost:
    """Operations and memory of a run, and its time on a device.

    Attributes
    ----------
    training_operations, sampling_operations : float
        Floating-point operations, at most: training may stop early.
    seconds : float
    memory_bytes : float
    """

    training_operations: float
    sampling_operations: float
    seconds: float
    memory_bytes: float


def matrix_rate(device: torch.device, dtype: torch.dtype = torch.float32) -> float:
    """Measure the operations per second of large matrix products on a device."""
    size = _PROBE_SIZE.get(device.type, 512)
    left = torch.full((size, size), 0.5, device=device, dtype=dtype)
    # The first product pays for loading the library.
    left @ left
    _wait(device)
    start, products = time.perf_counter(), 0
    while products == 0 or time.perf_counter() - start < _PROBE_SECONDS:
        left @ left
        _wait(device)
        products += 1
    return products * 2.0 * size**3 / (time.perf_counter() - start)


def estimate_cost(
    settings: Settings,
    n_rows: int,
    n_columns: int,
    n_incomplete: int,
    n_coordinates: int,
    n_draws: int,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    *,
    fits: bool = True,
) -> Cost:
    """Estimate a run.

    Parameters
    ----------
    settings : Settings
    n_rows, n_columns, n_incomplete, n_coordinates : int
        Rows, columns, rows with a missing cell, and coordinates of the encoded table.
    n_draws : int
    device, dtype
        Where and in which precision matrices are multiplied.
    fits : bool
        Whether a model is fitted first; otherwise rows are imputed with one that is there.
    """
    trained, sampled = count_operations(settings, n_rows, n_incomplete, n_coordinates, n_draws)
    if not fits:
        settings = settings.replace(em={"rounds": 1})
        trained, sampled = (
            0.0,
            count_operations(settings, n_rows, n_incomplete, n_coordinates, n_draws)[1],
        )
    rate = matrix_rate(device, dtype) * _EFFICIENCY.get(device.type, 0.3)
    block = min(n_incomplete, settings.sampler.block_rows)
    batch = min(n_rows, settings.training.batch_size)
    memory = (
        # Encoded, completed, standardised and held-out copies; five masks; values and levels.
        n_rows * n_coordinates * (6 * 4 + 5)
        + n_rows * n_columns * 8 * 4
        # Activations, kept for the gradients in training.
        + 4 * settings.backbone.width * (6 * block + 24 * batch)
        + 16 * network_weights(n_coordinates, settings)
        + 16 * n_draws * n_incomplete
    )
    seconds = (trained + sampled) / rate
    if fits and settings.experts.trees != "none":
        per_row, per_column = _TREE_SECONDS[settings.experts.trees]
        seconds += n_columns * (per_column + per_row * n_rows)
    if fits:
        per_row, per_column = _REGRESSION_SECONDS
        regressions = settings.regressions
        rows = min(n_rows, regressions.max_rows)
        fitted = regressions.sets * regressions.rounds + regressions.point_sets
        seconds += fitted * n_columns * (per_column + per_row * rows)
    return Cost(trained, sampled, seconds, float(memory))


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
