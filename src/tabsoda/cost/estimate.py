"""Time and memory of a run, from counted work, measured constants and the speed of the machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from tabsoda._internal.threads import Threads, worker_threads

# Time per unit of each count of a stage, in probes (see probe_seconds) on one
# core: "constants" of benchmarks/engine/cost_calibration.json.
PROBES: dict[str, tuple[float, ...]] = {
    "answering": (2.14, 0.0, 8.14e-10, 7.75e-05, 3.77e-05, 0.0457),
    "completing": (0.331, 1.73e-05, 3.55e-09, 0.0, 0.00014, 3.63),
    "drawing": (0.194, 3.53e-05, 3.01e-09, 8.37e-06),
    "reading": (23.3, 6.79e-05),
    "redrawing": (0.0192, 8e-06, 3.45e-05),
    "regressing": (0.385, 2.01e-06, 2.82e-07),
    "reporting": (24.5, 0.433, 6.24e-05, 3.49e-05),
    "training": (0.657, 3.58e-05, 4.32e-09, 0.0),
    "trees": (1.3, 4.55e-05, 1.48, 4.71e-05),
    "writing": (70.7, 8.95e-05),
}
# Bytes per unit of each count of a plan's memory: "memory" of the same file.
BYTES: tuple[float, ...] = (524000000.0, 0.0, 31.7, 8.08, 66.1, 16.0)
# Memory of the process that fits trees: interpreter and libraries, and bytes per cell.
_TREE_PROCESS = 2.0e8
_TREE_CELL = 40.0
# Share of the plain matrix rate that a GPU reaches in training and sampling, and the minimum
# seconds per step. Measured in benchmarks/engine.
_GPU_EFFICIENCY = 0.45
_GPU_STEP_SECONDS = 1.5e-3
GPU_RATE = 3e14
_PROBE_REPEATS = 9
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


def probe_seconds() -> float:
    """Return the CPU seconds that one core takes for a small fixed workload.

    The workload is a mix of matrix products, array operations and Python code, like a fit. The
    result is the minimum of several repeats in CPU time, so that other programs on the same core
    do not make it look slow.
    """
    square = np.full((192, 192), 0.5, dtype=np.float32)
    numbers = np.linspace(-3.0, 3.0, 100_000, dtype=np.float32)
    taken = []
    with worker_threads(1):
        for _ in range(_PROBE_REPEATS):
            start = time.thread_time()
            for _ in range(20):
                square @ square
            np.sort(np.exp(-numbers * numbers))
            sum(number % 7 for number in range(20_000))
            taken.append(time.thread_time() - start)
    return min(taken)


def stage_seconds(plan: WorkPlan, probe: float, gpu_rate: float | None = None) -> dict[str, float]:
    """Estimate the seconds of every stage, on one core and, if there is one, a GPU.

    Parameters
    ----------
    plan : WorkPlan
    probe : float
        Seconds of :func:`probe_seconds`.
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
