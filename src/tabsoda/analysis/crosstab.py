"""Cross tables: the shares of one question's levels within each level of another."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tabsoda.analysis.estimates import pooled_proportions
from tabsoda.analysis.groups import PooledGroups, pooled_by
from tabsoda.analysis.pooled import PooledEstimates
from tabsoda.analysis.sample_design import DesignChoice
from tabsoda.analysis.variables import find_variable
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError
from tabsoda.schema.column import Column

if TYPE_CHECKING:
    from tabsoda.analysis.rows import RowCounts
    from tabsoda.results.imputations import Imputations


@dataclass(frozen=True, eq=False)
class PooledTable:
    """Row percentages of a cross table, pooled.

    Attributes
    ----------
    column : Column
        The question whose levels are the columns.
    rows : PooledGroups
        Shares of those levels, by level of the other question.
    total : PooledEstimates
        Shares among all respondents with an answer to both.
    """

    column: Column
    rows: PooledGroups
    total: PooledEstimates

    @property
    def counts(self) -> RowCounts:
        """Respondents used, and reasons why others were left out."""
        return self.rows.counts

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the draws were made without, in the whole table or in its rows."""
        return tuple(dict.fromkeys((*self.total.warnings, *self.rows.warnings)))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return all cells, ready for JSON."""
        return {
            "row": self.rows.column.name,
            "column": self.column.name,
            "n": self.counts.to_dict(),
            "rows": self.rows.to_dict(level)["groups"],
            "not_estimated": self.rows.to_dict(level)["not_estimated"],
            "total": self.total.to_dict(level),
            "notes": list(self.rows.notes),
            "warnings": list(self.warnings),
        }

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        from tabsoda.analysis.results_text import results_text

        return results_text([self])


def pooled_table(
    result: Imputations,
    row: str,
    column: str,
    *,
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
) -> PooledTable:
    """Pool a cross table of two categorical questions, in row percentages.

    Parameters
    ----------
    result : Imputations
    row, column : str
        Shares of the levels of ``column`` are estimated within each level of ``row``.
    weights : str, array or ReplicateWeights, optional
        As in :func:`tabsoda.analysis.pooled_mean`.
    where : str or array of bool, optional
        A subset, as in :func:`tabsoda.analysis.pooled_mean`.
    design : SampleDesign, "described" or None
        As in :func:`tabsoda.analysis.pooled_mean`.
    """
    if row == column:
        raise InputError(
            "cannot be both the rows and the columns of a table",
            column=row,
            expected="two different questions",
        )
    selected = selected_rows(result, where)
    options = {"weights": weights, "design": design}
    groups = pooled_by(result, row, pooled_proportions, column, where=selected, **options)
    both = selected.answered([find_variable(result, row, "table")])
    total = pooled_proportions(result, column, where=both, **options)
    return PooledTable(find_variable(result, column).column, groups, total)
