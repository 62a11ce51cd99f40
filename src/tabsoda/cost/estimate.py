"""Time and memory of a run, from counted work, measured constants and the speed of the machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from tabsoda._internal.machine_speed import probe_seconds
from tabsoda._internal.threads import Threads

# Time per unit of each count of a stage, in probes (see tabsoda._internal.machine_speed) on one
# core: "constants" of benchmarks/engine/cost_calibration.json.
PROBES: dict[str, tuple[float, ...]] = {
    "answering": (1.13, 0.0, 2.2e-10, 5.26e-05, 3.02e-05, 0.0296),
    "completing": (0.0791, 3.92e-05, 1.83e-09, 2.23e-06, 7.36e-05, 4.73),
    "drawing": (0.133, 4.87e-05, 1.37e-09, 1.25e-05),
    "reading": (15.1, 4.66e-05),
    "redrawing": (0.0101, 7.96e-06, 7.32e-05),
    "regressing": (0.266, 5.63e-07, 2.84e-07),
    "reporting": (8.71, 0.567, 3.39e-05, 0.0),
    "training": (1.34, 6.07e-05, 1.33e-09, 7.7e-05),
    "trees": (0.777, 3.46e-05, 1.34, 8.82e-05),
    "writing": (46.0, 4.68e-05),
}
# Bytes per unit of each count of a plan's memory: "memory" of the same file.
BYTES: tuple[float, ...] = (570000000.0, 0.0, 17.4, 8.23, 66.8, 520.0)
# Memory of the process that fits trees: interpreter and libraries, and bytes per cell.
_TREE_PROCESS = 2.0e8
_TREE_CELL = 40.0
# Share of the plain matrix rate that a GPU reaches in training and sampling, and the minimum
# seconds per step. Measured in benchmarks/engine.
_GPU_EFFICIENCY = 0.45
_GPU_STEP_SECONDS = 1.5e-3
GPU_RATE = 3e14
_GPU_PROBE_SIZE = 8192
_GPU_PROBE_SECONDS = 0.1
# Speedup per additional thread of a network that is large enough for it.
_THREAD_GAIN = 0.6
# Stages in which the network runs.
_NETWORK = ("training", "answering", "drawing")


@dataclass(frozen=True)
class WorkPlan:
    """The amount of work of a run.

    Attributes
    ----------
    stages : mapping of str to tuple of float
        Counts of every stage, as many as :data:`PROBES` has constants for it.
    memory : tuple of float
        1 for the interpreter and its libraries; cells of the table; numbers of the coded table and
        of the predictors of its regressions; numbers that the network stores per batch;
        probabilities of all levels in memory at a time; drawn cells.
    cells : int
        Cells of the table.
    trees_beside : bool
        Whether trees are fitted in a separate process.
    """

    stages: Mapping[str, tuple[float, ...]]
    memory: tuple[float, ...]
    cells: int
    trees_beside: bool = False


@dataclass(frozen=True)
class Cost:
    """Time and memory of a run.

    Attributes
    ----------
    seconds : float
        Including reading the files, if nothing else uses the cores of the process.
    memory_bytes : float
        Peak of main memory, with the interpreter and its libraries.
    stages : mapping of str to float
        The seconds of every stage on one core.
    """

    seconds: float
    memory_bytes: float
    stages: Mapping[str, float]


def estimate_cost(
    plan: WorkPlan,
    threads: Threads,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
) -> Cost:
    """Estimate a run of ``tabsoda impute``, after its files were read.

    Parameters
    ----------
    plan : WorkPlan
    threads : Threads
    device, dtype
        Device and precision of matrix products.
    """
    rate = matrix_rate(device, dtype) if device.type == "cuda" else None
    stages = stage_seconds(plan, probe_seconds(), rate)
    return Cost(sum(wall_seconds(stages, plan, threads).values()), memory_bytes(plan), stages)


def stage_seconds(plan: WorkPlan, probe: float, gpu_rate: float | None = None) -> dict[str, float]:
    """Estimate the seconds of every stage, on one core and, if there is one, a GPU.

    Parameters
    ----------
    plan : WorkPlan
    probe : float
        Seconds of :func:`~tabsoda._internal.machine_speed.probe_seconds`.
    gpu_rate : float, optional
        Operations per second of large matrix products, if the network runs on a GPU.
    """
    seconds = {}
    for stage, counts in plan.stages.items():
        if gpu_rate is not None and stage in _NETWORK:
            calls, _, products, *_ = counts
            computing = products / (gpu_rate * _GPU_EFFICIENCY)
            seconds[stage] = calls * _GPU_STEP_SECONDS + computing
        else:
            probes = sum(n * one for n, one in zip(counts, PROBES[stage], strict=True))
            seconds[stage] = probe * probes
    return seconds


def wall_seconds(stages: Mapping[str, float], plan: WorkPlan, threads: Threads) -> dict[str, float]:
    """Return the elapsed time of each stage with the given threads, without reading.

    Trees fitted in a separate process only add the time after the network has finished.
    """
    waited = {stage: seconds for stage, seconds in stages.items() if stage != "reading"}
    network = threads.beside_trees if plan.trees_beside else threads.network
    if "training" in waited:
        waited["training"] /= 1 + _THREAD_GAIN * (network - 1)
    if plan.trees_beside:
        waited["trees"] = max(waited["trees"] - waited["training"], 0.0)
    return waited


def memory_bytes(plan: WorkPlan) -> float:
    """Estimate the peak of main memory."""
    peak = sum(count * one for count, one in zip(plan.memory, BYTES, strict=True))
    return peak + (_TREE_PROCESS + _TREE_CELL * plan.cells if plan.trees_beside else 0.0)


def matrix_rate(device: torch.device, dtype: torch.dtype = torch.float32) -> float:
    """Measure the operations per second of large matrix products on a device."""
    size = _GPU_PROBE_SIZE if device.type == "cuda" else 512
    left = torch.full((size, size), 0.5, device=device, dtype=dtype)
    # The first product includes loading the library.
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
