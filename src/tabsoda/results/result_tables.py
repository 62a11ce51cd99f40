"""The tables of a result folder: two point estimates, every draw, the states and the record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tabsoda._internal.files import make_private, write_json, write_parquet
from tabsoda.results.imputations import Imputations
from tabsoda.results.record import write_record
from tabsoda.results.result_folder import RECORD
from tabsoda.states.cell_states import CellStates

if TYPE_CHECKING:
    import polars as pl

_STATE_NAMES = ("answered", "missing", "skipped")


def write_tables(result: Imputations, folder: Path) -> None:
    """Write all tables of a result, its record and its settings to a new folder.

    Parameters
    ----------
    result : Imputations
        The result of a survey.
    folder : Path
        Must not exist.
    """
    make_private(folder / "imputations")
    write_parquet(folder / "point.parquet", result.point("mode"))
    write_parquet(folder / "point_median.parquet", result.point("median"))
    for number in range(1, len(result) + 1):
        write_parquet(folder / "imputations" / f"{number:03d}.parquet", result.complete(number))
    write_parquet(folder / "states.parquet", states_frame(result.table.states))
    make_private(folder / RECORD)
    write_record(result, folder / RECORD)
    write_json(folder / "settings.json", result.settings)


def states_frame(states: CellStates) -> pl.DataFrame:
    """Return the state of every cell as a word, one column per question.

    Examples
    --------
    >>> import numpy as np
    >>> answered = np.array([[True], [False]])
    >>> states_frame(CellStates.from_masks(answered, ~answered, ("q",)))["q"].to_list()
    ['answered', 'skipped']
    """
    import polars as pl

    kinds = pl.Enum(_STATE_NAMES)
    codes = list(range(len(_STATE_NAMES)))
    return pl.DataFrame(
        {
            name: pl.Series(states.states[:, position]).replace_strict(
                codes, list(_STATE_NAMES), return_dtype=kinds
            )
            for position, name in enumerate(states.names)
        }
    )
