"""Measure where the time of ``tabsoda impute`` goes, stage by stage, next to MICE in the same run.

    python benchmarks/engine/stages.py RESULT.json --surveys SURVEYS/ [--cases QUALITY:TABLE ...]
        [--version NAME]

Each case runs in a new process with one thread: the command from the file to the written result and
report, then the package's MICE on the same coded table. Seconds are those of CPU, so that other
work on the machine hardly counts. Only cases that the result file does not hold yet for this
version are run. ``--source`` names the ``src`` folder of another version.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

# Rows, columns and draws of generated surveys; None is the whole of a real one.
TABLES: dict[str, tuple[int, int, int] | None] = {
    "300 x 20": (300, 20, 5),
    "2,000 x 12": (2000, 12, 10),
    "4,000 x 40": (4000, 40, 20),
    "10,403 x 219": None,
    "100,000 x 60": (100_000, 60, 5),
    "1,000,000 x 40": (1_000_000, 40, 5),
}
SURVEY, SURVEY_DRAWS = "nsfg2006_2010_male", 20
CASES = [f"{quality}:{table}" for table in TABLES for quality in ("fast", "balanced")]
# MICE takes too long for the others.
WITH_PEER = ("300 x 20", "2,000 x 12", "4,000 x 40")
# Stages of the cost estimate by what a user would call them.
PARTS = {
    "read": ("reading",),
    "network": ("training",),
    "trees": ("trees",),
    "regressions": ("completing", "regressing"),
    "point estimates": ("answering",),
    "draws": ("drawing", "redrawing"),
    "report": ("reporting",),
    "write": ("writing",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--surveys", type=Path)
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="QUALITY:TABLE")
    parser.add_argument("--version", default="now")
    parser.add_argument("--source", type=Path, default=HERE.parents[2] / "src")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        quality, table = options.one.split(":")
        print(json.dumps(measure(quality, table, options.surveys)))
        return
    found: dict[str, dict[str, Any]] = {}
    if options.result.exists():
        found = json.loads(options.result.read_text(encoding="utf-8"))
    for case in options.cases:
        own = found.setdefault(case.replace(":", ", "), {})
        if options.version in own:
            continue
        command = [sys.executable, str(HERE), str(options.result), "--one", case]
        command += ["--surveys", str(options.surveys)] if options.surveys else []
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(options.source)}
        said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
        own[options.version] = json.loads(said.splitlines()[-1])
        print(case, own[options.version], flush=True)
        options.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measure(quality: str, name: str, surveys: Path | None) -> dict[str, Any]:
    """Run the command and the peer here; return CPU seconds and shares by part."""
    from cost_calibration import watch_stages

    with tempfile.TemporaryDirectory() as folder:
        inputs, n_draws = _inputs(name, folder, surveys)
        stages, started = watch_stages(), time.process_time()
        elapsed = time.perf_counter()
        given = [*inputs, "-m", str(n_draws), "--quality", quality, "-o", f"{folder}/out"]
        history = _impute(given)
        cpu, elapsed = time.process_time() - started, time.perf_counter() - elapsed
        stages["writing"] = cpu - sum(stages.values())
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        peer = _mice_seconds(name) if name in WITH_PEER else None
    parts = {part: sum(stages[stage] for stage in own) for part, own in PARTS.items()}
    steps = {
        key: [one[key] for one in history] for key in ("steps", "epochs", "best_epoch") if history
    }
    return {
        "draws": n_draws,
        "cpu_seconds": round(cpu, 2),
        "elapsed_seconds": round(elapsed, 2),
        "peak_mb": round(peak / 1e6),
        "seconds": {part: round(taken, 2) for part, taken in parts.items()},
        "shares": {part: round(taken / cpu, 3) for part, taken in parts.items()},
        "training": steps,
        "mice_seconds": None if peer is None else round(peer, 2),
        "over_mice": None if peer is None else round(cpu / peer, 2),
    }


def _inputs(name: str, folder: str, surveys: Path | None) -> tuple[list[str], int]:
    size = TABLES[name]
    if size is None:
        if surveys is None:
            raise SystemExit(f"{name} needs --surveys")
        survey = surveys / SURVEY
        given = [str(survey / "values.parquet"), "--survey", str(survey / "schema.json")]
        return [*given, "--skip-mask", str(survey / "skip.parquet")], SURVEY_DRAWS
    from tabsoda.datasets import make_survey

    n_rows, n_columns, n_draws = size
    make_survey(n_rows, n_columns=n_columns, seed=3).write(folder, ("parquet",))
    given = [f"{folder}/survey.parquet", "--survey", f"{folder}/survey.toml"]
    return [*given, "--skip-mask", f"{folder}/skip.parquet"], n_draws


def _impute(given: list[str]) -> list[dict[str, Any]]:
    """Run ``tabsoda impute``; return the history of the network's training."""
    from tabsoda.cli.main import main as command
    from tabsoda.engine.network.network import Network

    history: list[dict[str, Any]] = []
    inner = Network.fit.__func__  # type: ignore[attr-defined]

    def fit(cls: type, *arguments: Any, **options: Any) -> Any:
        network, own = inner(cls, *arguments, **options)
        history.extend(own)
        return network, own

    Network.fit = classmethod(fit)  # type: ignore[method-assign, assignment]
    shown, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        command(["impute", *given])
    finally:
        sys.stdout = shown
    return history


def _mice_seconds(name: str) -> float:
    """Return the CPU seconds of the package's MICE on the same answers, with its ten draws."""
    from tabsoda.bench.methods.contract import SkipView
    from tabsoda.bench.methods.registry import method
    from tabsoda.datasets import make_survey

    n_rows, n_columns, _ = TABLES[name] or (0, 0, 0)
    table = make_survey(n_rows, n_columns=n_columns, seed=3).true_table
    start = time.process_time()
    method("mice").impute(table, 1, SkipView.LEVEL)
    return time.process_time() - start


if __name__ == "__main__":
    main()
