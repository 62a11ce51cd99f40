"""Take a file through the commands a new user runs, each in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MAX_ROWS = 2500
_STEP_LIMIT = 3600
_EXPORTS = {".sav": "spss", ".dta": "stata", ".xpt": "sas", ".csv": "csv"}


def commands(data: Path, folder: Path, sample: Path) -> list[tuple[str, list[str]]]:
    """Return the steps and their arguments.

    Parameters
    ----------
    data : Path
        The survey file.
    folder : Path
        Where the steps write.
    sample : Path
        What is imputed: the file itself, or a table of its first rows.
    """
    study, rules, result = folder / "study.toml", folder / "rules.toml", folder / "imputed"
    described = ["--survey", str(study)]
    program = _EXPORTS[data.suffix.lower()]
    draw = ["--quality", "fast", "-m", "2", "--seed", "1", "--accept-all"]
    return [
        ("inspect", ["inspect", str(data), "-o", str(study)]),
        ("mine", ["mine", str(data), *described, "-o", str(rules)]),
        ("check", ["check", str(data), str(rules), *described, "--json"]),
        (
            "impute",
            ["impute", str(sample), *described, "--rules", str(rules), *draw, "-o", str(result)],
        ),
        (
            "export",
            ["export", str(result), "--to", program, "-o", str(folder / "exported")],
        ),
    ]


def run_step(arguments: list[str]) -> dict[str, Any]:
    """Run one command; return its seconds, and its last words where it failed."""
    start, cpu_start = time.perf_counter(), _cpu_seconds()
    program = "from tabsoda.cli.main import main; main()"
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=_STEP_LIMIT,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"seconds": _STEP_LIMIT, "failed": f"no result after {_STEP_LIMIT} s"}
    result: dict[str, Any] = {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(_cpu_seconds() - cpu_start, 1),
    }
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        result["exit_code"] = done.returncode
        result["failed"] = " / ".join(lines[-4:])[:600]
    return result


def _cpu_seconds() -> float:
    """Return the processor time of all finished steps: a busy machine disturbs it little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_workflow(data: Path, folder: Path, sample: Path, steps: set[str]) -> dict[str, Any]:
    """Run the chosen steps until one fails."""
    results: dict[str, Any] = {}
    for name, arguments in commands(data, folder, sample):
        if name in steps:
            results[name] = run_step(arguments)
            if "failed" in results[name]:
                break
    return results
