"""One million rows: imputed in shards within 8 GB? Writes results.json next to this file.

OMP_NUM_THREADS=1 python benchmarks/scale/million.py [--rows 1000000] [--limit-gb 8]

`--device cuda --jobs 12` uses a GPU and several processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from measuring import measure

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--quality", default="fast")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--shard-rows", type=int, default=50_000)
    parser.add_argument("--fit-rows", type=int, default=100_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
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
            options.device,
            options.jobs,
        )
    found["limit_gb"] = options.limit_gb
    options.output.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))
    if found["peak_gb"] > options.limit_gb:
        sys.exit("more memory than the limit")


if __name__ == "__main__":
    main()
