"""A trial result, written and read back before the fit, to find write errors early."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.write_errors import writing_to
from tabsoda.errors import InputError, TabSODAError
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells
from tabsoda.results.imputations import Imputations
from tabsoda.results.record import read_record
from tabsoda.results.result_folder import RECORD
from tabsoda.results.run_folder import WRITING, release_folder
from tabsoda.results.saving import write_tables
from tabsoda.survey import Survey

if TYPE_CHECKING:
    from tabsoda.skips.rule_set import RuleSet

_NOTHING_YET = "run the same command again: nothing has been computed yet"
# Some cells of a draw are skipped because of a drawn gate: one in this many here.
_SKIPPED_ONE_IN = 50


def rehearse(
    survey: Survey,
    folder: Path,
    n_draws: int,
    *,
    settings: dict[str, Any],
    rules: RuleSet | None = None,
    n_rows: int | None = None,
) -> None:
    """Write a trial result next to its final location, read it back and remove it.

    Raises if something cannot be written or read, or if the disk has too little space; the folder
    is then released, unless it contains finished work of an earlier start of the run.

    Parameters
    ----------
    survey : Survey
        The survey to impute, or a sample of its rows.
    folder : Path
        The existing folder for the result.
    n_draws : int
    settings : dict
    rules : RuleSet, optional
    n_rows : int, optional
        Rows of the whole file, if ``survey`` is a sample.
    """
    work = folder / WRITING
    share = 1.0 if n_rows is None else n_rows / max(survey.table.shape[0], 1)
    try:
        with writing_to(folder, _NOTHING_YET):
            shutil.rmtree(work, ignore_errors=True)
            trial = trial_result(survey, settings)
            write_tables(trial, work)
            if rules is not None:
                rules.to_toml(work / "rules.toml")
            read_record(work / RECORD)
            needed = _needed_bytes(work, len(trial.cells.rows), n_draws)
        shutil.rmtree(work)
        check_room(folder, needed * share)
    except TabSODAError:
        shutil.rmtree(work, ignore_errors=True)
        release_folder(folder)
        raise


def trial_result(survey: Survey, settings: dict[str, Any] | None = None) -> Imputations:
    """Return a result in which every imputed cell has some answer of its column.

    Parameters
    ----------
    survey : Survey
    settings : dict, optional
    """
    table = survey.table
    answered = table.states.answered
    rows, positions = np.nonzero(table.states.missing & answered.any(axis=0))
    values, means = np.empty(rows.size), np.empty(rows.size)
    for position in np.unique(positions):
        cells = positions == position
        answers = table.values[answered[:, position], position]
        values[cells] = np.resize(answers, int(cells.sum()))
        means[cells] = answers.mean()
    # Means of whole numbers are fractional and may change a column's type.
    categorical = np.array([column.is_categorical for column in table.columns], dtype=bool)
    point = np.where(categorical[positions], values, means)
    draw: NDArray[np.float64] = values.copy()
    draw[::_SKIPPED_ONE_IN] = np.nan
    trial = ImputedCells(rows, positions, draw[None, :], point, values)
    events = EventLog([*survey.events])
    return Imputations(table, trial, survey, None, settings or {}, events=events)


def _needed_bytes(trial: Path, n_cells: int, n_draws: int) -> int:
    """Estimate the size of a result with many draws from the files of a result with one draw."""
    files = [path for path in trial.rglob("*") if path.is_file()]
    draws = sum(path.stat().st_size for path in files if path.parent.name == "imputations")
    others = sum(path.stat().st_size for path in files) - draws
    # Every value is stored in the record, and during the run also among the finished draws.
    return others + n_draws * draws + 2 * 8 * n_cells * (n_draws + 2)


def check_room(folder: Path, needed: float) -> None:
    """Raise if the disk of a folder has less free space than a result needs.

    Parameters
    ----------
    folder : Path
        An existing folder.
    needed : float
        Bytes.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"The disk of the folder '{folder}' has too little space for the result",
            found=f"{_size(free)} free",
            expected=f"about {_size(needed)}",
            next_step="Free some disk space, choose another folder, or draw fewer tables (-m)",
        )


def _size(n_bytes: float) -> str:
    """Format a size in MB or GB.

    Examples
    --------
    >>> _size(1234), _size(5.3e6), _size(2.5e9)
    ('0.0 MB', '5.3 MB', '2.5 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"
