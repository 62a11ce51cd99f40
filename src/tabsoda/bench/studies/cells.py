"""Run one cell of a study: hide answers, estimate them with a method, and score."""

from __future__ import annotations

import importlib
import inspect
import math
import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import stream_key
from tabsoda._version import __version__
from tabsoda.bench.cases import Mining, SurveyCase
from tabsoda.bench.gates import Track, seen_table
from tabsoda.bench.masking import DEFAULT_RATE, hide_cells
from tabsoda.bench.methods.contract import ImputationMethod, SkipView
from tabsoda.bench.metrics.imputation_metrics import columns_of, compare, groups_of
from tabsoda.errors import InputError
from tabsoda.followers import unresolved_cells

# Methods that read the skip states themselves have only one view.
OWN_VIEW = "own"


@dataclass(frozen=True)
class CellSettings:
    """The settings that determine the result of a cell.

    Attributes
    ----------
    survey : str
    fingerprint : str
        Of the :class:`SurveyCase`.
    mechanism : str
    replication, seed : int
    rate : float
    method : str
        A name of the registry, or ``"package.module:factory"`` for a custom method.
    label : str
        The name shown in tables.
    options : mapping
        Settings of the method.
    skip_view : str
        ``"blind"``, ``"level"``, or ``"own"`` for methods that read skips themselves.
    track : str
    """

    survey: str
    fingerprint: str
    mechanism: str
    replication: int
    method: str
    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    skip_view: str = OWN_VIEW
    track: str = Track.RESOLVED.value
    seed: int = 0
    rate: float = DEFAULT_RATE

    @property
    def path(self) -> PurePosixPath:
        """The cell's path within a study's folder."""
        method = f"{slug(self.label)}-{self.skip_view}"
        last = f"r{self.replication:03d}"
        return PurePosixPath(slug(self.survey), self.mechanism, self.track, method, last)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary."""
        return asdict(self)


def slug(text: str) -> str:
    """Turn a name into one for a folder.

    Examples
    --------
    >>> slug("TabSODA+SKIP (small)")
    'tabsoda+skip-small'
    """
    return re.sub(r"[^a-z0-9_.+]+", "-", text.lower()).strip("-.") or "unnamed"


def method_factory(name: str) -> Callable[..., ImputationMethod]:
    """Return the function that builds a method from its options."""
    if ":" not in name:
        from tabsoda.bench.methods import registry

        return lambda **options: registry.method(name, **options)
    module, _, attribute = name.partition(":")
    try:
        factory: Callable[..., ImputationMethod] = getattr(
            importlib.import_module(module), attribute
        )
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"The method '{name}' cannot be imported",
            found=str(error),
            expected="a name such as 'boosting', or 'package.module:factory'",
        ) from error
    return factory


def mining_of(name: str, options: Mapping[str, Any]) -> Mining | None:
    """Return how the skips are mined that a method takes as ``mined=``; None if it takes none.

    Its options ``screen`` and ``miner`` decide, or their defaults in the method's signature.
    """
    if ":" in name:
        target: Any = method_factory(name)
    else:
        from tabsoda.bench.methods.registry import METHODS

        target = METHODS[name].load() if name in METHODS else None
    parameters = {} if target is None else inspect.signature(target).parameters
    if "mined" not in parameters:
        return None
    chosen = {
        part: options.get(part, parameters[part].default)
        for part in Mining._fields
        if part in parameters
    }
    return Mining(**chosen)


def run_cell(case: SurveyCase, settings: CellSettings) -> dict[str, Any]:
    """Run one cell of a study.

    Returns
    -------
    dict
        ``settings``, ``metrics`` (all, gates, others), ``columns``, counts of cells,
        ``seconds`` of the method, ``harness_seconds`` of everything else but importing the
        method's libraries, ``machine``. None stands for NaN.
    """
    start = time.perf_counter()
    hidden = hide_cells(
        case.table,
        settings.mechanism,
        replication=settings.replication,
        seed=settings.seed,
        rate=settings.rate,
    ).mask
    seen, scored = seen_table(case.table, hidden, case.followers, settings.track)
    options = dict(settings.options)
    mining = mining_of(settings.method, options)
    if mining is not None:
        known = np.ones_like(hidden)
        if Track(settings.track) is Track.UNRESOLVED:
            known = ~unresolved_cells(hidden, case.followers)
        options["mined"] = _mined(case, mining) & known
    loading = time.perf_counter()
    method = method_factory(settings.method)(**options)
    loading = time.perf_counter() - loading
    view = SkipView.LEVEL if settings.skip_view == OWN_VIEW else SkipView(settings.skip_view)
    # The same for every method and mechanism of a replication: pairs share their random numbers.
    seed = stream_key(settings.seed, "method", settings.replication) & 0x7FFFFFFF
    begun = time.perf_counter()
    estimates = method.impute(seen, seed, view)
    seconds = time.perf_counter() - begun
    gates = np.asarray(case.followers.any(axis=1))
    errors = compare(case.table, seen, estimates, scored)
    result = {
        "settings": settings.to_dict(),
        "metrics": groups_of(errors, gates),
        "columns": columns_of(errors),
        "cells": {"hidden": int(hidden.sum()), "scored": int(scored.sum())},
        "shape": list(case.table.shape),
        "seconds": round(seconds, 4),
        "machine": machine(),
    }
    result["harness_seconds"] = round(time.perf_counter() - start - seconds - loading, 4)
    cleaned: dict[str, Any] = without_nan(result)
    return cleaned


def _mined(case: SurveyCase, mining: Mining) -> NDArray[np.bool_]:
    """Return the mask that was mined in this way."""
    if mining not in case.mined:
        raise InputError(
            f"The skips of '{case.name}' were not mined as a method requires",
            found=", ".join(" / ".join(one) for one in case.mined) or "nothing mined",
            expected=f"screen {mining.screen!r} with miner {mining.miner!r}",
            next_step="Prepare the survey for this study again",
        )
    return case.mined[mining]


def attempt_cell(case: SurveyCase, settings: CellSettings) -> dict[str, Any]:
    """Run one cell; a failure becomes ``{"error": ...}``.

    A method under test may fail in any way. The failure is recorded, and the others continue.
    """
    try:
        return run_cell(case, settings)
    except Exception as error:
        return failure(settings, error)


def failure(settings: CellSettings, error: BaseException) -> dict[str, Any]:
    """Describe why a cell has no result."""
    return {
        "settings": settings.to_dict(),
        "error": type(error).__name__,
        "message": str(error),
        "trace": traceback.format_exception(error),
    }


def machine() -> dict[str, Any]:
    """Describe the machine that computes a result."""
    found: dict[str, Any] = {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "tabsoda": __version__,
        "numpy": np.__version__,
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = torch.__version__
        if torch.cuda.is_available():
            found["gpu"] = torch.cuda.get_device_name()
    return found


@cache
def _processor() -> str:
    """Return the processor's name if the system gives it, else its architecture."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def without_nan(content: Any) -> Any:
    """Replace NaN by None, which JSON can hold; numpy's numbers become Python's."""
    if isinstance(content, dict):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    if isinstance(content, np.generic):
        content = content.item()
    return None if isinstance(content, float) and math.isnan(content) else content
