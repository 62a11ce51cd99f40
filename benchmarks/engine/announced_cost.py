"""Compare the time and memory that ``tabsoda impute`` announces with what it takes.

    python benchmarks/engine/announced_cost.py RESULT.json [--surveys SURVEYS/]

Generated surveys, and with ``--surveys`` one of 10,403 x 219 with 20 draws, each in one thread.
Seconds are those of CPU, without loading libraries and reading the file, so that they hold on a
machine that is busy with other things; memory is the peak of resident memory. Only cases that the
result file does not hold yet are run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tabsoda.datasets import make_survey

SURVEY = "nsfg2006_2010_male"
# Quality, rows, columns, draws; sizes other than those of the calibration but one.
CASES = [
    ("balanced", 300, 20, 5),
    ("fast", 2000, 12, 10),
    ("balanced", 2500, 30, 10),
    ("balanced", 4000, 40, 20),
    ("fast", 10_000, 60, 5),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--surveys", type=Path)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    if options.result.exists():
        found = json.loads(options.result.read_text(encoding="utf-8"))
    done = [run["case"] for run in found]
    for quality, n_rows, n_columns, n_draws in CASES:
        case = f"{quality}, {n_rows:,} x {n_columns}, {n_draws} draws"
        if case in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            make_survey(n_rows, n_columns=n_columns, seed=2).write(folder, ("parquet",))
            inputs = [f"{folder}/survey.parquet", "--survey", f"{folder}/survey.toml"]
            inputs += ["--skip-mask", f"{folder}/skip.parquet"]
            found.append({"case": case, **compare(inputs, quality, n_draws)})
        save(options.result, found)
    case = "balanced, 10,403 x 219, 20 draws"
    if options.surveys is not None and case not in done:
        survey = options.surveys / SURVEY
        inputs = [str(survey / "values.parquet"), "--survey", str(survey / "schema.json")]
        inputs += ["--skip-mask", str(survey / "skip.parquet")]
        found.append({"case": case, **compare(inputs, "balanced", 20)})
        save(options.result, found)


def save(result: Path, found: list[dict[str, Any]]) -> None:
    """Write what was found so far."""
    print(found[-1], flush=True)
    result.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def compare(inputs: list[str], quality: str, n_draws: int) -> dict[str, Any]:
    """Ask for the announcement, then run."""
    options = [*inputs, "--quality", quality, "-m", str(n_draws), "--json"]
    text, loading, _ = run([*options, "--dry-run"])
    announced = json.loads(text)
    with tempfile.TemporaryDirectory() as folder:
        _, cpu, peak = run([*options, "-o", f"{folder}/out"])
    seconds = cpu - loading
    return {
        "announced_seconds": announced["seconds"],
        "taken_seconds": round(seconds, 1),
        "seconds_ratio": round(announced["seconds"] / seconds, 2),
        "announced_mb": round(announced["memory_bytes"] / 1e6),
        "taken_mb": round(peak / 1e6),
        "memory_ratio": round(announced["memory_bytes"] / peak, 2),
    }


def run(options: list[str]) -> tuple[str, float, int]:
    """Run the command with one thread; return its output, CPU seconds and peak bytes."""
    command = [sys.executable, "-m", "tabsoda.cli.main", "impute", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as shown:
        process = subprocess.Popen(command, env=environment, stdout=shown)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        shown.seek(0)
        unit = 1 if sys.platform == "darwin" else 1024
        return shown.read(), used.ru_utime + used.ru_stime, used.ru_maxrss * unit


if __name__ == "__main__":
    main()
