"""The ``tabsoda`` command: names the verbs, turns errors into exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from tabsoda._internal.threads import wait_passively
from tabsoda._version import __version__
from tabsoda.errors import TabSODAError


def _shown_default(value: object) -> str | None:
    """Say the default of an option; a switch that is off and an empty list need no word."""
    return None if value is None or value is False or value == () else str(value)


app = App(
    name="tabsoda",
    version=__version__,
    help="Impute missing answers in survey data, and leave alone the blanks that are not missing.",
    # Markdown joins the lines of a paragraph, so that help fits any terminal.
    help_format="markdown",
    default_parameter=Parameter(show_default=_shown_default),
)
# In the order of the work. Called by path: a verb's libraries are imported only when it runs.
_VERBS = {
    "inspect": "See what is in a survey file.",
    "mine": "Find the routing rules of a survey.",
    "review": "Approve or reject routing rules.",
    "check": "Check data against routing rules.",
    "impute": "Impute the missing answers.",
    "report": "Write a report on imputations.",
    "diagnose": "Hide some answers, and see how well imputing finds them.",
    "pool": "Pool models, means, shares and tables over all imputations.",
    "export": "Write imputations for Stata, R, SPSS, SAS, CSV or Parquet.",
    "evaluate": "Compare methods on a survey.",
    "demo": "Run the whole job on an embedded survey.",
}
for _place, (_verb, _line) in enumerate(_VERBS.items()):
    app.command(f"tabsoda.cli.{_verb}:{_verb}", name=_verb, help=_line, sort_key=_place)


def _show_whole_help(arguments: Sequence[str]) -> None:
    """Let a command that is asked for help show its docstring, not its line in the list."""
    if {"--help", "-h"} & set(arguments) and arguments[0] in _VERBS:
        app[arguments[0]].help = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 on bad input, 3 on rules not reviewed, 130 interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Before a command loads its libraries, which read it then.
    wait_passively()
    _show_whole_help(arguments)
    try:
        app(arguments, result_action="return_value", exit_on_error=False)
    except CycloptsError:
        # cyclopts has told the user already; like any bad input, a bad command line is exit code 2.
        sys.exit(2)
    except TabSODAError as error:
        from tabsoda.cli.console import show_error

        show_error(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does; that is no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. Nothing half-written was left behind.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
