"""Commands that are interrupted: killed, without disk or memory, by signals; then run again."""

from __future__ import annotations

import resource
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from outcomes import ORDERLY, Outcomes
from tries import SIGNALLED, Fault, attempt, moments
from workplace import BYTE_EQUAL, Workplace, answers, contents, is_whole, without_times

KINDS = ("kill", "full", "quota", "memory", "interrupt", "terminate")
# How a command may end: in order, with an error message, or by the signal itself.
_ENDS = {
    "kill": (SIGNALLED + signal.SIGKILL,),
    "full": (0, 2),
    "quota": (0, 2),
    "memory": (0, 1, 2),
    "interrupt": (0, 130),
    "terminate": (0, 128 + signal.SIGTERM),
}


def interrupted_imputations(work: Workplace, n_tries: int, seed: int) -> list[Outcomes]:
    """Interrupt ``impute`` at changes of files, and run it again.

    The second run must give the tables of an uninterrupted one, byte for byte, and leave no
    temporary files.
    """
    expected = answers(work.result)
    total = work.changes
    rng = np.random.default_rng(seed)
    groups = []
    for kind in KINDS:
        found = Outcomes(f"impute: {_WORDS[kind]}, then run again")
        for moment in rng.choice(total, size=min(n_tries, total), replace=False):
            what = f"impute, {kind} at change {moment} of {total}"
            fault = Fault(kind, int(moment), str(work.folder))
            _interrupt_and_resume(work, found, what, kind, expected, fault=fault)
        groups.append(found)
    return groups


def imputations_at_random_times(work: Workplace, n_tries: int, seed: int) -> Outcomes:
    """Kill ``impute`` with -9, SIGINT or SIGTERM at random times, and run it again."""
    expected = answers(work.result)
    rng = np.random.default_rng(seed)
    start = time.monotonic()
    attempt(work.impute("timed"))
    seconds = time.monotonic() - start
    work.remove("timed")
    found = Outcomes("impute: kill -9, SIGINT or SIGTERM at a random time, then run again")
    for number in range(n_tries):
        kind = ("kill", "interrupt", "terminate")[number % 3]
        which = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}.get(kind, signal.SIGTERM)
        moment = float(rng.uniform(0.05, 0.95)) * seconds
        what = f"impute, {kind} after {moment:.2f} s"
        _interrupt_and_resume(work, found, what, kind, expected, after=(moment, which))
    return found


def _interrupt_and_resume(
    work: Workplace,
    found: Outcomes,
    what: str,
    kind: str,
    expected: dict[str, str],
    fault: Fault | None = None,
    after: tuple[float, int] | None = None,
) -> None:
    out = work.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    code, text = attempt(work.impute("out"), fault=fault, after=after)
    # A signal before Python has taken it over ends the process; one after the end finds nobody.
    ends = (0, *_ENDS[kind]) if fault is not None else (0, *_ENDS[kind], *_SIGNALS)
    is_orderly = code in ends and "Traceback" not in text
    found.expect(is_orderly, f"{what}: ended with {code}\n{text}")
    if (out / "manifest.json").exists():
        code, text = attempt(is_whole(out))
        found.expect(code == 0, f"{what}: has a manifest and cannot be read\n{text}")
        (out / "manifest.json").unlink()
        shutil.rmtree(out)
    code, text = attempt(work.impute("out"))
    found.expect(code == 0, f"{what}: run again, ended with {code}\n{text}")
    found.expect(answers(out) == expected, f"{what}: run again, the tables differ")
    hidden = [*work.leftovers(), *(path.name for path in out.glob(".*"))]
    found.expect(not hidden, f"{what}: left {hidden}")


