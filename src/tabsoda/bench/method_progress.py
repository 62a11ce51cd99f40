"""Progress over several methods that run in sequence."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from tabsoda.bench.methods.contract import Estimates, ImputationMethod, SkipView
from tabsoda.progress import Progress
from tabsoda.table import CodedTable

_STEPS = 1000
# Approximate relative time of each method; methods that are not listed count as 1.
_RELATIVE_TIME = {"mode": 0.01, "boosting": 0.5, "mice": 0.5, "missforest": 4.0, "r-mice": 2.0}


class MethodProgress:
    """Run methods and report which share of all their work is done.

    Parameters
    ----------
    methods : mapping of str to ImputationMethod
        All that will run, in this order.
    progress : callable, optional
    """

    def __init__(self, methods: Mapping[str, ImputationMethod], progress: Progress | None) -> None:
        times = [_RELATIVE_TIME.get(name, 1.0) for name in methods]
        self._progress = progress
        self._share = {name: time / sum(times) for name, time in zip(methods, times, strict=True)}
        self._before = 0.0

    def run(self, name: str, method: ImputationMethod, table: CodedTable, seed: int) -> Estimates:
        """Run one method; it reports its own progress if it can."""
        self._send(name, 0.0)
        arguments = {}
        if "progress" in inspect.signature(method.impute).parameters:
            arguments["progress"] = lambda share: self._send(name, share)
        estimates = method.impute(table, seed, SkipView.LEVEL, **arguments)
        self._before += self._share[name]
        return estimates

    def _send(self, name: str, share: float) -> None:
        if self._progress is not None:
            done = self._before + self._share[name] * min(share, 1.0)
            self._progress(round(_STEPS * done), _STEPS, name)
