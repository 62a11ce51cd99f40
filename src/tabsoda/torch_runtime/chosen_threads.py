"""The number of threads that an engine computes with, as an event."""

from __future__ import annotations

from tabsoda._internal.threads import Threads
from tabsoda.events import EventLog


def log_threads(threads: Threads, events: EventLog, *, imputing: bool) -> None:
    """Log how many threads were chosen, and why torch gets one where it could use more.

    Parameters
    ----------
    threads : Threads
    events : EventLog
    imputing : bool
        Whether a table is imputed with them, and not a model trained.

    Examples
    --------
    >>> log = EventLog()
    >>> log_threads(Threads(cores=4, network=1, spin=True), log, imputing=False)
    >>> [event.kind for event in log]
    ['training_threads_chosen', 'torch_limited_to_one_thread']
    """
    if imputing:
        events.add("imputing_threads_chosen", threads=threads.network, cores=threads.cores)
    else:
        events.add("training_threads_chosen", threads=threads.network, cores=threads.cores)
    if threads.spin:
        events.add("torch_limited_to_one_thread")
