"""Benchmark scripts fit the package: what they import exists, what they count is right."""

import ast
import importlib
import importlib.util
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.rglob("*.py"))
# Scripts for a machine that has torch, numpy, scipy and scikit-learn alone.
BARE = [*(BENCHMARKS / "engine").glob("gpu*.py"), BENCHMARKS / "imputation" / "run_packed.py"]
ABSENT = ("cyclopts", "polars", "pyarrow", "pydantic", "pyreadstat", "safetensors")


def imported_names(script):
    """Return module and name of everything of tabsoda that a script imports, in functions too."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tabsoda":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((a.name, None) for a in node.names if a.name.split(".")[0] == "tabsoda")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(BENCHMARKS)))
def test_what_a_script_imports_exists(script):
    for module, name in imported_names(script):
        found = importlib.import_module(module)
        if name is not None and not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")


def test_scripts_for_a_gpu_need_few_libraries():
    # In one process, because importing torch takes seconds.
    code = (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({ABSENT!r}))\n"
        f"sys.path.insert(0, {str(ROOT / 'src')!r})\n"
        f"for script in {[str(script) for script in BARE]!r}:\n"
        "    runpy.run_path(script, run_name='imported')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def counted(tmp_path):
    """Count the calls of a small package by the profile function of trace.py."""
    spec = importlib.util.spec_from_file_location("trace", BENCHMARKS / "engine" / "trace.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    (tmp_path / "package").mkdir()
    file = tmp_path / "package" / "work.py"
    file.write_text(
        "import threading\n"
        "class Worker:\n"
        "    def outer(self):\n"
        "        return [self.inner(n) for n in range(3)]\n"
        "    def inner(self, n):\n"
        "        return (lambda m: m + 1)(n)\n"
        "def in_thread():\n"
        "    deeper(2)\n"
        "def deeper(n):\n"
        "    return deeper(n - 1) if n else 0\n"
        "def run():\n"
        "    Worker().outer()\n"
        "    thread = threading.Thread(target=in_thread)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "def never():\n"
        "    pass\n",
        encoding="utf-8",
    )
    spec = importlib.util.spec_from_file_location("counted_work", file)
    module = importlib.util.module_from_spec(spec)
    counter = script.CallCounter(tmp_path)
    before = sys.getprofile()
    threading.setprofile(counter)
    sys.setprofile(counter)
    try:
        spec.loader.exec_module(module)
        module.run()
        sorted([3, 1, 2], key=lambda n: -n)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return counter


def test_a_trace_counts_functions_of_the_package_alone_in_all_threads(counted):
    names = {"Worker.outer", "Worker.inner", "in_thread", "deeper", "run"}
    assert counted.functions == {("package/work.py", name) for name in names}


def test_the_depth_of_a_trace_is_that_of_one_thread(counted):
    # in_thread and three calls of deeper; run, outer and inner are three.
    assert counted.depth == 4
