"""The ``tabsoda`` command: names the verbs, turns errors into exit codes."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cyclopts import App, CycloptsError, Parameter

from tabsoda._internal.threads import wait_passively
from tabsoda._version import __version__
from tabsoda.errors import TabSODAError

# Errors of the system when the output goes to a file on a full or broken disk.
_NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _shown_default(value: object) -> str | None:
    """Return the default to show in the help; none for a switch that is off or an empty list."""
    return None if value is None or value is False or value == () else str(value)


app = App(
    name="tabsoda",
    version=__version__,
    help="Impute missing answers in survey data, and leave skipped questions empty.",
    # Markdown joins the lines of a paragraph, so that help fits any terminal.
    help_format="markdown",
    default_parameter=Parameter(show_default=_shown_default),
)
# In the order of the work. Called by path: a verb's libraries are imported only when it runs.
_VERBS = {
    "desk": "Do all of this on a page in the browser.",
    "inspect": "Show what is in a survey file.",
    "questionnaire": "Read description and routing rules from a questionnaire form.",
    "mine": "Find the routing rules of a survey.",
    "review": "Approve or reject routing rules.",
    "edits": "Propose edits: rules that answers satisfy together.",
    "check": "Check data against routing rules and edits.",
    "impute": "Impute the missing answers.",
    "report": "Write a report on imputations.",
    "diagnose": "Hide some answers and measure how well they are imputed.",
    "pool": "Pool models, means, shares and tables over all imputations.",
    "sensitivity": "See how much a finding depends on why answers are missing.",
    "export": "Write imputations for Stata, R, SPSS, SAS, CSV or Parquet.",
    "archive": "Pack a project of the desk into one file.",
    "evaluate": "Compare methods on a survey.",
    "reproduce": "Reproduce the paper's tables from the public-use files.",
    "demo": "Run the whole workflow on an embedded survey.",
}
for _place, (_verb, _line) in enumerate(_VERBS.items()):
    app.command(f"tabsoda.cli.{_verb}:{_verb}", name=_verb, help=_line, sort_key=_place)


def _show_whole_help(arguments: Sequence[str]) -> None:
    """With --help, show the docstring of the command instead of its line in the command list."""
    if {"--help", "-h"} & set(arguments) and arguments[0] in _VERBS:
        app[arguments[0]].help = None


def _drop_output() -> None:
    """Send what is left of the output to nowhere, so that Python does not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _orderly_end() -> Iterator[None]:
    """On SIGTERM, end as after an error: temporary files are removed and workers stopped."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may handle signals.
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 on bad input, 3 on unreviewed rules, 130 on an interrupt."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Libraries read this setting when they are loaded, so it comes before the command.
    wait_passively()
    _show_whole_help(arguments)
    try:
        with _orderly_end():
            app(arguments, result_action="return_value", exit_on_error=False)
            if sys.stdout is not None:
                sys.stdout.flush()
    except CycloptsError:
        # cyclopts has printed the error. A bad command line is bad input: exit code 2.
        sys.exit(2)
    except TabSODAError as error:
        from tabsoda.cli.console import show_error

        show_error(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader closed the pipe, as `| head` does. That is not an error.
        _drop_output()
        sys.exit(0)
    except SystemExit as end:
        # rich ends the program with 1 if the reader closes the pipe while it prints the help.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        sys.exit(0)
    except OSError as error:
        # Errors of files were reported above, with their names.
        if error.filename is not None or error.errno not in _NOT_WRITABLE:
            raise
        _drop_output()
        sys.stderr.write(f"Error: The output cannot be written: {error.strerror}.\n")
        sys.exit(2)
    except MemoryError as error:
        detail = str(error) or "the system has none left"
        sys.stderr.write(f"Error: Not enough memory: {detail}. No partial files were left.\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. No partial files were left.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
