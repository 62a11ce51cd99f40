"""Run the quick study as a user would, and record how long it took.

    python benchmarks/imputation/quick_study.py SURVEYS/ quick_study.json

Two processes on two cores; the study should end within ten minutes.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tabsoda._internal.files import write_json

STUDY = Path(__file__).resolve().parents[1] / "studies" / "quick.toml"
LIMIT_SECONDS = 600


def main() -> None:
    surveys, target = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("tabsoda")), "evaluate", str(surveys)]
        command += ["--study", str(STUDY), "-o", folder, "--engine", "joblib"]
        started = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - started
        document = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
    write_json(
        target,
        {
            "study": STUDY.name,
            "wall_seconds": round(seconds, 1),
            "limit_seconds": LIMIT_SECONDS,
            "failures": len(document["failures"]),
            "method_seconds": {
                cell["settings"]["label"]: round(cell["seconds"], 1) for cell in document["cells"]
            },
        },
    )


if __name__ == "__main__":
    main()
