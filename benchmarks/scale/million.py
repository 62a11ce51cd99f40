"""One million rows: imputed in shards within 8 GB? Writes results.json beside this file.

python benchmarks/scale/million.py [--rows 1000000] [--columns 40] [--limit-gb 8]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate import write_survey

HERE = Path(__file__).parent


def measure(
    folder: Path,
    n_rows: int,
    n_columns: int,
    quality: str = "fast",
    draws: int = 1,
    shard_rows: int = 50_000,
    fit_rows: int = 100_000,
) -> dict[str, float | int | str]:
    """Impute a generated survey in a process of its own; return its seconds and peak memory."""
    data, description = write_survey(folder, n_rows, n_columns)
    command = [
        *(sys.executable, "-m", "tabsoda.cli.main", "impute", str(data)),
        *("--survey", str(description), "-o", str(folder / "imputed"), "--quality", quality),
        *("-m", str(draws), "--shard-rows", str(shard_rows), "--fit-rows", str(fit_rows)),
        "--json",
    ]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    # Of the largest child so far, in kB; there is only this one.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    manifest = json.loads(done.stdout)
    counts = manifest["counts"]
    return {
        "rows": n_rows,
        "columns": n_columns,
        "missing_share": round(counts["missing"] / (counts["missing"] + counts["answered"]), 3),
        "quality": quality,
        "draws": draws,
        "shard_rows": shard_rows,
        "fit_rows": min(fit_rows, n_rows),
        "file_mb": round(data.stat().st_size / 1e6, 1),
        "imputed_cells": counts["imputed"],
        "training_seconds": round(manifest["rounds"][0]["training_seconds"], 1),
        "seconds": round(seconds, 1),
        "peak_gb": round(peak / 1e6, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--quality", default="fast")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--shard-rows", type=int, default=50_000)
    parser.add_argument("--fit-rows", type=int, default=100_000)
    parser.add_argument("--limit-gb", type=float, default=8.0)
    parser.add_argument("--output", type=Path, default=HERE / "results.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = measure(
            Path(place),
            options.rows,
            options.columns,
            options.quality,
            options.draws,
            options.shard_rows,
            options.fit_rows,
        )
    found["limit_gb"] = options.limit_gb
    options.output.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))
    if found["peak_gb"] > options.limit_gb:
        sys.exit("more memory than the limit")


if __name__ == "__main__":
    main()
