"""Read a skip mask, the cells of a survey that are skips, from a file, frame or array."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.reading.files import read_file
from tabsoda.reading.frames import to_polars


def load_mask(
    source: Any, names: Sequence[str], n_rows: int, *, all_names: Sequence[str] = ()
) -> NDArray[np.bool_]:
    """Read a skip mask and put its columns in the order of the questions.

    Parameters
    ----------
    source : path, ndarray or frame
        A Parquet or CSV file, a boolean array, or a frame; true where a cell is a skip.
    names : sequence of str
        The questions, in questionnaire order.
    n_rows : int
    all_names : sequence of str
        Every column of the data. A mask may include these; those that are not questions are
        ignored.

    Returns
    -------
    ndarray of bool, shape (n_rows, len(names))
    """
    if isinstance(source, np.ndarray):
        return _from_array(source, list(names), n_rows)
    if isinstance(source, str | Path):
        frame, where = read_file(Path(source)).frame, f"The skip mask '{Path(source).name}'"
    else:
        frame, where = to_polars(source), "The skip mask"
    _check_columns(frame.columns, list(names), list(all_names), where)
    if frame.height != n_rows:
        raise InputError(
            f"{where} does not have the same number of rows as the data",
            found=f"{frame.height} rows",
            expected=f"{n_rows} rows, in the order of the data",
            next_step="Make the mask from the same file",
        )
    return np.column_stack([_as_bool(frame[name], where) for name in names])


def _from_array(array: NDArray[Any], names: list[str], n_rows: int) -> NDArray[np.bool_]:
    if array.shape != (n_rows, len(names)):
        raise InputError(
            "The skip mask does not have the shape of the questions",
            found=" x ".join(map(str, array.shape)),
            expected=f"{n_rows} rows x {len(names)} columns",
            next_step="Give one column per question, in questionnaire order, or a frame with names",
        )
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise InputError(
            "The skip mask contains values other than true and false", found=str(array.dtype)
        )
    return array.astype(bool)


def _check_columns(given: list[str], names: list[str], all_names: list[str], where: str) -> None:
    absent = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names and name not in all_names]
    if absent or unknown:
        raise InputError(
            f"{where} does not have the columns of the data",
            column=None,
            found=f"no column '{absent[0]}'" if absent else f"a column '{unknown[0]}'",
            expected=f"the {len(names)} questions by name",
            next_step=f"{len(absent)} are missing and {len(unknown)} are not in the data; make the "
            "mask from the same survey",
        )


def _as_bool(series: pl.Series, where: str) -> NDArray[np.bool_]:
    if series.dtype == pl.String:
        truth = {"true": True, "false": False, "1": True, "0": False}
        values = series.str.to_lowercase().replace_strict(
            truth, default=None, return_dtype=pl.Boolean
        )
    elif series.dtype == pl.Boolean:
        values = series
    else:
        values = series.replace_strict({0: False, 1: True}, default=None, return_dtype=pl.Boolean)
    if values.null_count():
        odd = series.filter(values.is_null())[0]
        raise InputError(
            f"of {where.lower()} contains values other than true and false",
            column=series.name,
            found=repr(odd),
            expected="true or false in every row",
        )
    return values.to_numpy()
