"""What the process of its own costs when a good file is read, by format.

    python benchmarks/faults/reader_cost.py > benchmarks/faults/reader_cost.json

Seconds of processor time (user and system, children included), medians, with the reader in a
process of its own and in the same process.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from damaged_inputs import FORMATS, write_survey

from tabsoda.reading.files import read_file

_ROUNDS = 7


def main() -> None:
    """Measure, and print JSON."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for ending in FORMATS:
            if ending == "csv":
                continue
            path = write_survey(Path(place), ending, n_rows=5_000)
            seconds: dict[str, list[float]] = {"own": [], "same": []}
            # In turn, so that a busy machine slows both.
            for _ in range(_ROUNDS):
                seconds["own"].append(_seconds(path))
                sys.frozen = True  # type: ignore[attr-defined]
                seconds["same"].append(_seconds(path))
                del sys.frozen  # type: ignore[attr-defined]
            medians = {name: round(statistics.median(one), 3) for name, one in seconds.items()}
            found[f".{ending}"] = medians | {"added": round(medians["own"] - medians["same"], 3)}
    print(json.dumps({"rows": 5_000, "rounds": _ROUNDS, "seconds": found}, indent=1))


def _seconds(path: Path) -> float:
    before = os.times()
    read_file(path)
    return sum(os.times()[:4]) - sum(before[:4])


if __name__ == "__main__":
    main()
