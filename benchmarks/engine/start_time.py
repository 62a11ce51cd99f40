"""Measure the CPU seconds of ``import tabsoda`` and of ``--help`` of every command.

    python benchmarks/engine/start_time.py benchmarks/engine/start_time.json [--source SRC]

Medians of three new processes each, with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

REPEATS = 3
SOURCE = Path(__file__).resolve().parents[2] / "src"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--source", type=Path, default=SOURCE)
    options = parser.parse_args()
    found = {
        "python": cpu_seconds(["-c", "pass"], options.source)[0],
        "import tabsoda": cpu_seconds(["-c", "import tabsoda"], options.source)[0],
    }
    command = ["-m", "tabsoda.cli.main"]
    found["tabsoda --help"], shown = cpu_seconds([*command, "--help"], options.source)
    for name in re.findall(r"^│ (\w+) ", shown, flags=re.MULTILINE):
        found[f"tabsoda {name} --help"] = cpu_seconds([*command, name, "--help"], options.source)[0]
    options.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def cpu_seconds(arguments: list[str], source: Path) -> tuple[float, str]:
    """Return the median CPU seconds of a Python process, and what it printed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(source)}
    taken, shown = [], ""
    for _ in range(REPEATS):
        before = os.times()
        done = subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        after = os.times()
        taken.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
        shown = done.stdout
    return round(statistics.median(taken), 2), shown


if __name__ == "__main__":
    main()
