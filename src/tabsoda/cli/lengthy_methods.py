"""The announcement before methods run that train for as long as their papers state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tabsoda.cli.progress_lines import duration_text

if TYPE_CHECKING:
    from tabsoda.table import CodedTable


def lengthy_methods() -> list[str]:
    """Return the names of methods that take hours without a GPU."""
    from tabsoda.bench.methods.registry import METHODS

    return [name for name, entry in METHODS.items() if entry.is_lengthy]


def announcement(
    cells: Iterable[tuple[str, str, Mapping[str, Any]]],
    tables: Mapping[str, CodedTable],
) -> str | None:
    """Say how many cells are of such methods, and how long the paper's engine takes for them.

    Parameters
    ----------
    cells : iterable of (str, str, mapping)
        Survey, method and the method's options of the cells that are left to run.
    tables : mapping of str to CodedTable
        The surveys.

    Returns
    -------
    str or None
        None if there is no such cell. A cell with options counts as well: a smaller preset is
        quick, and its estimate says so.
    """
    listed = list(cells)
    lengthy = lengthy_methods()
    counts = Counter(method for _, method, _ in listed if method in lengthy)
    if not counts:
        return None
    seconds: dict[str, float] = {}
    each: dict[tuple[str, str, str], float | None] = {}
    for survey, method, options in listed:
        if method in counts:
            same = (survey, method, repr(options))
            if same not in each:
                each[same] = _seconds(method, options, tables[survey])
            if (estimate := each[same]) is not None:
                seconds[method] = seconds.get(method, 0.0) + estimate
    text = (
        f"{counts.total():,} of {len(listed):,} cells are of methods that train for as long as"
        f" their papers state: {_listed([f'{name} ({n:,})' for name, n in counts.items()])}."
    )
    if seconds:
        known = [f"{name} {duration_text(time)}" for name, time in seconds.items()]
        text += f" Estimated for this machine, with cells one at a time: {_listed(known)}."
    others = [name for name in counts if name not in seconds]
    if others:
        text += f" There is no estimate for {_listed(others)}; without a GPU expect hours per cell."
    return text + " Finished cells are kept if you interrupt."


def _seconds(method: str, options: Mapping[str, Any], table: CodedTable) -> float | None:
    """Estimate one cell of an engine of this package; None for other methods."""
    from tabsoda.bench.methods.registry import method as build
    from tabsoda.cost.estimate import estimate_cost
    from tabsoda.engines import plan_work, precision_of
    from tabsoda.torch_runtime.devices import matrix_precision, resolve_device

    built: Any = build(method, **options)
    if not hasattr(built, "settings_for"):
        return None
    device = resolve_device(built.device)
    settings = built.settings_for(*table.shape)
    plan, threads = plan_work(table, settings, 0, device, fits=True, follows=False)
    precision = matrix_precision(device, precision_of(settings))
    return estimate_cost(plan, threads, device, precision).seconds


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
