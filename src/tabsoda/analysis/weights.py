"""Weights of a result's rows: none, a column, an array, or replicate weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.replicates import ReplicateWeights, as_vector, check_weights
from tabsoda.analysis.variables import unknown_column
from tabsoda.errors import InputError
from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Code

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

Weights = NDArray[np.float64] | ReplicateWeights


def row_weights(result: Imputations, weights: Any) -> Weights | None:
    """Return the weights as an array or replicate weights; NaN for blank weights.

    Parameters
    ----------
    result : Imputations
    weights : None, str, array or ReplicateWeights
        The name of a column of the survey, or the weights themselves. Respondents with a blank
        weight are left out of the analysis.
    """
    if weights is None:
        return None
    found = weights
    if isinstance(weights, str):
        found = design_column(result, weights)
    if not isinstance(found, ReplicateWeights):
        found = as_vector(found)
        try:
            check_weights(found[~np.isnan(found)])
        except InputError as error:
            column = weights if isinstance(weights, str) else None
            raise InputError(
                "has invalid weights" if column else error.problem,
                column=column,
                found=error.found or "0 for everybody",
                expected="numbers of 0 or more, not all zero; blank for respondents to leave out",
            ) from error
    rows = found.weights.size if isinstance(found, ReplicateWeights) else found.size
    if rows != result.table.shape[0]:
        raise InputError(
            "The weights do not match the table",
            found=f"{rows} weights",
            expected=f"{result.table.shape[0]}, one per row",
        )
    return found


def design_column(result: Imputations, name: str, option: str = "weights") -> NDArray[np.float64]:
    """Return a numeric column of the survey, NaN where it is blank; it is not imputed."""
    frame = None if result.survey is None else result.survey.frame
    if frame is None:
        raise InputError(
            f"cannot be used as {option}",
            column=name,
            found="a result of a plain array, which has no names",
            expected=f"the {option} as an array",
        )
    if name not in frame.columns:
        raise unknown_column(name, frame.columns, option)
    import polars as pl

    series = frame[name]
    if not series.dtype.is_numeric():
        texts = series.cast(pl.String)
        wrong = texts.is_not_null() & texts.cast(pl.Float64, strict=False).is_null()
        rows = wrong.arg_true()
        raise InputError(
            "has texts",
            column=name,
            found=f"{texts[rows[0]]!r} in row {rows[0] + 1}, {len(rows):,} such cells"
            if len(rows)
            else str(series.dtype),
            expected="numbers throughout",
            next_step="Correct them in the file, and impute again",
        )
    return published_numbers(result, name)


def published_numbers(result: Imputations, name: str) -> NDArray[np.float64]:
    """Return a numeric column as published, NaN where it is blank or has a code for no answer."""
    import polars as pl

    if result.survey is None:
        raise unknown_column(name, result.table.names)
    series = result.survey.frame[name]
    numbers = series.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    codes = [as_number(code) for code in _codes_of_no_answer(result, name)]
    numbers[np.isin(numbers, [code for code in codes if code is not None])] = np.nan
    return numbers


def _codes_of_no_answer(result: Imputations, name: str) -> list[Code]:
    schema = None if result.survey is None else result.survey.schema
    return list(schema[name].special_codes) if schema is not None and name in schema else []
