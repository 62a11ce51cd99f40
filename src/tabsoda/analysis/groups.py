"""The same estimate in every group of respondents."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.rows import RowCounts
from tabsoda.analysis.variables import Variable, find_variable
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Code, Column

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
# Columns with more distinct numbers or levels than this cannot be used as groups.
_MOST_NUMBERS, _MOST_LEVELS = 50, 300
NOT_ESTIMATED = "in a group that cannot be estimated"


@dataclass(frozen=True, eq=False)
class PooledGroups(Mapping[Code, Any]):
    """Estimates by group, as a mapping from a level of the grouping column to its estimates.

    Attributes
    ----------
    column : Column
        The grouping column.
    estimates : dict of Code to PooledEstimates or PooledTable
    failed : dict of Code to str
        Groups without estimates, and the reason.
    left_out : dict of str to ndarray of int64, shape (n_draws,)
        Respondents in no group or in a group that failed, by reason.
    notes : tuple of str
    """

    column: Column
    estimates: dict[Code, Any]
    failed: dict[Code, str] = field(default_factory=dict)
    left_out: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __getitem__(self, level: Code) -> Any:
        return self.estimates[level]

    def __iter__(self) -> Iterator[Code]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def describe(self, level: Code) -> str:
        """Return the name of a group, with its label."""
        return self.column.describe_level(level)

    @property
    def counts(self) -> RowCounts:
        """Respondents used in all groups together, and why others were left out."""
        groups = [one.counts for one in self.estimates.values()]
        reasons = dict.fromkeys([*self.left_out, *(why for one in groups for why in one.left_out)])
        parts = [self.left_out, *(one.left_out for one in groups)]
        left_out = {why: np.asarray(sum(part.get(why, 0) for part in parts)) for why in reasons}
        return RowCounts(np.asarray(sum(one.used for one in groups)), left_out)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all groups, each once."""
        parts = (one.warnings for one in self.estimates.values())
        return tuple(dict.fromkeys(text for part in parts for text in part))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return all groups, ready for JSON."""
        return {
            "by": self.column.name,
            "n": self.counts.to_dict(),
            "groups": [
                {"group": self._names(code), **one.to_dict(level)}
                for code, one in self.estimates.items()
            ],
            "not_estimated": [
                {"group": self._names(code), "reason": why} for code, why in self.failed.items()
            ],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def _names(self, code: Code) -> dict[str, Any]:
        return {
            "column": self.column.name,
            "code": plain(code),
            "label": self.column.level_labels.get(code),
        }

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        from tabsoda.analysis.results_text import results_text

        return results_text([self])


def pooled_by(
    result: Imputations,
    by: str,
    estimate: Callable[..., Any],
    *arguments: Any,
    where: Any = None,
    **options: Any,
) -> PooledGroups:
    """Compute an estimate in every group of respondents.

    Parameters
    ----------
    result : Imputations
    by : str
        A categorical question, or a column with few values. If answers were imputed, a respondent
        may belong to different groups in different draws.
    estimate : callable
        ``pooled_mean``, ``pooled_median``, ``pooled_quantile``, ``pooled_proportions``,
        ``pooled_model`` or ``pooled_table``.
    *arguments, **options
        Further arguments of ``estimate``, besides the result and ``where``.
    where : str or array of bool, optional
        A subset of all groups.

    Returns
    -------
    PooledGroups
        Groups whose estimate fails, such as empty groups, are listed in ``failed``.

    Examples
    --------
    >>> from tabsoda import Column, ColumnKind, CodedTable, Imputations
    >>> from tabsoda.analysis import pooled_mean
    >>> from tabsoda.results import ImputedCells
    >>> columns = (Column("sex", ColumnKind.NOMINAL, (1, 2)), Column("age", ColumnKind.CONTINUOUS))
    >>> table = CodedTable.from_values(
    ...     columns, np.array([[0, 20.0], [0, 30], [1, 40], [1, np.nan]])
    ... )
    >>> cells = ImputedCells(np.array([3]), np.array([1]), np.array([[50.0], [60.0]]),
    ...                      np.array([55.0]), np.array([55.0]))
    >>> groups = pooled_by(Imputations(table, cells), "sex", pooled_mean, "age")
    >>> {level: float(pooled.estimates[0]) for level, pooled in groups.items()}
    {1: 25.0, 2: 47.5}
    """
    variable = find_variable(result, by, "by")
    column, members = _groups(result, variable)
    rows = selected_rows(result, where).answered([variable]).by([by])
    estimates: dict[Code, Any] = {}
    failed: dict[Code, str] = {}
    errors: list[InputError] = []
    for place, level in enumerate(column.levels):
        group = rows.group(members == place)
        if not group.counted.any():
            failed[level] = "nobody"
            continue
        try:
            estimates[level] = estimate(result, *arguments, where=group, **options)
        except InputError as error:
            failed[level] = str(error)
            errors.append(error)
            rows = rows.keep(members != place, NOT_ESTIMATED)
    if not estimates:
        raise (
            errors[0]
            if errors
            else InputError(
                "has no group with respondents", column=by, next_step="Widen the subset"
            )
        )
    return PooledGroups(column, estimates, failed, rows.left_out, _notes(variable))


def _groups(result: Imputations, variable: Variable) -> tuple[Column, Array]:
    """Return a column with the groups as levels, and the group of each row, (n_draws, n_rows)."""
    coded = np.array([variable.coded(draw) for draw in range(1, len(result) + 1)])
    levels = np.unique(coded[~np.isnan(coded)])
    most = _MOST_LEVELS if variable.column.is_categorical else _MOST_NUMBERS
    if len(levels) > most:
        raise InputError(
            "has too many different values to form groups",
            column=variable.column.name,
            found=f"{len(levels):,} values",
            expected=f"a categorical question, or at most {most} values",
            next_step="Use where for each group, such as AGE < 40",
        )
    if variable.column.is_categorical:
        return variable.column, coded
    places = np.where(np.isnan(coded), np.nan, np.searchsorted(levels, coded))
    return replace(variable.column, levels=tuple(plain(float(v)) for v in levels)), places


def _notes(variable: Variable) -> tuple[str, ...]:
    if not variable.is_imputed:
        return ()
    name = variable.column.name
    return (f"Some answers to {name} were imputed: groups are formed in every draw.",)
