"""A small survey in a folder, the commands on it, and what their uninterrupted runs write."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tries import attempt, command, moments

# Exports whose files contain no time of writing.
BYTE_EQUAL = ("csv", "parquet", "r")


class Workplace:
    """A folder with a survey and, once asked for, a finished result.

    Parameters
    ----------
    folder : Path
        Empty.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._must(lambda: _write_survey(folder))
        # How many times an uninterrupted run changes files.
        self.changes = moments(self.impute("reference"), folder)
        self.result = folder / "reference"

    def impute(self, out: str, *options: str) -> Callable[[], None]:
        """Return the command that imputes into a folder."""
        survey, rules = self.folder / "survey.toml", self.folder / "rules.toml"
        return command(
            *("impute", self.folder / "survey.csv", "--survey", survey, "--rules", rules),
            *("-o", self.folder / out, "--quality", "tiny", "-m", "2", "--device", "cpu"),
            *options,
        )

    def mine(self, out: str) -> Callable[[], None]:
        """Return the command that mines rules into a file."""
        survey, data = self.folder / "survey.toml", self.folder / "survey.csv"
        return command("mine", data, "--survey", survey, "-o", self.folder / out, "--force")

    def export(self, to: str, out: str) -> Callable[[], None]:
        """Return the command that exports the finished result."""
        return command("export", self.result, "--to", to, "-o", self.folder / out)

    def decide(self, file: str) -> Callable[[], None]:
        """Return an action that reviews a rule as the page does, and saves the file."""

        def action() -> None:
            from tabsoda.reading import read_survey
            from tabsoda.review.session import ReviewSession

            survey = read_survey(self.folder / "survey.csv", self.folder / "survey.toml")
            session = ReviewSession(self.folder / file, survey, by="somebody")
            found = session.summary()
            session.decide(found["version"], [found["rules"][0]["id"]], "reject", "a note")

        return action

    def leftovers(self) -> list[str]:
        """Return hidden files and folders, which are temporary, in the folder of the survey."""
        return sorted(path.name for path in self.folder.glob(".*"))

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it is there."""
        path = self.folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _must(self, action: Callable[[], Any]) -> None:
        code, text = attempt(action)
        if code != 0:
            raise RuntimeError(text)


def _write_survey(folder: Path) -> None:
    from tabsoda.datasets import make_survey

    truth = make_survey(120, n_columns=10, seed=3, nonresponse=0.1)
    truth.write(folder)
    truth.rules.to_toml(folder / "rules.toml")


def answers(result: Path) -> dict[str, str]:
    """Return a hash of every table of a result; times and the record of events are left out."""
    return {
        path.relative_to(result).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(result.rglob("*.parquet"))
    }


def contents(folder: Path) -> dict[str, str]:
    """Return a hash of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def without_times(text: str) -> str:
    """Return a text with all times of writing replaced by a word."""
    return re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.+Z-]+", "TIME", text)


def is_whole(result: Path) -> Callable[[], int]:
    """Return an action whose exit code is 0 if a result can be read as a whole."""

    def action() -> int:
        from tabsoda import load_result

        load_result(result)
        return 0

    return action
