"""Groups of respondents, by their answers in a chosen column."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# A column with more groups than this would fill the page.
_MOST_GROUPS = 12
_UNKNOWN = "not answered"

# Name of the column, then the rows of each group by its label.
Strata = dict[str, dict[str, NDArray[np.bool_]]]


def make_strata(result: Imputations, names: Iterable[str]) -> Strata:
    """Split respondents by their answers; those without an answer form their own group.

    A question of numbers is cut at its quartiles.

    Parameters
    ----------
    result : Imputations
    names : iterable of str
        Questions, or other columns of the file.

    Returns
    -------
    dict of dict of ndarray of bool, shape (n_rows,)
        Empty groups are left out.
    """
    return {name: _groups(result, name) for name in dict.fromkeys(names)}


def _groups(result: Imputations, name: str) -> dict[str, NDArray[np.bool_]]:
    if name in result.table.names:
        groups = _of_question(result, name)
    elif result.survey is not None and name in result.survey.frame.columns:
        groups = _of_frame(result, name)
    else:
        known = result.table.names if result.survey is None else result.survey.frame.columns
        raise InputError(
            f"There is no column '{name}' to split by",
            expected=f"one of {len(known)} columns such as {', '.join(list(known)[:3])}",
            next_step="Check the spelling",
        )
    groups = {label: rows for label, rows in groups.items() if rows.any()}
    if len(groups) > _MOST_GROUPS:
        raise InputError(
            "has too many groups to split by",
            column=name,
            found=f"{len(groups):,} groups",
            expected=f"at most {_MOST_GROUPS}",
            next_step="Choose a column with fewer answers",
        )
    return groups


def _of_question(result: Imputations, name: str) -> dict[str, NDArray[np.bool_]]:
    position = result.table.names.index(name)
    column, values = result.table.columns[position], result.table.values[:, position]
    if not column.is_categorical:
        return _quarters(values)
    groups = {column.describe_level(lv): values == k for k, lv in enumerate(column.levels)}
    return {**groups, _UNKNOWN: np.isnan(values)}


def _of_frame(result: Imputations, name: str) -> dict[str, NDArray[np.bool_]]:
    series = result.survey.frame[name]  # type: ignore[union-attr]
    if series.dtype.is_float() or (series.dtype.is_numeric() and series.n_unique() > _MOST_GROUPS):
        return _quarters(series.cast(float).to_numpy())
    found = series.unique().drop_nulls().sort().to_list()
    if len(found) > _MOST_GROUPS:
        return {str(value): np.ones(1, dtype=bool) for value in found}
    groups = {str(value): (series == value).fill_null(False).to_numpy() for value in found}
    return {**groups, _UNKNOWN: series.is_null().to_numpy()}


def _quarters(values: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    known = ~np.isnan(values)
    if not known.any():
        return {_UNKNOWN: ~known}
    cuts = np.unique(np.quantile(values[known], (0.25, 0.5, 0.75)))
    group = np.digitize(values, cuts, right=True)
    edges = [f"{cut:g}" for cut in cuts]
    labels = [
        f"up to {edges[0]}",
        *(f"above {low} to {high}" for low, high in itertools.pairwise(edges)),
        f"above {edges[-1]}",
    ]
    groups = {label: known & (group == place) for place, label in enumerate(labels)}
    return {**groups, _UNKNOWN: ~known}
