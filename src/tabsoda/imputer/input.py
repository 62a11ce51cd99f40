"""Converts the imputer's input (arrays, frames, files, surveys) to a survey."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from tabsoda.errors import InputError
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.survey import InputFile, Survey
from tabsoda.table import CodedTable


def check_names(frame: Any) -> None:
    """Raise if the column names of a frame have mixed types or are not unique."""
    from tabsoda.reading.raw import refuse_odd_names

    refuse_odd_names(frame.columns if hasattr(frame, "columns") else frame.column_names)


def unmasked(X: Any) -> Any:
    """Return a masked array with its masked cells blank; anything else unchanged.

    Examples
    --------
    >>> unmasked(np.ma.masked_less([[1, -9]], 0)).tolist()
    [[1.0, nan]]
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if X.dtype.kind in "fiub":
        # The smallest float type that represents all values.
        values, blank = np.array(X.data, dtype=np.result_type(X.dtype, np.float16)), np.nan
    else:
        values, blank = np.array(X.data, dtype=object), None
    values[np.ma.getmaskarray(X)] = blank
    return values


def _is_blank(value: Any) -> bool:
    """Return whether a cell of an object array is empty: None, NaN, or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        # pandas' NA: a comparison with itself has no truth value.
        return True


def read_input(X: Any, description: Any, skip_mask: Any) -> Survey:
    """Read the input as a survey, without applying rules.

    Parameters
    ----------
    X : array, frame, path or Survey
        The events of a survey are copied, so that more can be added.
    description : Schema, path, list of dict or None
    skip_mask : array, frame, path or None
        Added to the skips known from codes.
    """
    if isinstance(X, Survey):
        survey = X.with_own_events()
        return survey if skip_mask is None else _masked(survey, skip_mask)
    is_frame = hasattr(X, "columns") or hasattr(X, "column_names")
    if not isinstance(X, str | Path) and not is_frame and description is None:
        return _from_array(X, skip_mask)
    from tabsoda.reading import read_survey

    if isinstance(X, str | Path):
        return read_survey(X, description, skip_mask=skip_mask)
    if is_frame:
        return replace(read_survey(X, description, skip_mask=skip_mask), original=X)
    survey = read_survey(_array_frame(X), description, skip_mask=skip_mask)
    return replace(survey, original=np.asarray(X))


def _from_array(X: Any, skip_mask: Any) -> Survey:
    values = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    columns = tuple(
        Column(f"x{number}", ColumnKind.CONTINUOUS) for number in range(values.shape[1])
    )
    # The engine works in float64; the result gets the type of the input.
    original = X if isinstance(X, np.ndarray) and X.dtype == np.float32 else None
    survey = Survey.of_array(CodedTable.from_values(columns, values), original)
    return survey if skip_mask is None else _masked(survey, np.asarray(skip_mask))


def _array_frame(X: Any) -> Any:
    import polars as pl

    values = np.asarray(X)
    if values.ndim != 2:
        raise InputError(
            "The array is not a table", found=f"{values.ndim} dimensions", expected="2 dimensions"
        )
    names = [f"x{number}" for number in range(values.shape[1])]
    if values.dtype == object:
        lists = [[None if _is_blank(v) else v for v in column] for column in values.T]
        return pl.DataFrame(dict(zip(names, lists, strict=True)), strict=False)
    frame = pl.DataFrame(values, schema=names)
    return frame.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))


def _masked(survey: Survey, skip_mask: Any) -> Survey:
    from tabsoda.reading.skip_masks import load_mask

    table = survey.table
    mask = load_mask(skip_mask, table.names, table.shape[0])
    survey = survey.with_states(table.states.with_skips(table.states.skipped | mask))
    if isinstance(skip_mask, str | Path):
        return replace(survey, files=survey.files | {"skip_mask": InputFile.of(skip_mask)})
    return survey
