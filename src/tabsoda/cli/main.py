"""The ``tabsoda`` command: names the verbs, turns errors into exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from tabsoda._version import __version__
from tabsoda.errors import TabSODAError

app = App(
    name="tabsoda",
    version=__version__,
    help="Impute missing answers in survey data, and leave alone the blanks that are not missing.",
    help_format="plaintext",
)
# Named by path, so that a verb's libraries are imported only when it runs.
app.command("tabsoda.cli.inspect:inspect", name="inspect", help="See what is in a survey file.")
app.command("tabsoda.cli.mine:mine", name="mine", help="Find the routing rules of a survey.")
app.command("tabsoda.cli.review:review", name="review", help="Approve or reject routing rules.")
app.command("tabsoda.cli.check:check", name="check", help="Check data against routing rules.")
app.command("tabsoda.cli.impute:impute", name="impute", help="Impute the missing answers.")
app.command("tabsoda.cli.report:report", name="report", help="Report on imputations.")
app.command("tabsoda.cli.diagnose:diagnose", name="diagnose", help="See how good imputing is.")
app.command("tabsoda.cli.pool:pool", name="pool", help="Fit a model to every imputation.")
app.command("tabsoda.cli.export:export", name="export", help="Write for Stata, R, SPSS or SAS.")
app.command("tabsoda.cli.evaluate:evaluate", name="evaluate", help="Compare methods on a survey.")
app.command("tabsoda.cli.demo:demo", name="demo", help="Run the whole job on an embedded survey.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 on bad input, 3 on rules not reviewed, 130 interrupted."""
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
