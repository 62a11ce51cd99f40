"""Hostile names, labels and answers, in every file that commands write."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from outcomes import Outcomes
from tries import attempt, command
from workplace import Workplace

TARGETS = ("csv", "parquet", "r", "stata", "spss", "sas")
MARK = "made-by-a-label"
HOSTILE = {
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)" x=\'',
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+cmd",
    "at": "@SUM(A1)",
    "path": "../../../etc/passwd",
    "backslash": "..\\..\\windows\\x",
    "zero": "a\x00b",
    "controls": "a\x1b[31mred\x07\x08b",
    "right to left": "\u202eevil\u202c \u05d0\u05d1",
    "line ends": "one\ntwo\r\nthree\u2028four",
    "quotes": "a\"b'c`d\\e",
    "code for R": f"')); system('touch {MARK}'); cat('",
    "code for a shell": f"$(touch {MARK}) `touch {MARK}`",
    "code for Stata": f"\"' `=shell touch {MARK}'",
    "code for SAS": f"'; x 'touch {MARK}'; %let a='",
    "formats": "%s %n {0} {{x}} $x",
    "long": "x" * 100_000,
    "emoji": "\U0001f600" * 50,
    "empty": " ",
}


def hostile_contents(
    work: Workplace, names: tuple[str, ...] = tuple(HOSTILE), n_places: int = 3
) -> Outcomes:
    """Impute, report, mine, check and export surveys with hostile texts.

    Commands end with an exit code; pages contain no tags from the survey, tables no formulas for
    spreadsheets; nothing is written elsewhere.
    """
    found = Outcomes("hostile names, labels and answers in every output")
    places = ("label", "level", "name")
    for number, name in enumerate(names):
        for shift in range(n_places):
            place = places[(number + shift) % 3]
            _one(work, found, f"{name} as {place}", HOSTILE[name], place)
    return found


def _one(work: Workplace, found: Outcomes, what: str, text: str, place: str) -> None:
    folder = work.folder / "hostile"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    code, output = attempt(lambda: _write(folder, text, place))
    if code == 2:
        # The description itself refuses such a text.
        found.expect("Traceback" not in output, f"{what}: {output}")
        return
    found.expect(code == 0, f"{what}, describing: ended with {code}\n{output}")
    before = {path.name for path in work.folder.iterdir()}
    for step, action in _steps(folder).items():
        code, output = attempt(action)
        is_orderly = code in (0, 2, 3) and "Traceback" not in output
        found.expect(is_orderly, f"{what}, {step}: ended with {code}\n{output[:1500]}")
        if "\x1b[31m" in output or "\x00" in output:
            found.expect(False, f"{what}, {step}: control characters reach the terminal")
    outside = {path.name for path in work.folder.iterdir()} - before
    found.expect(not outside, f"{what}: wrote {outside}")
    for page in folder.rglob("*.html"):
        found.expect(_is_harmless(page), f"{what}: {page.name} contains a tag of the survey")
    for table in folder.glob("to-*/*.csv"):
        found.expect(not _formulas(table), f"{what}: {table} has the formulas {_formulas(table)}")
    if shutil.which("Rscript") and (folder / "to-r" / "read.R").exists() and "R" in what:
        subprocess.run(["Rscript", "read.R"], cwd=folder / "to-r", capture_output=True, timeout=120)
    found.expect(not list(work.folder.rglob(MARK)), f"{what}: code was executed")
    shutil.rmtree(folder)


def _write(folder: Path, text: str, place: str) -> int:
    """Write a survey with the text as the label, name or answer of a question."""
    import numpy as np
    import polars as pl

    from tabsoda.errors import InputError
    from tabsoda.schema import Column, ColumnKind, Schema
    from tabsoda.schema.files import save_schema

    rng = np.random.default_rng(1)
    name = text if place == "name" else "q"
    levels = (text, "other") if place == "level" else ("one", "other")
    labels = {levels[0]: text} if place == "label" else {}
    answers = [levels[k] if k < 2 else None for k in rng.integers(0, 3, 40)]
    numbers = [None if k == 0 else int(k) for k in rng.integers(0, 5, 40)]
    try:
        schema = Schema(
            (
                Column(
                    name,
                    ColumnKind.NOMINAL,
                    levels=levels,
                    label=text if place == "label" else "",
                    level_labels=labels,
                ),
                Column("n", ColumnKind.CONTINUOUS, label="a number"),
            )
        )
        save_schema(schema, folder / "survey.toml")
    except InputError as error:
        print(error)
        return 2
    pl.DataFrame({name: answers, "n": numbers}).write_parquet(folder / "survey.parquet")
    return 0


def _steps(folder: Path) -> dict[str, Callable[[], None]]:
    data, survey, out = folder / "survey.parquet", folder / "survey.toml", folder / "out"
    given = (data, "--survey", survey)
    steps = {
        "inspect": command("inspect", *given),
        "mine": command("mine", *given, "-o", folder / "rules.toml", "--graph", folder / "g.html"),
        "check": command("check", *given, "--rules", folder / "rules.toml"),
        "impute": command(
            *("impute", *given, "-o", out, "--quality", "tiny", "-m", "1", "--device", "cpu")
        ),
        "pool": command("pool", out, "--mean", "n"),
    }
    return steps | {
        f"export to {to}": command("export", out, "--to", to, "-o", folder / f"to-{to}")
        for to in TARGETS
    }


class _Tags(HTMLParser):
    """Collects what a browser would execute."""

    def __init__(self) -> None:
        super().__init__()
        self.is_script, self.found = False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_script = tag == "script"
        for name, value in attrs:
            if name.startswith("on") or "javascript:" in (value or "").lower():
                self.found = True

    def handle_endtag(self, tag: str) -> None:
        self.is_script = False

    def handle_data(self, data: str) -> None:
        if self.is_script and "alert(1)" in data:
            self.found = True


def _is_harmless(page: Path) -> bool:
    tags = _Tags()
    tags.feed(page.read_text(encoding="utf-8"))
    return not tags.found


def _formulas(table: Path) -> list[str]:
    """Return the cells of a table that a spreadsheet would calculate."""
    with table.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    risky = [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    return [cell[:40] for cell in risky if not _is_number(cell)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
