"""The process of a job: ``python -m tabsoda.desk.job_process PROJECT JOB [LOCK]``."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_json
from tabsoda._internal.threads import wait_passively
from tabsoda.desk.job_kinds import work_of
from tabsoda.desk.job_lock import sign
from tabsoda.desk.job_progress import JobProgress
from tabsoda.errors import TabSODAError


def main(arguments: list[str]) -> int:
    """Run one job and write its outcome.

    Parameters
    ----------
    arguments : list of str
        The folder of the project, the job, and the handle of its lock, if there is one.
    """
    folder, identifier, *lock = arguments
    if lock:
        handle = int(lock[0])
        # Programs that this process starts do not hold the lock.
        os.set_inheritable(handle, False)
        sign(handle, os.getpid())
    # As after an error: temporary files are removed, workers stopped, finished work kept.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    # Libraries read this setting when they are loaded, so it comes before the work.
    wait_passively()
    root = Path(folder)
    job = json.loads((root / "jobs" / f"{identifier}.json").read_text(encoding="utf-8"))
    progress = JobProgress(root / "jobs" / f"{identifier}.progress.json")
    with progress.running():
        outcome = _outcome(root, job, progress)
    write_json(root / "jobs" / f"{identifier}.outcome.json", outcome)
    return 0 if outcome["ok"] else 1


def _outcome(root: Path, job: dict[str, Any], progress: JobProgress) -> dict[str, Any]:
    from tabsoda.desk.project import Project

    try:
        result = work_of(job["kind"])(Project(root), job["parameters"], progress)
    except TabSODAError as error:
        return {"ok": False, "error": str(error)}
    except MemoryError:
        return {"ok": False, "error": "Not enough memory. Finished work is kept."}
    except Exception as error:
        traceback.print_exc()
        return {
            "ok": False,
            "error": f"An unexpected error: {type(error).__name__}: {error}."
            f" Details are in the project folder, in jobs/{job['id']}.log.",
        }
    return {"ok": True, "result": result}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
