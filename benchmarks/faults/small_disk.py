"""Disks that are too small, have too few files, or are mounted read-only.

Run as a script, it mounts small disks in memory in a namespace of its own, which vanishes with
the process, and writes its counts to a file. That needs the rights of root.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from outcomes import Outcomes
from tries import attempt, load_libraries
from workplace import Workplace, answers, contents, without_times

_GROUP = "a small disk (tmpfs): no space, no more files, read-only; then room, and run again"
_APART = ("unshare", "--mount", "--propagation", "private")
# Limits under which commands fail at different files; a finished result needs about 400 KiB.
_LIMITS = (
    *("size=4k", "size=16k", "size=40k", "size=80k", "size=160k", "size=320k"),
    *("nr_inodes=3", "nr_inodes=8", "nr_inodes=14"),
)


def small_disk() -> Outcomes:
    """Run commands on small disks: an error message, nothing half-written; with room, they end."""
    if not _can_mount():
        note = "not tried: this user may not mount a disk; see the limits on the size of files"
        return Outcomes(_GROUP, notes=[note])
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "found.json"
        done = subprocess.run(
            [*_APART, sys.executable, __file__, place, file], capture_output=True, text=True
        )
        if done.returncode != 0:
            return Outcomes(_GROUP, 1, [f"the process ended with {done.returncode}\n{done.stderr}"])
        found = json.loads(file.read_text(encoding="utf-8"))
    return Outcomes(found["group"], found["tries"], found["failures"], found["notes"])


def _can_mount() -> bool:
    with tempfile.TemporaryDirectory() as place:
        mount = ("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place)
        try:
            return subprocess.run([*_APART, *mount], capture_output=True).returncode == 0
        except OSError:
            return False


def _mount(options: str, place: Path) -> None:
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"{options},mode=700", "tmpfs", place], check=True
    )


def _remount(options: str, place: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)


@dataclass(frozen=True)
class _Use:
    """A command that writes into a folder of the workplace.

    Attributes
    ----------
    on : callable
        The action, given the folder's name.
    last : str
        The file that it writes last.
    content : callable
        What it wrote, given the folder.
    """

    on: Callable[[str], Callable[[], None]]
    last: str
    content: Callable[[Path], object]


def _uses(work: Workplace) -> dict[str, _Use]:
    def rules(folder: Path) -> str:
        return without_times((folder / "new.toml").read_text(encoding="utf-8"))

    return {
        "mine": _Use(lambda place: work.mine(f"{place}/new.toml"), "new.toml", rules),
        "impute": _Use(
            lambda place: work.impute(f"{place}/out"),
            "out/manifest.json",
            lambda folder: answers(folder / "out"),
        ),
        "export": _Use(
            lambda place: work.export("csv", f"{place}/e"),
            "e/export.json",
            lambda folder: contents(folder / "e"),
        ),
    }


def _try_all(work: Workplace) -> Outcomes:
    found = Outcomes(_GROUP)
    large, small = work.folder / "large", work.folder / "small"
    for place in (large, small):
        place.mkdir()
    for name, use in _uses(work).items():
        attempt(use.on("large"))
        for limit in (*_LIMITS, "ro"):
            _mount(limit, small)
            what = f"{name}, {limit}"
            code, text = attempt(use.on("small"))
            is_orderly = code in (0, 2) and "Traceback" not in text
            found.expect(is_orderly, f"{what}: ended with {code}\n{text}")
            is_done = (small / use.last).exists()
            found.expect(is_done == (code == 0), f"{what}: half-written, {code}\n{text}")
            if code != 0:
                _remount("rw,size=64m,nr_inodes=10000", small)
                code, text = attempt(use.on("small"))
                found.expect(code == 0, f"{what}: with room, ended with {code}\n{text}")
            is_same = code == 0 and use.content(small) == use.content(large)
            found.expect(is_same, f"{what}: the files differ")
            hidden = [path.name for path in (*small.glob(".*"), *(small / "out").glob(".*"))]
            found.expect(not hidden, f"{what}: left {hidden}")
            subprocess.run(["umount", small], check=True)
    return found


def _main(folder: str, file: str) -> None:
    load_libraries()
    found = _try_all(Workplace(Path(folder)))
    Path(file).write_text(json.dumps(found.to_dict()), encoding="utf-8")


if __name__ == "__main__":
    _main(*sys.argv[1:])
