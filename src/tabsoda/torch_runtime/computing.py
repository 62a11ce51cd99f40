"""Threads and memory of a computation: limits, and errors with advice if memory is too small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tabsoda._internal.threads import Threads, worker_threads
from tabsoda.errors import DeviceError
from tabsoda.events import EventLog

# Part of torch's message for a failed allocation on the CPU, which has no own error type.
_CPU_ALLOCATION = "can't allocate memory"


@contextmanager
def computing(
    threads: Threads,
    events: EventLog | None = None,
    *,
    imputing: bool = False,
) -> Iterator[None]:
    """Compute with the given threads; convert a failed allocation into an error with advice.

    Parameters
    ----------
    threads : Threads
    events : EventLog, optional
        Receives how many threads were chosen, and why torch gets one where it could use more.
    imputing : bool
        Whether a table is imputed, and not a model trained.

    Examples
    --------
    >>> log = EventLog()
    >>> with computing(Threads(cores=4, network=1, spin=True), log):
    ...     raise MemoryError("Unable to allocate 9 TiB")
    Traceback (most recent call last):
    tabsoda.errors.DeviceError: There is too little memory. Found: Unable to allocate 9 TiB. ...
    >>> [event.kind for event in log]
    ['training_threads_chosen', 'torch_limited_to_one_thread']
    """
    if events is not None:
        if imputing:
            events.add("imputing_threads_chosen", threads=threads.network, cores=threads.cores)
        else:
            events.add("training_threads_chosen", threads=threads.network, cores=threads.cores)
        if threads.spin:
            events.add("torch_limited_to_one_thread")
    try:
        with worker_threads(threads.network):
            yield
    except (MemoryError, RuntimeError) as error:
        is_clear = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_clear and _CPU_ALLOCATION not in str(error):
            raise
        raise DeviceError(
            "There is too little memory",
            found=next(iter(str(error).strip().splitlines()), "a failed allocation"),
            next_step="Lower training.batch_size and draws.block_rows (sampler.block_rows with a"
            " preset), use fewer rows or columns, or use device='cpu'",
        ) from error


def check_memory(wanted: int, device: torch.device) -> None:
    """Raise if a CUDA device has less free memory than this, in bytes."""
    if device.type != "cuda":
        return
    free, _ = torch.cuda.mem_get_info(device)
    if wanted > free:
        raise DeviceError(
            "The device has too little memory for this table",
            found=f"{free / 2**30:.1f} GiB free",
            expected=f"at least {wanted / 2**30:.1f} GiB",
            next_step="Use device='cpu', or fewer rows",
        )
