"""Console output of commands: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
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


def show_error(error: TabSODAError) -> None:
    """Write an error to stderr, wrapped only on a terminal."""
    console = Console(file=sys.stderr, highlight=False)
    # In a log or a pipe the message stays one line: a path broken in two cannot be searched for.
    one_line = not console.is_terminal
    console.print(f"Error: {error}", markup=False, style="red", soft_wrap=one_line)


def show_warning(text: str) -> None:
    """Write a warning to stderr, wrapped only on a terminal."""
    console = Console(file=sys.stderr, highlight=False)
    one_line = not console.is_terminal
    console.print(f"Warning: {text}", markup=False, style="yellow", soft_wrap=one_line)


def emit_json(content: Any) -> None:
    """Write a result as JSON to stdout."""
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


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
