"""Console output of commands: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import progress as bars
from rich.console import Console

from tabsoda.cli.progress_lines import progress_lines
from tabsoda.errors import TabSODAError
from tabsoda.progress import Progress


class _Output(Console):
    def on_broken_pipe(self) -> None:
        # rich would exit with 1; a reader that has seen enough is not an error.
        raise BrokenPipeError


def output() -> Console:
    """Return the console for results; respects NO_COLOR and the width of the terminal."""
    return _Output(file=sys.stdout, highlight=False, soft_wrap=False)


def show(lines: Iterable[str]) -> None:
    """Print lines without wrapping or markup."""
    console = output()
    for line in lines:
        console.print(line, markup=False, no_wrap=True, overflow="ignore", crop=False)


def show_error(error: TabSODAError) -> None:
    """Write an error to stderr, wrapped only on a terminal."""
    _write_message(f"Error: {error}", "red")


def show_note(text: str) -> None:
    """Write a note on the progress of the work to stderr, wrapped only on a terminal."""
    console = Console(file=sys.stderr, highlight=False)
    console.print(text, markup=False, soft_wrap=not console.is_terminal)


def show_warning(text: str) -> None:
    """Write a warning to stderr, wrapped only on a terminal."""
    _write_message(f"Warning: {text}", "yellow")


def _write_message(text: str, style: str) -> None:
    console = Console(file=sys.stderr, highlight=False)
    # In a log or a pipe the message stays one line: a path broken in two cannot be searched for.
    console.print(text, markup=False, style=style, soft_wrap=not console.is_terminal)


def emit_json(content: Any) -> None:
    """Write a result as JSON to stdout."""
    if sys.stdout is None:
        # Closed by whoever started the command.
        return
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def emit_text(text: str) -> None:
    """Write a finished text, such as a file, to stdout as it is."""
    sys.stdout.write(text)


@contextmanager
def progress(description: str) -> Iterator[Progress]:
    """Show the progress of the block on stderr: a bar on a terminal, else a line every minute."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        with progress_lines(description) as update_lines:
            yield update_lines
        return
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.percentage:>3.0f}%"),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=None)

        def update(done: int, total: int, what: str = "") -> None:
            text = f"{description}: {what}" if what else description
            bar.update(task, completed=done, total=total, description=text)

        yield update
