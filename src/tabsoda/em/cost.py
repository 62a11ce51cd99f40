"""What a run will take, estimated before it starts: counted work times measured constants."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from tabsoda._internal.machine_speed import probe_seconds
from tabsoda._internal.threads import Threads
from tabsoda.em.growing import grows_beside
from tabsoda.em.peak_memory import memory_bytes
from tabsoda.em.stage_work import TableSize, stage_work
from tabsoda.settings import Settings
from tabsoda.table import CodedTable

# Probes (see tabsoda._internal.machine_speed) that one of each count of stage_work takes, on one
# core: "constants" of benchmarks/engine/cost_calibration.json.
PROBES: dict[str, tuple[float, ...]] = {
    "answering": (1.68, 4.57e-06, 1.11e-11, 5e-05, 3.27e-05, 0.045),
    "completing": (1.08, 0.0, 1.04e-09, 8.91e-06, 0.00042, 63.1),
    "drawing": (0.357, 7.73e-05, 0.0, 3.2e-05),
    "reading": (20.2, 5.46e-05),
    "redrawing": (0.0207, 1.68e-06, 8.53e-06),
    "regressing": (0.286, 2.69e-06, 5.22e-09),
    "reporting": (14.3, 0.249, 4.73e-05, 0.000143),
    "training": (2.01, 4.89e-05, 1.28e-09, 4.76e-05),
    "trees": (1.05, 3.99e-05, 1.38, 8.75e-05),
    "writing": (43.4, 6.31e-05),
}
# Share of the plain matrix rate that a GPU reaches in training and sampling, and the seconds of a
# step that is too small to reach it. Measured in benchmarks/engine.
_GPU_EFFICIENCY = 0.45
_GPU_STEP_SECONDS = 1.5e-3
_GPU_RATE = 3e14
_GPU_PROBE_SIZE = 8192
_GPU_PROBE_SECONDS = 0.1
# What a further thread adds to the speed of a network that is large enough for it.
_THREAD_GAIN = 0.6
# Stages in which the network runs.
_NETWORK = ("training", "answering", "drawing")


@dataclass(frozen=True)
class Cost:
    """Time and memory of a run.

    Attributes
    ----------
    seconds : float
        From reading the files on, if nothing else uses the cores that the process is granted.
    memory_bytes : float
        Of main memory at the peak, with the interpreter and its libraries.
    stages : mapping of str to float
        The seconds of every stage on one core.
    """

    seconds: float
    memory_bytes: float
    stages: Mapping[str, float]


def estimate_cost(
    settings: Settings,
    size: TableSize,
    n_draws: int,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    *,
    threads: Threads,
    fits: bool = True,
    follows: bool = False,
) -> Cost:
    """Estimate a run of ``tabsoda impute``, after its files were read.

    Parameters
    ----------
    settings : Settings
    size : TableSize
    n_draws : int
    device, dtype
        Where and in which precision matrices are multiplied.
    threads : Threads
    fits : bool
        Whether a model is fitted first; otherwise rows are imputed with one that is there.
    follows : bool
        Whether draws follow rules.
    """
    rate = matrix_rate(device, dtype) if device.type == "cuda" else None
    stages = stage_seconds(
        settings, size, n_draws, probe_seconds(), gpu_rate=rate, fits=fits, follows=follows
    )
    seconds = sum(wall_seconds(stages, size, threads, device).values())
    beside = fits and settings.experts.trees != "none" and grows_beside(size.cells, threads, device)
    return Cost(seconds, memory_bytes(size, settings, n_draws, beside=beside), stages)


def stage_seconds(
    settings: Settings,
    size: TableSize,
    n_draws: int,
    probe: float,
    *,
    gpu_rate: float | None = None,
    fits: bool = True,
    follows: bool = False,
) -> dict[str, float]:
    """Estimate the seconds of every stage, on one core and, if there is one, a GPU.

    Parameters
    ----------
    settings, size, n_draws, fits, follows
        As in :func:`estimate_cost`.
    probe : float
        Seconds of :func:`~tabsoda._internal.machine_speed.probe_seconds`.
    gpu_rate : float, optional
        Operations per second of large matrix products, where the network runs on a GPU.
    """
    work = stage_work(size, settings, n_draws, fits=fits, follows=follows)
    seconds = {}
    for stage, counts in work.items():
        if gpu_rate is not None and stage in _NETWORK:
            calls, _, products, *_ = counts
            computing = products / (gpu_rate * _GPU_EFFICIENCY)
            seconds[stage] = calls * _GPU_STEP_SECONDS + computing
        else:
            probes = sum(n * one for n, one in zip(counts, PROBES[stage], strict=True))
            seconds[stage] = probe * probes
    return seconds


def wall_seconds(
    stages: Mapping[str, float], size: TableSize, threads: Threads, device: torch.device
) -> dict[str, float]:
    """Return how long each stage is waited for, with the threads there are; without reading.

    Trees that grow beside the network are waited for only while the network has finished.
    """
    waited = {stage: seconds for stage, seconds in stages.items() if stage != "reading"}
    beside = waited.get("trees", 0.0) > 0 and grows_beside(size.cells, threads, device)
    network = threads.beside_trees if beside else threads.network
    if "training" in waited:
        waited["training"] /= 1 + _THREAD_GAIN * (network - 1)
    if beside:
        waited["trees"] = max(waited["trees"] - waited["training"], 0.0)
    return waited


def fit_shares(
    table: CodedTable, settings: Settings, threads: Threads, device: torch.device, *, draws: bool
) -> dict[str, float]:
    """Return how long the stages of a fit take beside each other, in their order."""
    size = TableSize.of(table)
    rate = _GPU_RATE if device.type == "cuda" else None
    stages = stage_seconds(settings, size, int(draws), 0.01, gpu_rate=rate)
    waited = wall_seconds(stages, size, threads, device)
    order = ("training", "completing", "trees", "regressing")
    return {stage: waited[stage] for stage in order}


def matrix_rate(device: torch.device, dtype: torch.dtype = torch.float32) -> float:
    """Measure the operations per second of large matrix products on a device."""
    size = _GPU_PROBE_SIZE if device.type == "cuda" else 512
    left = torch.full((size, size), 0.5, device=device, dtype=dtype)
    # The first product pays for loading the library.
    left @ left
    _wait(device)
    start, products = time.perf_counter(), 0
    while products == 0 or time.perf_counter() - start < _GPU_PROBE_SECONDS:
        left @ left
        _wait(device)
        products += 1
    return products * 2.0 * size**3 / (time.perf_counter() - start)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
