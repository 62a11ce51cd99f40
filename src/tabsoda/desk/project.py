"""A project: one folder with a survey, its description, rules, runs, analyses and exports."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tabsoda._internal.files import file_hash, make_folder, write_json
from tabsoda._version import __version__
from tabsoda.desk.jobs import JobQueue
from tabsoda.desk.project_file import EMPTY, PROJECT, load_project_file
from tabsoda.errors import InputError
from tabsoda.review.session import StaleVersionError
from tabsoda.survey import Survey


class Project:
    """A folder that contains everything about the work on one survey.

    All state is on disk. ``project.json`` contains what the page sets; the other files are those
    that the commands read and write: ``survey.toml``, ``rules.toml`` and result folders in
    ``runs``. A change names the version of ``project.json`` that it started from.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.

    Attributes
    ----------
    folder : Path
    jobs : JobQueue
    largest_upload : int
        In bytes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.largest_upload = 2_000_000_000
        self._lock, self._reading = threading.RLock(), threading.RLock()
        self._surveys: dict[str, tuple[object, Survey]] = {}
        self._hashes: dict[tuple[object, ...], str] = {}
        if (self.folder / PROJECT).exists():
            self._content = load_project_file(self.folder / PROJECT)
        else:
            make_folder(self.folder)
            self._content = {**copy.deepcopy(EMPTY), "name": self.folder.name}
            self._save(self._content)
        self.jobs = JobQueue(self.folder)

    @property
    def content(self) -> dict[str, Any]:
        """A copy of ``project.json``."""
        with self._lock:
            return copy.deepcopy(self._content)

    @property
    def version(self) -> int:
        """The number of changes so far."""
        with self._lock:
            return int(self._content["version"])

    @property
    def data(self) -> Path | None:
        """The survey file; None until one is opened."""
        data = self.content["data"]
        return None if data is None else self.folder / data["path"]

    @property
    def description(self) -> Path:
        """The file ``survey.toml``."""
        return self.folder / "survey.toml"

    @property
    def rules(self) -> Path:
        """The file ``rules.toml``, which exists once rules were mined or read."""
        return self.folder / "rules.toml"

    @property
    def suppress_below(self) -> int:
        """Counts below this are withheld on the page."""
        return int(self.content["settings"]["suppress_below"])

    def run_folder(self, name: Any) -> Path:
        """Return the folder of a run, whether or not it exists yet.

        Raises
        ------
        InputError
            If the name is not a plain name of a folder.
        """
        plain = isinstance(name, str) and name.strip() == name and 0 < len(name) <= 80
        if not plain or not all(c.isalnum() or c in "-_. " for c in name) or name[0] == ".":
            raise InputError(
                "The name of a run is not usable",
                found=repr(name)[:80],
                expected="letters, digits, spaces, dots, dashes and underscores",
            )
        return self.folder / "runs" / name

    @contextmanager
    def change(self, version: Any) -> Iterator[dict[str, Any]]:
        """Yield the content to be changed; it is saved at the end of the block.

        Nothing is saved if the block fails.

        Raises
        ------
        StaleVersionError
            If there is a newer version than the one that the change started from.
        """
        with self._lock:
            self.require(version)
            content = copy.deepcopy(self._content)
            yield content
            content["version"] += 1
            self._save(content)
            self._content = content

    @contextmanager
    def unchanged(self) -> Iterator[dict[str, Any]]:
        """Yield the content, which nobody changes during the block."""
        with self._lock:
            yield self.content

    def require(self, version: Any) -> None:
        """Raise StaleVersionError unless this is the current version."""
        if version != self.version or type(version) is not int:
            raise StaleVersionError(
                "The project has changed since this page was loaded, so nothing was saved",
                next_step="Look at the change, then try again",
            )

    def survey(self) -> Survey:
        """Return the survey as the description reads it; kept until a file changes.

        Raises
        ------
        InputError
            If no file has been opened yet.
        """
        from tabsoda.reading import read_survey

        data = self.require_data()
        unlisted = self.content["settings"]["unlisted"]
        description = self.description if self.description.is_file() else None
        key = (data, self.hash_of(data), description and self.hash_of(description), unlisted)
        return self.read_once(
            "survey", key, lambda: read_survey(data, description, unlisted=unlisted)
        )

    def read_once(self, name: str, key: object, read: Callable[[], Survey]) -> Survey:
        """Return a survey that was read before if the key is the same, or read it now.

        Parameters
        ----------
        name : str
            One survey is kept for each name.
        key : object
            Equal for surveys that are equal.
        read : callable
        """
        # A lock of its own: reading takes long, and other requests need not wait for it.
        with self._reading:
            if name not in self._surveys or self._surveys[name][0] != key:
                self._surveys[name] = (key, read())
            return self._surveys[name][1]

    def require_data(self) -> Path:
        """Return the survey file; raise if none is open or it is not there any more."""
        data = self.data
        if data is None:
            raise InputError("No survey is open yet", next_step="Open a file in the first step")
        if not data.is_file():
            raise InputError(
                f"The survey file '{data}' does not exist any more",
                next_step="Put it back, or open it again in the first step",
            )
        return data

    def hash_of(self, path: Path) -> str:
        """Return the hash of a file's content, computed once until the file changes."""
        try:
            found = path.stat()
        except OSError as error:
            raise InputError(
                f"The file '{path}' cannot be read",
                found=error.strerror or str(error),
                next_step="Put it back, or open another one in the first step",
            ) from error
        key = (path, found.st_mtime_ns, found.st_size)
        if key not in self._hashes:
            self._hashes[key] = file_hash(path)
        return self._hashes[key]

    def path_text(self, path: Path) -> str:
        """Return a path as commands name it that run in the project folder."""
        if path.is_relative_to(self.folder):
            return path.relative_to(self.folder).as_posix()
        return str(path)

    def runs(self) -> list[dict[str, Any]]:
        """List the runs, the newest first, with what the page shows of each."""
        folder = self.folder / "runs"
        if not folder.is_dir():
            return []
        found = [_described_run(path) for path in folder.iterdir() if path.is_dir()]
        return sorted(found, key=lambda run: run["changed"], reverse=True)

    def summary(self) -> dict[str, Any]:
        """Return what every step of the page knows, ready for JSON."""
        content = self.content
        data = self.data
        return {
            "name": content["name"],
            "folder": str(self.folder),
            "version": content["version"],
            "settings": content["settings"],
            "data": None if data is None else {"name": data.name, "path": self.path_text(data)},
            "described": self.description.is_file(),
            "has_rules": self.rules.is_file(),
            "runs": self.runs(),
            "jobs": self.jobs.summary(),
            "tabsoda": __version__,
        }

    def discard(self) -> None:
        """Remove a project that was just created, and its folder if nothing else is in it."""
        (self.folder / PROJECT).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _save(self, content: dict[str, Any]) -> None:
        try:
            write_json(self.folder / PROJECT, content)
        except OSError as error:
            raise InputError(
                f"The project '{self.folder}' cannot be written to",
                found=error.strerror or str(error),
                next_step="Free disk space or change its permissions, then try again",
            ) from error


def is_project(folder: Path) -> bool:
    """Return whether a folder is a project."""
    return (folder / PROJECT).is_file()


def _described_run(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = {}
    path = folder / "manifest.json"
    if path.is_file():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            manifest = found if isinstance(found, dict) else {}
        except (OSError, ValueError, RecursionError):
            manifest = {}
    options = manifest.get("options")
    options = options if isinstance(options, dict) else {}
    return {
        "name": folder.name,
        "finished": bool(manifest),
        "report": (folder / "report.html").is_file(),
        "draws": options.get("draws"),
        "quality": options.get("quality"),
        "seed": options.get("seed"),
        "changed": os.stat(path if manifest else folder).st_mtime,
    }
