"""Imputes a generated survey in a process of its own, and says what that took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from generate import write_survey


def measure(
    folder: Path,
    n_rows: int,
    n_columns: int,
    quality: str = "fast",
    draws: int = 1,
    shard_rows: int = 50_000,
    fit_rows: int = 100_000,
    device: str = "cpu",
    jobs: int = 1,
) -> dict[str, Any]:
    """Return the seconds and the peak memory of imputing a survey of this size in shards.

    ``cpu_seconds`` is what the process and its workers computed; on a busy machine the clock says
    more. ``peak_gb`` is that of the largest process.
    """
    data, description = write_survey(folder, n_rows, n_columns)
    command = [
        *(sys.executable, "-m", "tabsoda.cli.main", "impute", str(data)),
        *("--survey", str(description), "-o", str(folder / "imputed"), "--quality", quality),
        *("-m", str(draws), "--shard-rows", str(shard_rows), "--fit-rows", str(fit_rows)),
        *("--device", device, "--json"),
    ]
    if jobs > 1:
        command += ["--engine", "joblib", "--jobs", str(jobs)]
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    manifest = json.loads((folder / "imputed" / "manifest.json").read_text(encoding="utf-8"))
    counts = manifest["counts"]
    return {
        "rows": n_rows,
        "columns": n_columns,
        "missing_share": round(counts["missing"] / (counts["missing"] + counts["answered"]), 3),
        "quality": quality,
        "draws": draws,
        "shard_rows": shard_rows,
        "fit_rows": min(fit_rows, n_rows),
        "device": device,
        "jobs": jobs,
        "file_mb": round(data.stat().st_size / 1e6, 1),
        "imputed_cells": counts["imputed"],
        "steps": manifest["rounds"][0]["steps"],
        "training_seconds": round(manifest["rounds"][0]["training_seconds"], 1),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "peak_gb": round(used.ru_maxrss / 1e6, 3),
    }
