"""Time and memory against rows and columns: adds to scaling.json, draws docs/tables/scaling.svg.

    OMP_NUM_THREADS=1 python benchmarks/scale/scaling.py [--minutes 15]

Points that are in scaling.json already are not measured again. Cheap points come first; what does
not fit in the minutes is left out, and listed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from measuring import measure
from scaling_plot import scaling_plot

HERE = Path(__file__).parent
RESULTS = HERE / "scaling.json"
PLOT = HERE.parents[1] / "docs" / "tables" / "scaling.svg"
ROWS, COLUMNS = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000), (20, 40, 80, 160, 220)
QUALITIES = ("fast", "balanced")
USUAL_ROWS, USUAL_COLUMNS = 4_000, 40


def wanted() -> list[tuple[int, int, str]]:
    """Return rows, columns and quality of all points, cheap ones first."""
    sizes = {(rows, USUAL_COLUMNS) for rows in ROWS} | {(USUAL_ROWS, c) for c in COLUMNS}
    points = [(*size, quality) for size in sizes for quality in QUALITIES]
    # Beyond a few steps for all, time goes with the cells of the fit; balanced takes three times.
    cost = {"fast": 1, "balanced": 3}
    return sorted(points, key=lambda p: (cost[p[2]] * (p[0] + 10_000) * (p[1] + 20), p))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=15)
    options = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    end = time.monotonic() + 60 * options.minutes
    for rows, columns, quality in wanted():
        if any((p["rows"], p["columns"], p["quality"]) == (rows, columns, quality) for p in found):
            continue
        if time.monotonic() > end:
            print(f"left out: {rows:,} rows, {columns} columns, {quality}")
            continue
        with tempfile.TemporaryDirectory() as place:
            found.append(measure(Path(place), rows, columns, quality))
        print(found[-1])
        found.sort(key=lambda p: (p["quality"], p["rows"], p["columns"]))
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    PLOT.write_text(scaling_plot(found), encoding="utf-8")


if __name__ == "__main__":
    main()
