"""What the miner was measured on, and how new runs join those on record."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy")


def machine() -> dict[str, Any]:
    """Return processor, cores, memory in GiB, and the versions that the miner's speed rests on."""
    from tabsoda.bench.studies.cells import machine as known_facts

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    known = {key: value for key, value in known_facts().items() if key not in ("torch", "gpu")}
    return known | {"memory_gib": round(memory / 2**30, 1)} | {n: version(n) for n in LIBRARIES}


def merged(old: dict[str, Any], new: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the new record, with the old runs that it does not replace in their old places.

    Old runs are kept only if they were measured on the same machine with the same versions.
    """
    if old.get("machine") != new["machine"]:
        return new
    fresh = {tuple(run[key] for key in keys): run for run in new["runs"]}
    runs = [fresh.pop(tuple(run[key] for key in keys), run) for run in old["runs"]]
    return new | {"runs": [*runs, *fresh.values()]}


def write(path: Path, runs: list[dict[str, Any]], keys: Sequence[str]) -> None:
    """Add runs, and what they were measured on, to the runs on record."""
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    record = merged(old, {"machine": machine(), "runs": runs}, keys)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
