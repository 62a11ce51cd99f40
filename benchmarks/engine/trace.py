"""Count the functions and files of tabsoda that one ``tabsoda impute`` call touches.

    python benchmarks/engine/trace.py benchmarks/engine/trace.json [--source SRC]

A generated survey of 300 x 12, rules mined before, quality "fast", two draws; once without and once
with the report, each in a new process. Counted are functions and methods written with ``def``, in
all threads of that process, those called while a module is imported among them; comprehensions and
lambdas are not. Depth is the largest number of them that are open at a time. ``--source`` names the
``src`` folder of another version. Prints the files by package, with the functions of each.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).resolve()
ROWS, COLUMNS, DRAWS, QUALITY = 300, 12, 2, "fast"
REPORT = {"without_report": "--no-report", "with_report": "--report"}


class CallCounter:
    """A profile function that collects the functions of a package that are called.

    Parameters
    ----------
    root : Path
        The folder of the package.

    Attributes
    ----------
    functions : set of (str, str)
        File, relative to the folder, and qualified name.
    depth : int
        The most of them open at a time in one thread.
    """

    def __init__(self, root: Path) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.depth = 0
        self._root = f"{root}{os.sep}"
        self._names: dict[CodeType, tuple[str, str] | None] = {}
        self._thread = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call or a return."""
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code not in self._names:
            self._names[code] = self._name(code)
        name = self._names[code]
        if name is None:
            return
        depth = getattr(self._thread, "depth", 0) + (1 if event == "call" else -1)
        self._thread.depth = depth
        self.depth = max(self.depth, depth)
        self.functions.add(name)

    def _name(self, code: CodeType) -> tuple[str, str] | None:
        # Bodies of modules and classes are not optimised as functions are.
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        file = code.co_filename
        # Templates of the report are compiled to functions too.
        if not (is_function and file.startswith(self._root) and file.endswith(".py")):
            return None
        return file.removeprefix(self._root), code.co_qualname


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--source", type=Path, default=HERE.parents[2] / "src")
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "LABEL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(trace(Path(options.one[0]), options.one[1])))
        return
    source = options.source.resolve()
    content: dict[str, Any] = {
        "survey": f"{ROWS} x {COLUMNS}",
        "draws": DRAWS,
        "quality": QUALITY,
    }
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place), source)
        for label in REPORT:
            said = run([str(HERE), "-", "--one", place, label], source)
            content[label] = json.loads(said.splitlines()[-1])
            show(label, content[label])
    options.result.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def prepare(folder: Path, source: Path) -> None:
    """Write a survey and its mined rules."""
    making = (
        "from tabsoda.datasets import make_survey;"
        f"make_survey({ROWS}, n_columns={COLUMNS}, seed=1).write({str(folder)!r}, ('parquet',))"
    )
    run(["-c", making], source)
    given = [f"{folder}/survey.parquet", "--survey", f"{folder}/survey.toml"]
    run(["-m", "tabsoda.cli.main", "mine", *given, "-o", f"{folder}/rules.toml"], source)


def run(arguments: list[str], source: Path) -> str:
    """Run Python with a version of tabsoda; return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def trace(folder: Path, label: str) -> dict[str, Any]:
    """Run the command in this process; return what it touched."""
    import tabsoda
    from tabsoda.cli.main import main as command

    given = [f"{folder}/survey.parquet", "--survey", f"{folder}/survey.toml"]
    given += ["--rules", f"{folder}/rules.toml", "--accept-all", "--quality", QUALITY]
    given += ["-m", str(DRAWS), "-o", f"{folder}/{label}", REPORT[label]]
    counter = CallCounter(Path(tabsoda.__file__).parent)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        threading.setprofile(counter)
        sys.setprofile(counter)
        try:
            command(["impute", *given])
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    by_file = Counter(file for file, _ in counter.functions)
    return {
        "functions": len(counter.functions),
        "files": len(by_file),
        "packages": len({package_of(file) for file in by_file}),
        "top_level_names": len({Path(file).parts[0] for file in by_file}),
        "depth": counter.depth,
        "functions_by_file": dict(sorted(by_file.items())),
    }


def package_of(file: str) -> str:
    """Return the package of a file.

    Examples
    --------
    >>> package_of("engine/trees/fit.py"), package_of("survey.py")
    ('tabsoda.engine.trees', 'tabsoda')
    """
    return ".".join(("tabsoda", *Path(file).parent.parts))


def show(label: str, found: dict[str, Any]) -> None:
    """Print the counts, and the files by package."""
    print(
        f"{label}: {found['functions']} functions in {found['files']} files of {found['packages']}"
        f" packages ({found['top_level_names']} top-level packages and modules),"
        f" depth {found['depth']}"
    )
    packages: dict[str, dict[str, int]] = {}
    for file, count in found["functions_by_file"].items():
        packages.setdefault(package_of(file), {})[Path(file).name] = count
    for package, files in sorted(packages.items(), key=lambda one: -sum(one[1].values())):
        print(f"  {package}: {sum(files.values())} functions in {len(files)} files")
        print("    " + ", ".join(f"{name} {count}" for name, count in files.items()))


if __name__ == "__main__":
    main()
