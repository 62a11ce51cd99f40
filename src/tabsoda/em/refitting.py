"""Draws from the heads, drawn anew from regressions; and how the regressions come about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import keyed_uniforms, numpy_generator, stream_key
from tabsoda.em.model import Model
from tabsoda.em.sequential_draws import draw_values
from tabsoda.em.working_table import WorkingTable
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.regressions import ChainedRegressions

Values = NDArray[np.float64]


def fit_regressions(
    model: Model,
    data: WorkingTable,
    table: CodedTable,
    followers: NDArray[np.bool_],
    weights: Values | None,
    events: EventLog,
    report: Callable[[int, int, str], None] | None = None,
) -> ChainedRegressions | None:
    """Fit the regressions that the settings ask for, from a table that the network completes.

    Parameters
    ----------
    model : Model
        Trained, with decoder heads.
    data : WorkingTable
    table : CodedTable
        In the order of ``data``, with held-out cells missing.
    followers : ndarray of bool, shape (d, d)
        True at (gate, follower): a gate is not regressed on what it decides.
    weights : ndarray of float64, shape (n,), or None
    events : EventLog
    report : callable, optional
    """
    settings = model.settings.regressions
    if settings.sets == 0:
        return None
    # Its libraries take a while to load, and only this needs them.
    from tabsoda.regressions import ChainedRegressions

    rows = np.arange(table.shape[0])
    if weights is not None:
        rows = rows[weights > 0]
    if rows.size > settings.max_rows:
        chosen = numpy_generator(model.seed, "rows of regressions")
        rows = np.sort(chosen.choice(rows, settings.max_rows, replace=False))
        events.add(
            "train",
            "regressions fitted to some rows",
            detail=f"{rows.size} of {table.shape[0]}; more of them change little",
        )
    part = table.rows(rows)
    incomplete = np.flatnonzero(data.to_impute.any(dim=1).cpu().numpy()[rows])
    asked = torch.as_tensor(rows[incomplete], device=data.row_keys.device)

    filled = _with_constants(model, part)
    drawn = draw_values(model, data, asked, 1)
    filled[incomplete] = np.where(part.states.missing[incomplete], drawn, filled[incomplete])

    def tell(done: int, total: int) -> None:
        if report is not None:
            report(done, total, "regressions")

    positions = []
    for position in np.flatnonzero(model.codec.modelled).tolist():
        column = table.columns[position]
        if column.is_categorical and column.n_levels > settings.max_levels:
            events.add(
                "train",
                "column not regressed",
                column=column.name,
                detail=f"{column.n_levels} levels; the network alone draws it",
            )
            continue
        positions.append(position)
    return ChainedRegressions.fit(
        part,
        filled,
        positions,
        followers,
        n_sets=settings.sets,
        rounds=settings.rounds,
        max_questions=settings.max_questions,
        seed=model.seed,
        row_weights=None if weights is None else weights[rows],
        report=tell,
    )


def redraw(
    model: Model,
    regressions: ChainedRegressions | None,
    table: CodedTable,
    data: WorkingTable,
    incomplete: torch.Tensor,
    number: int,
    drawn: Values,
) -> Values:
    """Draw cells anew from the regressions, given what the network drew.

    Parameters
    ----------
    model : Model
    regressions : ChainedRegressions or None
        Without any, the draws stay what they are.
    table : CodedTable
    data : WorkingTable
        Of the same table.
    incomplete : int64 tensor, shape (B,)
        The rows to draw.
    number : int
        Which draw, from 1.
    drawn : ndarray of float64, shape (B, d)
        From the network, NaN in cells that were not missing.

    Returns
    -------
    ndarray of float64, shape (B, d)
    """
    if regressions is None:
        return drawn
    part = table.rows(incomplete.cpu().numpy())
    missing = part.states.missing & ~np.isnan(drawn)
    filled = np.where(missing, drawn, _with_constants(model, part))
    keys = data.row_keys[incomplete]
    uniforms = [
        keyed_uniforms(stream_key(model.seed, "redraw", number, sweep), keys, table.shape[1])
        for sweep in range(model.settings.regressions.sweeps)
    ]
    refitted = regressions.redraw(
        filled,
        missing,
        part.states.skipped,
        number,
        [one.double().cpu().numpy() for one in uniforms],
    )
    return np.where(missing, refitted, drawn)


def _with_constants(model: Model, table: CodedTable) -> Values:
    """Return a table's answers, with constants where columns that are not modelled are missing."""
    return np.where(table.states.missing, model.codec.pass_value, table.values)
