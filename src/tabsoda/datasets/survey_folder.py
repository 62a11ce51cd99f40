"""Read surveys stored as folders (values.parquet, schema.json, skip.parquet), and sample them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.errors import InputError
from tabsoda.followers import find_followers
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.survey import Survey

_FILES = ("values.parquet", "schema.json", "skip.parquet")
_VARIABLE = "TABSODA_SURVEYS"
# A question with fewer answers, or with equal answers only, is not used.
_FEWEST_ANSWERS = 50


def surveys_folder(folder: Path | None = None) -> Path:
    """Return the folder of survey folders: the one given, or that of TABSODA_SURVEYS."""
    chosen = folder or (Path(os.environ[_VARIABLE]) if os.environ.get(_VARIABLE) else None)
    if chosen is None or not chosen.is_dir():
        raise InputError(
            "The folder with the surveys does not exist",
            found=str(chosen) if chosen else "none given",
            next_step=f"Give it on the command line, or set {_VARIABLE}",
        )
    return chosen


def is_survey_folder(folder: Path) -> bool:
    """Whether a folder contains a survey in this form."""
    return all((folder / name).is_file() for name in _FILES)


def load_survey_folder(folder: str | Path) -> Survey:
    """Read a survey folder with its skip mask.

    Parameters
    ----------
    folder : path
        With values.parquet (skip and missing codes as nulls), schema.json and skip.parquet.

    Returns
    -------
    Survey
    """
    from tabsoda.reading import read_survey

    folder = Path(folder)
    absent = [name for name in _FILES if not (folder / name).is_file()]
    if absent:
        raise InputError(
            f"The survey folder '{folder}' is not complete",
            found=f"no {', '.join(absent)}",
            expected=", ".join(_FILES),
        )
    values, schema, skips = (folder / name for name in _FILES)
    return read_survey(values, schema, skip_mask=skips)


def sample_table(
    table: CodedTable, *, rows: int | None = None, columns: int | None = None, seed: int = 0
) -> CodedTable:
    """Draw some rows and questions of a table.

    Questions are drawn from each kind in turn, each with its gates if they fit, so that a small
    table still has routing. Questions with few answers, or with equal answers only, are left out.

    Parameters
    ----------
    table : CodedTable
    rows, columns : int, optional
        Maximum numbers; all if not given.
    seed : int

    Returns
    -------
    CodedTable
        Rows and questions in their order.

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> table = make_survey(n_rows=600, seed=2).true_table
    >>> sample_table(table, rows=300, columns=12, seed=1).shape
    (300, 12)
    """
    if rows is not None and rows < table.shape[0]:
        drawn = numpy_generator(seed, "sample rows").choice(table.shape[0], rows, replace=False)
        table = table.rows(np.sort(drawn))
    usable = _usable(table)
    if columns is None or columns >= usable.sum():
        chosen = np.flatnonzero(usable)
    else:
        chosen = _choose_columns(table, usable, columns, seed)
    if chosen.size < 2:
        raise InputError(
            "Too few questions are left to evaluate on",
            found=f"{int(usable.sum())} with {_FEWEST_ANSWERS} answers that are not all the same",
            expected="2 or more",
            next_step="Take more rows or more columns",
        )
    return table.select(tuple(table.names[position] for position in chosen))


def _usable(table: CodedTable) -> NDArray[np.bool_]:
    answered = table.states.answered
    lowest = np.where(answered, table.values, np.inf).min(axis=0)
    highest = np.where(answered, table.values, -np.inf).max(axis=0)
    fewest = min(_FEWEST_ANSWERS, table.shape[0] // 2)
    return (answered.sum(axis=0) >= fewest) & (lowest < highest)


def _choose_columns(
    table: CodedTable, usable: NDArray[np.bool_], columns: int, seed: int
) -> NDArray[np.intp]:
    followers = find_followers(table) & usable[:, None] & usable[None, :]
    chosen: set[int] = set()
    for position in _by_turns(table, usable, seed):
        if len(chosen) >= columns:
            break
        # The nearest gates come first, so that the end of a routing chain stays intact.
        gates = [int(g) for g in np.flatnonzero(followers[:, position])[::-1] if g not in chosen]
        room = columns - len(chosen) - (position not in chosen)
        chosen.update([position, *gates[: max(room, 0)]])
    return np.array(sorted(chosen), dtype=np.intp)


def _by_turns(table: CodedTable, usable: NDArray[np.bool_], seed: int) -> Iterator[int]:
    """Yield the usable columns in random order, alternating between kinds."""
    generator = numpy_generator(seed, "sample columns")
    order = [int(p) for p in generator.permutation(table.shape[1]) if usable[p]]
    queues = {kind: [p for p in order if table.columns[p].kind is kind] for kind in ColumnKind}
    while any(queues.values()):
        for queue in queues.values():
            if queue:
                yield queue.pop(0)
