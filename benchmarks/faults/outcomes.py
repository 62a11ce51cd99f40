"""Counts of a fault campaign: tries and failures by group."""

from __future__ import annotations

import contextlib
import io
import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

# Exit codes of a command that ends in an orderly way: done, bad input, unreviewed rules.
ORDERLY = (0, 2, 3)


@dataclass
class Outcomes:
    """What happened in one group of the campaign.

    Attributes
    ----------
    group : str
        What was done.
    tries : int
    failures : list of str
        One text per failure, enough to repeat it.
    notes : list of str
        What could not be tried, and why.
    """

    group: str
    tries: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def expect(self, holds: bool, what: str) -> None:
        """Count a try, and a failure if the expectation does not hold."""
        self.tries += 1
        if not holds:
            self.failures.append(what[:2000])

    def to_dict(self) -> dict[str, object]:
        """Return the counts, ready for JSON."""
        return {
            "group": self.group,
            "tries": self.tries,
            "failures": self.failures,
            "notes": self.notes,
        }


def run_here(arguments: Sequence[str]) -> tuple[int, str]:
    """Run a command of tabsoda in this process; return its exit code and what it wrote.

    An exception that is not turned into an exit code gives 1 and its traceback.
    """
    from tabsoda.cli.main import main

    # Commands end with os.dup2 if stdout is closed; a real file descriptor is not needed otherwise.
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            main(list(arguments))
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:  # what a user would see as a traceback
            code = 1
            text.write(traceback.format_exc())
    return code, text.getvalue()


def quiet_environment(**changes: str | None) -> dict[str, str]:
    """Return this environment with one thread and with changes; None removes a variable."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    for name, value in changes.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return environment
