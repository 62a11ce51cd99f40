"""Folders and files without permission to write, for a user who is not root."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from outcomes import Outcomes, quiet_environment
from workplace import Workplace, answers

# The user "nobody". It may read everything, because Python may lie in a folder of root.
_NOBODY = 65534
_AS_NOBODY = (
    *("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"),
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
)


def read_only_folders(work: Workplace) -> Outcomes:
    """Run commands that may not write: an error message, exit code 2, and nothing changed.

    Root may write everywhere, so that root runs them as another user.
    """
    found = Outcomes("read-only folders and files, as a user who is not root")
    is_root = os.geteuid() == 0
    if is_root and not _can_change_users():
        found.notes.append("not tried: root may write everywhere, and setpriv is not here")
        return found
    # Beside the workplace, which only its owner may enter.
    place = work.folder / "closed"
    place.mkdir()
    for name in ("survey.csv", "survey.toml", "rules.toml"):
        shutil.copy(work.folder / name, place / name)
    rules = (place / "rules.toml").read_text(encoding="utf-8")
    proposed = rules.replace('status = "approved"', 'status = "proposed"')
    (place / "proposed.toml").write_text(proposed, encoding="utf-8")
    shutil.copytree(work.result, place / "result")
    _change_owner(place, is_root)
    before = answers(place / "result"), sorted(place.rglob("*"))
    try:
        for words, codes in _cases(place, work.folder / "elsewhere"):
            done = subprocess.run(
                [
                    *(_AS_NOBODY if is_root else ()),
                    sys.executable,
                    "-m",
                    "tabsoda.cli.main",
                    *words,
                ],
                env=quiet_environment(HOME=str(place)),
                cwd=place,
                capture_output=True,
                timeout=240,
            )
            text = done.stderr.decode("utf-8", "replace")
            what = f"{' '.join(words[:4])}: ended with {done.returncode}\n{text}"
            found.expect(done.returncode in codes and "Traceback" not in text, what)
            after = answers(place / "result"), sorted(place.rglob("*"))
            found.expect(before == after, f"{' '.join(words[:4])}: changed a read-only folder")
    finally:
        _make_writable(place)
        shutil.rmtree(place)
    return found


def _cases(place: Path, elsewhere: Path) -> list[tuple[list[str], tuple[int, ...]]]:
    """Return commands that write into the folder, and some that only read, with exit codes."""
    data = ["survey.csv", "--survey", "survey.toml"]
    tiny = ["--quality", "tiny", "-m", "1", "--device", "cpu"]
    return [
        (["inspect", "survey.csv", "-o", "new.toml"], (2,)),
        (["mine", *data, "-o", "new.toml"], (2,)),
        (["mine", *data, "-o", "rules.toml", "--force"], (2,)),
        (["review", "proposed.toml", "--accept-all"], (2,)),
        (["impute", *data, "--rules", "rules.toml", "-o", "out", *tiny], (2,)),
        (["impute", *data, "--rules", "rules.toml", "-o", "result", "--force", *tiny], (2,)),
        (["report", "result", "--force"], (2,)),
        (["export", "result", "--to", "stata", "-o", "exported"], (2,)),
        (["export", "result", "--to", "csv", "-o", "result", "--force"], (2,)),
        (["sensitivity", "result", "--mean", "AGE", "--shift", "AGE=-1..1"], (0, 2)),
        (["pool", "result", "--mean", "AGE"], (0,)),
        (["check", "survey.csv", "rules.toml", "--survey", "survey.toml"], (0, 1)),
        (["mine", *data, "-o", str(elsewhere / "new.toml")], (2,)),
    ]


def _can_change_users() -> bool:
    try:
        done = subprocess.run([*_AS_NOBODY, sys.executable, "-c", ""], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


def _change_owner(place: Path, is_root: bool) -> None:
    """Let the user own everything, and take away the permission to write."""
    for path in (*place.rglob("*"), place):
        if is_root:
            os.chown(path, _NOBODY, _NOBODY)
        path.chmod(0o500 if path.is_dir() else 0o400)


def _make_writable(place: Path) -> None:
    for path in (place, *place.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IRWXU)
