"""Run the tests of this folder without pytest: ``python tests/test_cuda/run_all.py``.

Prints a line for each; the exit code is the number of failures.
"""

import importlib
import itertools
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def calls(function: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of every case of a test."""
    marks = [m for m in getattr(function, "pytestmark", []) if m.name == "parametrize"]
    for values in itertools.product(*(mark.args[1] for mark in marks)):
        yield {mark.args[0]: value for mark, value in zip(marks, values, strict=True)}


def run(function: Callable[..., None], arguments: dict[str, Any]) -> bool:
    """Run one case; return whether it passed."""
    named = f"{function.__name__}[{'-'.join(map(str, arguments.values()))}]"
    started = time.perf_counter()
    try:
        function(**arguments)
    # Whatever a test raises is its failure, and the next one must still run.
    except Exception:
        sys.stdout.write(f"FAILED {named}\n{traceback.format_exc()}\n")
        return False
    sys.stdout.write(f"passed {named} in {time.perf_counter() - started:.1f} s\n")
    sys.stdout.flush()
    return True


def main() -> int:
    """Run every test of every file here."""
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]
    import torch

    if not torch.cuda.is_available():
        sys.stdout.write("There is no CUDA device.\n")
        return 1
    sys.stdout.write(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    failures = 0
    for path in sorted(HERE.glob("test_*.py"), reverse=True):
        module = importlib.import_module(path.stem)
        for name, function in vars(module).items():
            if name.startswith("test_"):
                failures += sum(not run(function, arguments) for arguments in calls(function))
    sys.stdout.write(f"{failures} failed\n")
    return min(failures, 125)


if __name__ == "__main__":
    sys.exit(main())
