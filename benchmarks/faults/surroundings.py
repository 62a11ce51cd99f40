"""Unusual surroundings: locale, folders, closed outputs, clocks that jump, very wide tables."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from outcomes import Outcomes, quiet_environment
from tries import attempt, command
from workplace import Workplace, answers

# What is done, the line for the shell, changes of the environment, exit codes.
Case = tuple[str, str, dict[str, str | None], tuple[int, ...]]


def shell_surroundings(work: Workplace) -> Outcomes:
    """Start commands as a shell does, without what they may expect."""
    found = Outcomes("LC_ALL=C, no HOME, no TMPDIR, closed, broken or full outputs")
    tabsoda, data = f"'{sys.executable}' -m tabsoda.cli.main", work.folder / "survey.csv"
    inspect = f"{tabsoda} inspect '{data}'"
    mine = f"{tabsoda} mine '{data}' --force"
    bare = {"HOME": None, "TMPDIR": None, "LANG": None, "LC_ALL": "C", "USER": None}
    cases: list[Case] = [
        ("LC_ALL=C", inspect, {"LC_ALL": "C", "LANG": None}, (0,)),
        ("ASCII output", inspect, {"PYTHONIOENCODING": "ascii"}, (0,)),
        ("no HOME, TMPDIR, LANG, USER", inspect, bare, (0,)),
        ("TMPDIR is not there", inspect, {"TMPDIR": "/not/there"}, (0,)),
        ("| head -1", f"{inspect} | head -1; exit ${{PIPESTATUS[0]}}", {}, (0,)),
        ("| true", f"{inspect} | true; exit ${{PIPESTATUS[0]}}", {}, (0,)),
        ("stdout closed", f"{inspect} >&-", {}, (0, 2)),
        ("stderr closed", f"{inspect} 2>&-", {}, (0,)),
        ("all closed", f"{inspect} <&- >&- 2>&-", {}, (0, 2)),
        ("stdout full", f"{inspect} > /dev/full", {}, (0, 1, 2)),
        ("mine into /proc", f"{mine} -o /proc/rules.toml", {}, (2,)),
        ("mine into /dev/full", f"{mine} -o /dev/full/rules.toml", {}, (2,)),
        ("mine, LC_ALL=C, name with accents", f"{mine} -o '{work.folder}/rëgeln.toml'", bare, (0,)),
    ]
    cases += _output_cases(tabsoda, work)
    for what, line, changes, codes in cases:
        done = subprocess.run(
            ["bash", "-c", line],
            env=quiet_environment(**changes),
            cwd=work.folder,
            capture_output=True,
            timeout=120,
        )
        text = done.stderr.decode("utf-8", "replace")
        is_orderly = done.returncode in codes and "Traceback" not in text
        found.expect(is_orderly, f"{what}: ended with {done.returncode}\n{text}")
    return found


def _output_cases(tabsoda: str, work: Workplace) -> list[Case]:
    """Return every command that prints results, with an output that nobody can write to."""
    data, result = work.folder / "survey.csv", work.result
    survey, rules = work.folder / "survey.toml", work.folder / "rules.toml"
    commands = {
        "check": f"check '{data}' '{rules}' --survey '{survey}'",
        "review": f"review '{rules}' --accept-all",
        "edits": f"edits '{data}' --survey '{survey}'",
        "pool": f"pool '{result}' --mean AGE",
        "pool --json": f"pool '{result}' --mean AGE --json",
        "sensitivity": f"sensitivity '{result}' --mean CARE --shift CARE=-1..1",
        "report": f"report '{result}' -o '{work.folder}/page.html' --force",
        "export": f"export '{result}' --to csv -o '{work.folder}/printed' --force",
        "--help": "--help",
    }
    ways: dict[str, tuple[str, tuple[int, ...]]] = {
        "stdout closed": ("{} >&-", (0, 1)),
        "| true": ("{} | true; exit ${{PIPESTATUS[0]}}", (0, 1)),
        "stdout full": ("{} > /dev/full", (2,)),
    }
    return [
        # check ends with 1 if the answers contradict the rules.
        (
            f"{name}, {way}",
            line.format(f"{tabsoda} {words}"),
            {},
            codes if name == "check" else codes[:1],
        )
        for name, words in commands.items()
        for way, (line, codes) in ways.items()
    ]


def jumping_clock(work: Workplace) -> Outcomes:
    """Impute, mine and review while the clock of the machine jumps by days, back and forth."""
    found = Outcomes("a clock that jumps")
    expected = answers(work.result)

    def under(action: Callable[[], None]) -> Callable[[], None]:
        def jumping() -> None:
            real, days = time.time, itertools.cycle((0, -400, 3, 4000, -4000))
            time.time = lambda: real() + 86_400 * next(days)
            action()

        return jumping

    code, text = attempt(under(work.impute("out")))
    found.expect(code == 0, f"impute: ended with {code}\n{text}")
    found.expect(answers(work.folder / "out") == expected, "impute: the tables differ")
    (work.folder / "old.toml").write_bytes((work.folder / "rules.toml").read_bytes())
    for name, action in (("mine", work.mine("new.toml")), ("review", work.decide("old.toml"))):
        code, text = attempt(under(action))
        found.expect(code == 0, f"{name}: ended with {code}\n{text}")
    for place in ("out", "old.toml", "new.toml"):
        work.remove(place)
    return found


def unusual_sizes(work: Workplace, *, is_quick: bool) -> Outcomes:
    """Tables with very many columns, one row, one column, and nominals of 2,000 levels."""
    found = Outcomes("5,000 columns x 50 rows, 1 row, 1 column, 2,000 levels")
    wide = 300 if is_quick else 5_000
    sizes = {"wide": (50, wide), "one row": (1, 8), "one column": (40, 1), "two rows": (2, 3)}
    for what, (n_rows, n_columns) in sizes.items():
        path = work.folder / "sizes.csv"
        attempt(lambda: _write_table(path, n_rows, n_columns))  # noqa: B023 - used at once
        for name, action in _uses(work, path).items():
            code, text = attempt(action, timeout=900)
            is_orderly = code in (0, 2) and "Traceback" not in text
            found.expect(is_orderly, f"{what}, {name}: ended with {code}\n{text}")
            work.remove("out")
    path = work.folder / "sizes.csv"
    attempt(lambda: _write_levels(path, 2_000))
    for name, action in _uses(work, path).items():
        code, text = attempt(action, timeout=900)
        is_orderly = code in (0, 2) and "Traceback" not in text
        found.expect(is_orderly, f"2,000 levels, {name}: ended with {code}\n{text}")
        work.remove("out")
    path.unlink()
    work.remove("sizes.toml")
    return found


def _uses(work: Workplace, path: Path) -> dict[str, Callable[[], None]]:
    out = ("-o", work.folder / "out", "--quality", "tiny", "-m", "1", "--device", "cpu")
    return {
        "inspect": command("inspect", path),
        "mine": command("mine", path, "-o", work.folder / "sizes.toml", "--force"),
        "impute": command("impute", path, *out),
    }


def _write_table(path: Path, n_rows: int, n_columns: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(1, 5, (n_rows, n_columns)).astype(str)
    values[rng.random(values.shape) < 0.1] = ""
    lines = [",".join(f"q{number}" for number in range(n_columns))]
    path.write_text("\n".join([*lines, *map(",".join, values)]) + "\n", encoding="utf-8")


def _write_levels(path: Path, n_levels: int) -> None:
    rng = np.random.default_rng(0)
    rows = [f"level {rng.integers(n_levels)},{rng.integers(1, 5)}" for _ in range(2 * n_levels)]
    rows = [row if number % 9 else f",{row[-1]}" for number, row in enumerate(rows)]
    path.write_text("\n".join(["town,q", *rows]) + "\n", encoding="utf-8")
