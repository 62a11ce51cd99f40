"""Serve the desk of one project on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tabsoda._internal.files import write_json
from tabsoda._internal.folder_lock import hold_folder
from tabsoda.desk.app import make_app
from tabsoda.desk.project import Project
from tabsoda.desk.uploads import remove_unfinished
from tabsoda.errors import InputError
from tabsoda.review.server import LocalServer

_ADDRESS = "server.json"


class DeskServer(LocalServer):
    """The desk of one project.

    Parameters
    ----------
    project : Project
    port : int, default 0
        0 chooses a free port.
    """

    def __init__(self, project: Project, port: int = 0) -> None:
        super().__init__(partial(make_app, project), port)
        self.project = project

    def run(self, ready: Callable[[str], None] | None = None, *, browse: bool = False) -> None:
        """Serve until :meth:`stop`, or until the user interrupts; running jobs continue."""
        with _held(self.project.folder, self.address):
            self.project.jobs.start()
            try:
                super().run(ready, browse=browse)
            finally:
                self.project.jobs.stop()


@contextmanager
def _held(folder: Path, address: str) -> Iterator[None]:
    """Lock the project during the block, and write down where it is open."""
    with hold_folder(folder):
        try:
            write_json(folder / _ADDRESS, {"address": address})
            remove_unfinished(folder)
        except OSError as error:
            raise InputError(
                f"The project '{folder}' cannot be written to",
                found=error.strerror or str(error),
                next_step="Free disk space or change its permissions, or copy it elsewhere",
            ) from error
        try:
            yield
        finally:
            (folder / _ADDRESS).unlink(missing_ok=True)


def address_of(folder: Path) -> str | None:
    """Return the address at which a project is already open; None if it is not.

    Parameters
    ----------
    folder : Path
        An existing folder.
    """
    with suppress(InputError), hold_folder(folder):
        return None
    try:
        address = str(json.loads((folder / _ADDRESS).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # A folder from somebody else may name another site.
    return address if re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]+/", address, re.ASCII) else None
