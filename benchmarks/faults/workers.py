"""Workers that die: under joblib, and under Ray where it is installed."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from outcomes import Outcomes
from tries import attempt, command
from workplace import Workplace, answers

KILLED = "A WORKER WAS KILLED"


def dies_once(mark: str, number: int) -> int:
    """Kill this process unless it has been killed before; else return the square."""
    path = Path(f"{mark}-{number}")
    if number % 2 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def dies_always(number: int) -> int:
    """Kill this process for one number; else return the square."""
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def worker_deaths(work: Workplace, n_tries: int) -> list[Outcomes]:
    """Let workers die: tasks are repeated, a task that always dies is named, results are equal."""
    groups = []
    for engine in ("joblib", "ray"):
        found = Outcomes(f"workers that die, {engine}")
        if engine == "ray" and importlib.util.find_spec("ray") is None:
            found.notes.append("not tried: Ray is not installed")
        else:
            code, text = attempt(lambda: _tasks(work.folder, engine), timeout=240)  # noqa: B023
            found.expect(code == 0, f"{engine}, tasks: ended with {code}\n{text}")
            _shards(work, found, engine, n_tries)
        groups.append(found)
    return groups


def _tasks(folder: Path, engine: str) -> int:
    from tabsoda._internal.parallel import WorkerLost, run_tasks

    # Workers must find this module.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        (str(Path(__file__).parent), *filter(None, sys.path))
    )
    mark = str(folder / "mark")
    tasks = [(mark, number) for number in range(4)]
    if sorted(run_tasks(dies_once, tasks, engine, 2)) != [(k, k * k) for k in range(4)]:
        return 3
    for path in folder.glob("mark-*"):
        path.unlink()
    found = dict(run_tasks(dies_always, [(number,) for number in range(4)], engine, 2))
    lost = isinstance(found.pop(2), WorkerLost)
    return 0 if lost and found == {0: 0, 1: 1, 3: 9} else 4


def _shards(work: Workplace, found: Outcomes, engine: str, n_tries: int) -> None:
    """Impute in shards, and kill a worker while they run."""
    data = work.folder / "survey.parquet"
    attempt(lambda: _to_parquet(work.folder / "survey.csv", data))
    options = ("--quality", "tiny", "-m", "1", "--shard-rows", "40", "--jobs", "2")

    def run(out: str, where: str, kill_after: float | None = None) -> tuple[int, str]:
        action = command(
            *("impute", data, "-o", work.folder / out, "--engine", where, "--device", "cpu"),
            *("--survey", work.folder / "survey.toml", *options),
        )
        if kill_after is None:
            return attempt(action, timeout=240)
        return attempt(lambda: _with_a_murder(action, kill_after), timeout=240)

    code, text = run("local", "local")
    found.expect(code == 0, f"shards without faults: ended with {code}\n{text}")
    expected = answers(work.folder / "local")
    for number in range(n_tries):
        work.remove("out")
        code, text = run("out", engine, kill_after=0.3 * number)
        what = f"{engine}, a worker killed, try {number}"
        found.expect(KILLED in text, f"{what}: no worker was found to be killed\n{text}")
        found.expect(code == 0, f"{what}: ended with {code}\n{text}")
        found.expect(answers(work.folder / "out") == expected, f"{what}: the tables differ")
    for place in ("out", "local", "survey.parquet"):
        work.remove(place)


def _to_parquet(source: Path, target: Path) -> None:
    import polars as pl

    pl.read_csv(source, infer_schema_length=None).write_parquet(target)


def _with_a_murder(action: Callable[[], None], seconds: float) -> None:
    """Run an action, and kill one of its workers some seconds after the first has started."""
    is_over = threading.Event()

    def kill_one() -> None:
        while not is_over.is_set() and not _workers():
            time.sleep(0.02)
        time.sleep(seconds)
        if workers := _workers():
            os.kill(workers[-1], signal.SIGKILL)
            print(KILLED, flush=True)

    threading.Thread(target=kill_one, daemon=True).start()
    try:
        action()
    finally:
        is_over.set()


def _workers() -> list[int]:
    return [pid for pid in _children(os.getpid()) if _is_worker(pid)]


def _children(parent: int) -> list[int]:
    """Return the processes started by a process, directly or not."""
    try:
        names = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    direct = [int(name) for name in names]
    return direct + [pid for one in direct for pid in _children(one)]


def _is_worker(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    # Ray names its workers after their task; its agents have such names too.
    ray_worker = line.startswith((b"ray::IDLE", b"ray::impute_shard"))
    return b"LokyProcess" in line or b"popen_loky" in line or ray_worker
