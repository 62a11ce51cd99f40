"""Run a study: check its methods, run the cells without a result, and store the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabsoda._internal.files import make_private, write_json
from tabsoda._internal.parallel import WorkerLost, Workers, run_tasks
from tabsoda.bench.cases import SurveyCase
from tabsoda.bench.studies.cells import CellSettings, attempt_cell, failure, slug
from tabsoda.bench.studies.sanity_check import (
    FailedCheckError,
    SanityCheck,
    check_method,
    is_reference,
)
from tabsoda.bench.studies.store import Store, read_json
from tabsoda.progress import Progress


@dataclass(frozen=True)
class RunSummary:
    """The outcome of a run.

    Attributes
    ----------
    ran, reused, failed : int
        Cells computed in this run, already done, and failed in this run.
    """

    ran: int
    reused: int
    failed: int


def run_study(
    cases: Mapping[str, SurveyCase],
    cells: Sequence[CellSettings],
    store: Store,
    *,
    engine: Workers | str = Workers.LOCAL,
    jobs: int | None = None,
    sanity_check: bool = True,
    progress: Progress | None = None,
) -> RunSummary:
    """Run every cell that has no result yet.

    Parameters
    ----------
    cases : mapping of str to SurveyCase
        By the surveys' names.
    cells : sequence of CellSettings
    store : Store
        Cells that are done there are not run again; failed ones are.
    engine : Workers or str
    jobs : int, optional
    sanity_check : bool
        Stop, naming it, if a method does not beat mode and mean on the embedded survey.
    progress : callable, optional

    Returns
    -------
    RunSummary
    """
    pending = store.pending(cells)
    if sanity_check:
        check_methods(pending, store, engine=engine, jobs=jobs, progress=progress)
    failed = 0
    if progress is not None:
        progress(0, len(pending), "")
    tasks = [(cases[cell.survey], cell) for cell in pending]
    for done, (index, outcome) in enumerate(run_tasks(attempt_cell, tasks, engine, jobs), start=1):
        cell = pending[index]
        if isinstance(outcome, WorkerLost):
            outcome = failure(cell, outcome)
        failed += "error" in outcome
        store.keep(cell, outcome)
        if progress is not None:
            progress(done, len(pending), f"{cell.survey} {cell.mechanism} {cell.label}")
    return RunSummary(len(pending) - failed, len(cells) - len(pending), failed)


def check_methods(
    cells: Sequence[CellSettings],
    store: Store,
    *,
    engine: Workers | str = Workers.LOCAL,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[SanityCheck]:
    """Check each method of some cells once per study; raise if one does not work."""
    folder = store.folder / "checks"
    make_private(folder)
    wanted: dict[str, CellSettings] = {}
    for cell in cells:
        if not is_reference(cell.method):
            wanted.setdefault(slug(f"{cell.label}-{cell.skip_view}"), cell)
    checks, unknown = [], []
    for name, cell in wanted.items():
        kept = read_json(folder / f"{name}.json") if (folder / f"{name}.json").exists() else None
        if kept is not None and kept["settings"] == _identity(cell):
            checks.append(SanityCheck(**kept["check"]))
        else:
            unknown.append((name, cell))
    if progress is not None and unknown:
        progress(0, len(unknown), "checking the methods")
    tasks = [(c.method, c.label, dict(c.options), c.skip_view) for _, c in unknown]
    for done, (index, check) in enumerate(run_tasks(_attempt, tasks, engine, jobs), start=1):
        name, cell = unknown[index]
        if not isinstance(check, SanityCheck):
            raise FailedCheckError(
                f"The method '{cell.label}' fails on the embedded survey: {check}"
            )
        content = {k: v for k, v in check.to_dict().items() if k != "passed"}
        write_json(folder / f"{name}.json", {"settings": _identity(cell), "check": content})
        checks.append(check)
        if progress is not None:
            progress(done, len(unknown), f"checking that {cell.label} works")
    failed = [str(check) for check in checks if not check.passed]
    if failed:
        raise FailedCheckError(
            "These methods do not beat mode and mean on the embedded survey: " + "; ".join(failed)
        )
    return checks


def _identity(cell: CellSettings) -> dict[str, Any]:
    return {"method": cell.method, "options": dict(cell.options), "skip_view": cell.skip_view}


def _attempt(*arguments: Any) -> SanityCheck | str:
    """Check a method; return errors as text, since it runs in another process."""
    try:
        return check_method(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
