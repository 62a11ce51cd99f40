"""The queue of a project: long work in processes of its own, one at a time.

A job is described by files in the folder ``jobs``: what to do and what the user wants of it
(``ID.json``), how far it is (``ID.progress.json``), how it ended (``ID.outcome.json``), its log,
and a lock (``ID.lock``) that its process holds for as long as it lives. Nothing else is remembered,
so that the next server sees the true state of a job, however the last one ended.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tabsoda._internal.files import PRIVATE_FILE, make_folder, write_json
from tabsoda.desk.job_lock import NO_LINK, is_held, open_locked, process_of, sign
from tabsoda.desk.job_records import read_object, read_record, read_text
from tabsoda.desk.job_signals import PAUSES, end_group, kill_group, pause_group, resume_group
from tabsoda.errors import InputError

WAITING, RUNNING, PAUSED, STOPPING = "waiting", "running", "paused", "stopping"
FINISHED, FAILED, CANCELLED, INTERRUPTED = "finished", "failed", "cancelled", "interrupted"
ALIVE = (RUNNING, PAUSED, STOPPING)
_LOOK_SECONDS = 0.25
# A process that does not end when asked is killed.
_PATIENCE_SECONDS = 15.0
_LOG_LINES = 30


class JobQueue:
    """The jobs of one project.

    Parameters
    ----------
    project : Path
        The folder of the project.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project / "jobs"
        self._lock = threading.RLock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to start waiting jobs, in a thread."""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Start no more jobs; a running one continues."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def submit(self, kind: str, title: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Add a job to the end of the queue.

        Parameters
        ----------
        kind : str
            A name in :data:`tabsoda.desk.job_kinds.KINDS`.
        title : str
            What the page calls it.
        parameters : dict
            Plain values for the function of this kind.

        Returns
        -------
        dict
            As in :meth:`summary`.
        """
        with self._lock:
            make_folder(self.folder)
            identifier = f"{1 + max(map(int, self._identifiers()), default=0):04d}"
            job = {
                "id": identifier,
                "kind": kind,
                "title": title,
                "parameters": parameters,
                "wanted": "run",
                "paused": False,
                "queued": time.time(),
                "started": None,
                "place": self._place(),
            }
            self._write(job)
            self.advance()
            return self._described(job)

    def summary(self) -> list[dict[str, Any]]:
        """List the jobs, the newest first, with their state and progress, ready for JSON."""
        with self._lock:
            return [self._described(job) for job in reversed(self._jobs())]

    def get(self, identifier: Any) -> dict[str, Any]:
        """Return one job as in :meth:`summary`, with the end of its log."""
        with self._lock:
            job = self._job(identifier)
            lines = read_text(self.folder / f"{job['id']}.log").splitlines()
            return self._described(job) | {"log": lines[-_LOG_LINES:]}

    def pause(self, identifier: Any) -> dict[str, Any]:
        """Stop the processes of a running job; they keep their memory."""
        with self._lock:
            job = self._in_state(identifier, (RUNNING,), "paused")
            if not PAUSES:
                raise InputError("This system cannot pause a job", next_step="Cancel it instead")
            process = process_of(self._lock_file(job))
            self._write(job | {"paused": True})
            pause_group(process)
            return self.get(identifier)

    def resume(self, identifier: Any) -> dict[str, Any]:
        """Continue a paused job, or queue one again that was cancelled, interrupted or failed.

        A run of ``impute`` then continues from its last finished stage or draw.
        """
        with self._lock:
            states = (PAUSED, CANCELLED, INTERRUPTED, FAILED)
            job = self._in_state(identifier, states, "resumed")
            if job.get("damaged"):
                raise InputError(job["damaged"], next_step="Remove it, and start it anew")
            if self._state(job) == PAUSED:
                process = process_of(self._lock_file(job))
                self._write(job | {"paused": False})
                resume_group(process)
            else:
                for part in ("progress", "outcome"):
                    (self.folder / f"{job['id']}.{part}.json").unlink(missing_ok=True)
                again = {"wanted": "run", "paused": False, "queued": time.time(), "started": None}
                self._write(job | again | {"place": self._place()})
                self.advance()
            return self.get(identifier)

    def cancel(self, identifier: Any) -> dict[str, Any]:
        """End a job; what it has finished is kept."""
        with self._lock:
            job = self._in_state(identifier, (WAITING, RUNNING, PAUSED), "cancelled")
            process = None
            if self._state(job) != WAITING:
                process = process_of(self._lock_file(job))
            self._write(job | {"wanted": "cancel", "paused": False, "cancelled": time.time()})
            end_group(process)
            return self.get(identifier)

    def remove(self, identifier: Any) -> None:
        """Remove the record of a job that has ended; its results are kept."""
        with self._lock:
            ended = (FINISHED, FAILED, CANCELLED, INTERRUPTED)
            job = self._in_state(identifier, ended, "removed from the list")
            for path in self.folder.glob(f"{job['id']}.*"):
                path.unlink(missing_ok=True)

    def advance(self) -> None:
        """Start the next waiting job unless one is running; kill one that does not end."""
        with self._lock:
            for child in self._children.values():
                # Collects the exit status; without this, an ended process stays in the table.
                child.poll()
            states = [(job, self._state(job)) for job in self._jobs()]
            for job, state in states:
                # A negative time means that the clock was set back.
                patient = (
                    state != STOPPING or 0 <= time.time() - job["cancelled"] <= _PATIENCE_SECONDS
                )
                if not patient:
                    with suppress(InputError):
                        kill_group(process_of(self._lock_file(job)))
            waiting = [job for job, state in states if state == WAITING]
            if waiting and not any(state in ALIVE for _, state in states):
                self._launch(min(waiting, key=lambda job: (job["queued"], job["id"])))

    def _watch(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            # A disk that is full now may have room later.
            with suppress(OSError):
                self.advance()

    def _launch(self, job: dict[str, Any]) -> None:
        try:
            lock = open_locked(self._lock_file(job))
        except BlockingIOError:
            # Another process asks at this moment whether it is held; the next look starts the job.
            return
        command = [sys.executable, "-m", "tabsoda.desk.job_process", str(self.project), job["id"]]
        self._write(job | {"started": time.time()})
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
        try:
            log = os.open(self.folder / f"{job['id']}.log", how, PRIVATE_FILE)
        except OSError:
            if lock is not None:
                os.close(lock)
            raise
        try:
            # A session of its own: Ctrl-C in the terminal of the server does not reach it.
            child = subprocess.Popen(
                [*command, str(lock)] if lock is not None else command,
                cwd=self.project,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=() if lock is None else (lock,),
            )
            if lock is not None:
                sign(lock, child.pid)
            self._children[job["id"]] = child
        finally:
            os.close(log)
            if lock is not None:
                os.close(lock)

    def _state(self, job: dict[str, Any]) -> str:
        if job.get("damaged"):
            return FAILED
        if self._is_alive(job):
            if job["wanted"] == "cancel":
                return STOPPING
            return PAUSED if job["paused"] else RUNNING
        # A job may have ended just before it was cancelled.
        outcome = self._part(job, "outcome")
        if outcome is not None:
            return FINISHED if outcome.get("ok") is True else FAILED
        if job["wanted"] == "cancel":
            return CANCELLED
        # A folder that was copied or sent starts nothing until its user asks for it.
        waits = job["started"] is None and job.get("place") == self._place()
        return WAITING if waits else INTERRUPTED

    def _place(self) -> str:
        """Return what a copy of the folder, here or elsewhere, does not share."""
        return f"{platform.node()}:{self.project.stat().st_ino}"

    def _is_alive(self, job: dict[str, Any]) -> bool:
        held = is_held(self._lock_file(job))
        if held is None:
            # Without locks, only the processes of this server are known.
            child = self._children.get(job["id"])
            return child is not None and child.poll() is None
        return held

    def _described(self, job: dict[str, Any]) -> dict[str, Any]:
        state = self._state(job)
        outcome = self._part(job, "outcome") or {}
        return {
            **{name: job[name] for name in ("id", "kind", "title", "parameters", "queued")},
            "state": state,
            "can_pause": PAUSES,
            "progress": self._part(job, "progress"),
            "result": outcome.get("result") if state == FINISHED else None,
            "error": job.get("damaged") or outcome.get("error") if state == FAILED else None,
        }

    def _in_state(self, identifier: Any, states: tuple[str, ...], what: str) -> dict[str, Any]:
        job = self._job(identifier)
        state = self._state(job)
        if state not in states:
            raise InputError(f"The job '{job['title']}' is {state}, so it cannot be {what}")
        return job

    def _job(self, identifier: Any) -> dict[str, Any]:
        with self._lock:
            if not isinstance(identifier, str) or identifier not in self._identifiers():
                raise InputError("There is no such job", found=repr(identifier)[:80])
            return self._read(identifier)

    def _jobs(self) -> list[dict[str, Any]]:
        return [self._read(identifier) for identifier in self._identifiers()]

    def _identifiers(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        names = (path.stem for path in self.folder.glob("*.json"))
        return sorted(name for name in names if name.isascii() and name.isdecimal())

    def _read(self, identifier: str) -> dict[str, Any]:
        return read_record(self.folder, identifier)

    def _write(self, job: dict[str, Any]) -> None:
        write_json(self.folder / f"{job['id']}.json", job)

    def _part(self, job: dict[str, Any], part: str) -> dict[str, Any] | None:
        return read_object(self.folder / f"{job['id']}.{part}.json")

    def _lock_file(self, job: dict[str, Any]) -> Path:
        return self.folder / f"{job['id']}.lock"
