"""Withholds estimates that few respondents contribute to, where a project asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.analysis.crosstab import PooledTable
from tabsoda.analysis.design_request import DesignRequest
from tabsoda.analysis.groups import PooledGroups
from tabsoda.analysis.pooled import PooledEstimates
from tabsoda.analysis.request import EstimateRequest
from tabsoda.analysis.rows import RowCounts
from tabsoda.errors import InputError
from tabsoda.report.suppression import withhold

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations


def withhold_small(
    request: EstimateRequest, parts: Sequence[Any], result: Imputations, below: int
) -> list[Any]:
    """Return results without those of fewer than ``below`` respondents.

    Groups of that size are listed as not estimated, shares of answers that so few gave are not
    numbers, and small counts of respondents left out are removed.

    Parameters
    ----------
    request : EstimateRequest
    parts : sequence of PooledEstimates, PooledGroups or PooledTable
        The estimates of the request.
    result : Imputations
    below : int
        0 and 1 withhold nothing.

    Raises
    ------
    InputError
        If nothing is left.
    """
    if below < 2:
        return list(parts)
    # Without weights, a share times N is the number of respondents who gave an answer.
    is_share = request.kind in ("share", "table")
    plain = replace(request, design=DesignRequest(no_design=True)) if is_share else None
    counted = [None] * len(parts) if plain is None else plain.estimate(result)
    pairs = zip(parts, counted, strict=True)
    kept = [found for part, one in pairs if (found := _withheld(part, one, below)) is not None]
    if not kept:
        raise InputError(
            "The estimate is withheld",
            found=f"fewer than {below} respondents",
            next_step="Widen the subset or the groups",
        )
    return kept


def _withheld(part: Any, counted: Any, below: int) -> Any:
    if isinstance(part, PooledTable):
        rows = _withheld(part.rows, None if counted is None else counted.rows, below)
        total = _withheld(part.total, None if counted is None else counted.total, below)
        return None if rows is None or total is None else replace(part, rows=rows, total=total)
    if isinstance(part, PooledGroups):
        plain = {} if counted is None else counted.estimates
        kept = {code: _withheld(one, plain.get(code), below) for code, one in part.items()}
        left = {code: one for code, one in kept.items() if one is not None}
        why = f"fewer than {below} respondents"
        failed = {code: why for code, one in kept.items() if one is None}
        if not left:
            return None
        others = _large(part.left_out, below)
        return replace(part, estimates=left, failed=part.failed | failed, left_out=others)
    estimates: PooledEstimates = part
    if estimates.counts is None:
        return estimates
    if int(estimates.counts.used.min()) < below:
        return None
    counts = RowCounts(estimates.counts.used, _large(estimates.counts.left_out, below))
    estimates = replace(estimates, counts=counts)
    return estimates if estimates.kind != "share" else _without_rare(estimates, counted, below)


def _large(counts: dict[str, Any], below: int) -> dict[str, Any]:
    return {why: n for why, n in counts.items() if int(n.max()) == 0 or int(n.min()) >= below}


def _without_rare(
    estimates: PooledEstimates, counted: PooledEstimates | None, below: int
) -> PooledEstimates:
    """Replace shares of rare answers by NaN, and one more if they could be computed."""
    plain = estimates if counted is None else counted
    n = 1.0 if plain.counts is None else float(plain.counts.used.mean())
    numbers = [int(np.ceil(share * n - 1e-9)) for share in plain.estimates]
    hidden = np.array([count is None for count in withhold(numbers, below)])
    if not hidden.any():
        return estimates
    note = f"Shares of answers that fewer than {below} respondents gave are withheld."
    return replace(
        estimates,
        estimates=np.where(hidden, np.nan, estimates.estimates),
        notes=(*estimates.notes, note),
    )
