"""Runs independent tasks: in this process, in processes of this machine, or on a Ray cluster.

Results arrive as they are finished and do not depend on the workers. A task whose worker dies is
retried; one that keeps dying is reported.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from tabsoda.errors import InputError, TabSODAError

# A task is called with these arguments; it must not raise.
Task = tuple[Any, ...]
Outcome = tuple[int, Any]

_ROUNDS = 2
_RETRIES = 3


class Workers(StrEnum):
    """Where tasks run; users choose with the option ``engine``."""

    LOCAL = "local"
    JOBLIB = "joblib"
    RAY = "ray"


def checked_workers(engine: Workers | str) -> Workers:
    """Return the workers with this name; raise InputError for an unknown name.

    Examples
    --------
    >>> checked_workers("ray")
    <Workers.RAY: 'ray'>
    """
    try:
        return Workers(engine)
    except ValueError as error:
        raise InputError(
            "Unknown engine", found=repr(engine), expected=f"one of {', '.join(Workers)}"
        ) from error


class WorkerLost(TabSODAError):  # noqa: N818 - it names what happened
    """A worker died repeatedly while running a task."""


def run_tasks(
    function: Callable[..., Any],
    tasks: Sequence[Task],
    engine: Workers | str = Workers.LOCAL,
    jobs: int | None = None,
) -> Iterator[Outcome]:
    """Call a function on every task.

    Parameters
    ----------
    function : callable
        Must be importable by name if other processes run it.
    tasks : sequence of tuple
        Its arguments. With Ray, large arguments shared by several tasks are sent once.
    engine : Workers or str
    jobs : int, optional
        Tasks at a time; the number of cores by default.

    Yields
    ------
    int, object
        The task's position and what the function returned, or a :class:`WorkerLost`.

    Examples
    --------
    >>> sorted(run_tasks(max, [(1, 2), (5, 4)]))
    [(0, 2), (1, 5)]
    """
    runner = {Workers.LOCAL: _local, Workers.JOBLIB: _joblib, Workers.RAY: _ray}[
        checked_workers(engine)
    ]
    return runner(function, tasks, jobs)


def _local(
    function: Callable[..., Any], tasks: Sequence[Task], jobs: int | None
) -> Iterator[Outcome]:
    for index, task in enumerate(tasks):
        yield index, function(*task)


def _indexed(index: int, function: Callable[..., Any], task: Task) -> Outcome:
    return index, function(*task)


def _joblib(
    function: Callable[..., Any], tasks: Sequence[Task], jobs: int | None
) -> Iterator[Outcome]:
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pending = dict(enumerate(tasks))

    def run(indices: list[int], n_jobs: int) -> Iterator[Outcome]:
        calls = [delayed(_indexed)(i, function, pending[i]) for i in indices]
        for outcome in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls):
            pending.pop(outcome[0])
            yield outcome

    for _ in range(_ROUNDS):
        if not pending:
            return
        try:
            yield from run(list(pending), jobs or -1)
        except TerminatedWorkerError:
            continue
    # A worker that dies also ends its neighbours' tasks. Run alone, the failing task shows itself.
    for index in list(pending):
        lost: WorkerLost | None = None
        for _ in range(_ROUNDS):
            try:
                yield from run([index], 2)
            except TerminatedWorkerError as error:
                lost = WorkerLost(str(error))
            else:
                break
        else:
            yield index, lost


def _ray(
    function: Callable[..., Any], tasks: Sequence[Task], jobs: int | None
) -> Iterator[Outcome]:
    ray = _started_ray()
    remote = ray.remote(max_retries=_RETRIES)(function)
    shared: dict[int, Any] = {}

    def sent(argument: Any) -> Any:
        """Put an argument into the cluster's memory once, for all tasks that use it."""
        if id(argument) not in shared:
            shared[id(argument)] = ray.put(argument)
        return shared[id(argument)]

    waiting = list(enumerate(tasks))[::-1]
    running: dict[Any, int] = {}
    limit = jobs or len(tasks)
    while waiting or running:
        while waiting and len(running) < limit:
            index, task = waiting.pop()
            running[remote.remote(*map(sent, task))] = index
        ready, _ = ray.wait(list(running), num_returns=1)
        for reference in ready:
            index = running.pop(reference)
            try:
                yield index, ray.get(reference)
            except ray.exceptions.RayError as error:
                yield index, WorkerLost(_reason(error))


def _started_ray() -> Any:
    """Return Ray, connected to a cluster.

    The cluster is the one named by RAY_ADDRESS or running on this machine; otherwise one is
    started.
    """
    # Survey data are confidential: Ray must not send statistics of its use to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError(
            "The engine 'ray' needs Ray, which is not installed",
            next_step="Install it with: pip install 'tabsoda[ray]'",
        ) from error
    if not ray.is_initialized():
        try:
            ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
        except (RuntimeError, OSError, ValueError, ray.exceptions.RayError) as error:
            raise InputError(
                "No Ray cluster could be joined or started",
                found=_reason(error),
                next_step="Check the variable RAY_ADDRESS and the output of 'ray status', or "
                "choose the engine 'joblib'",
            ) from error
    return ray


def _reason(error: Exception) -> str:
    """Return why Ray lost a task: a plain sentence without colours or the worker's traceback."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # A traceback ends with the error itself; other messages begin with what happened.
    return lines[-1] if lines[0].startswith("ray::") else lines[0]