_SIGNALS = tuple(SIGNALLED + number for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
_WORDS = {
    "kill": "kill -9",
    "full": "no space on the disk",
    "quota": "the disk quota is exceeded",
    "memory": "no memory",
    "interrupt": "SIGINT",
    "terminate": "SIGTERM",
}


def interrupted_files(
    work: Workplace, n_tries: int, seed: int, kinds: tuple[str, ...] = KINDS
) -> list[Outcomes]:
    """Interrupt ``mine`` and the review's save: the file is the old or the new one."""
    groups = []
    rng = np.random.default_rng(seed)
    before = (work.folder / "rules.toml").read_text(encoding="utf-8")
    cases: dict[str, Callable[[], None]] = {
        "mine": work.mine("mined.toml"),
        "review": work.decide("mined.toml"),
    }
    for name, action in cases.items():
        found = Outcomes(
            f"{name}: kill -9, no space, no quota, no memory or a signal while it saves"
        )
        target = work.folder / "mined.toml"
        target.write_text(before, encoding="utf-8")
        total = moments(action, work.folder)
        after = without_times(target.read_text(encoding="utf-8"))
        for kind in kinds:
            for moment in rng.permutation(total)[:n_tries]:
                target.write_text(before, encoding="utf-8")
                fault = Fault(kind, int(moment), str(work.folder))
                code, text = attempt(action, fault=fault)
                what = f"{name}, {kind} at change {moment} of {total}"
                is_known = code in (0, 1, *_ENDS[kind], *_SIGNALS)
                found.expect(is_known, f"{what}: ended with {code}\n{text}")
                left = without_times(target.read_text(encoding="utf-8"))
                found.expect(left in (without_times(before), after), f"{what}: half-written")
                target.write_text(before, encoding="utf-8")
                attempt(action)
                left = without_times(target.read_text(encoding="utf-8"))
                found.expect(left == after, f"{what}: run again, the file differs")
                found.expect(not work.leftovers(), f"{what}: left {work.leftovers()}")
        groups.append(found)
    work.remove("mined.toml")
    return groups


def interrupted_exports(
    work: Workplace,
    n_tries: int,
    seed: int,
    targets: tuple[str, ...],
    kinds: tuple[str, ...] = KINDS,
) -> Outcomes:
    """Interrupt ``export``: a folder with a record is complete; a second run completes it."""
    found = Outcomes("export: kill -9, no space, no quota, no memory or a signal, then run again")
    rng = np.random.default_rng(seed)
    out = work.folder / "exported"
    for to in targets:
        action = work.export(to, "exported")
        total = moments(action, work.folder)
        expected = contents(out)
        for kind in kinds:
            for moment in rng.permutation(total)[:n_tries]:
                work.remove("exported")
                what = f"export to {to}, {kind} at change {moment} of {total}"
                fault = Fault(kind, int(moment), str(work.folder))
                code, text = attempt(action, fault=fault)
                is_orderly = code in (0, *_ENDS[kind]) and "Traceback" not in text
                found.expect(is_orderly, f"{what}: ended with {code}\n{text}")
                code, text = attempt(action)
                # It may have been complete, and interrupted afterwards.
                is_done = code == 0 or "already contains an export" in text
                found.expect(is_done, f"{what}: run again, ended with {code}\n{text}")
                same = (
                    contents(out) == expected
                    if to in BYTE_EQUAL
                    else set(contents(out)) == set(expected)
                )
                found.expect(same, f"{what}: run again, the files differ")
                found.expect(not work.leftovers(), f"{what}: left {work.leftovers()}")
        work.remove("exported")
    return found


def limited(work: Workplace, seed: int) -> list[Outcomes]:
    """Run commands under the system's own limits on file sizes and memory."""
    expected = answers(work.result)
    sizes = Outcomes("impute and export with a limit on the size of files (RLIMIT_FSIZE)")
    rng = np.random.default_rng(seed)
    for limit in rng.integers(0, 40_000, 6):
        for name, action in (("impute", work.impute("out")), ("export", work.export("csv", "e"))):
            for place in ("out", "e"):
                work.remove(place)
            code, text = attempt(action, limits={resource.RLIMIT_FSIZE: int(limit)})
            is_orderly = code in ORDERLY and "Traceback" not in text
            sizes.expect(is_orderly, f"{name}, {limit} bytes: ended with {code}\n{text}")
            is_done = (work.folder / "out" / "manifest.json").exists()
            sizes.expect(is_done == (code == 0 and name == "impute"), f"{name}: half-written")
    code, text = attempt(work.impute("out"))
    sizes.expect(code == 0 and answers(work.folder / "out") == expected, f"run again: {text}")
    memory = Outcomes("impute with a limit on memory (RLIMIT_AS)")
    used = _virtual_memory()
    for extra in (20, 60, 120, 250, 500, 900):
        work.remove("out")
        limits = {resource.RLIMIT_AS: used + extra * 2**20}
        code, text = attempt(work.impute("out"), limits=limits)
        # A library may end the process when it gets no memory; the next run must be right.
        memory.expect(code != SIGNALLED + signal.SIGALRM, f"{extra} MiB more: it hangs")
        is_done = (work.folder / "out" / "manifest.json").exists()
        memory.expect(is_done == (code == 0), f"{extra} MiB more: half-written, {code}\n{text}")
        if code != 0:
            code, text = attempt(work.impute("out"))
        is_same = code == 0 and answers(work.folder / "out") == expected
        memory.expect(is_same, f"{extra} MiB more, run again: {code}\n{text}")
    for place in ("out", "e"):
        work.remove(place)
    return [sizes, memory]


def _virtual_memory() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()
