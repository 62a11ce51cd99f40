"""Draws from the heads, drawn anew from regressions; and how the regressions come about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator, stream_key
from tabsoda.em.model import Model
from tabsoda.em.sequential_draws import draw_values
from tabsoda.em.working_table import WorkingTable
from tabsoda.events import EventLog
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms

if TYPE_CHECKING:
    from tabsoda.regressions import ChainedRegressions

Values = NDArray[np.float64]

# Draws should not remember what the network drew first.
_FIRST_ROUNDS = 3


def complete_once(
    model: Model, data: WorkingTable, table: CodedTable, rows: NDArray[np.int64]
) -> Values:
    """Draw the missing cells of some rows from the heads, shape (len(rows), d).

    Parameters
    ----------
    model : Model
        Trained, with decoder heads.
    data : WorkingTable
    table : CodedTable
        In the order of ``data``, with held-out cells missing.
    rows : ndarray of int64
    """
    part = table.rows(rows)
    incomplete = np.flatnonzero(data.to_impute.any(dim=1).cpu().numpy()[rows])
    asked = torch.as_tensor(rows[incomplete], device=data.row_keys.device)
    filled = _with_constants(model, part)
    drawn = draw_values(model, data, asked, 1)
    filled[incomplete] = np.where(part.states.missing[incomplete], drawn, filled[incomplete])
    return filled


def rows_to_regress(
    model: Model, n_rows: int, weights: Values | None, events: EventLog
) -> NDArray[np.int64]:
    """Choose the rows that regressions are fitted to: all with a weight, or a sample of them."""
    rows = np.arange(n_rows)
    if weights is not None:
        rows = rows[weights > 0]
    most = model.settings.regressions.max_rows
    if rows.size > most:
        generator = numpy_generator(model.seed, "rows of regressions")
        rows = np.sort(generator.choice(rows, most, replace=False))
        events.add(
            "train",
            "regressions fitted to some rows",
            detail=f"{most} of {n_rows}; more of them change little",
        )
    return rows


def regressed_columns(model: Model, table: CodedTable, events: EventLog) -> list[int]:
    """Return the columns to regress; not those of too many levels or too few answers."""
    from tabsoda.regressions.chained_regressions import FEWEST_ANSWERS

    positions = []
    answers = table.states.answered.sum(axis=0)
    for position in np.flatnonzero(model.codec.modelled).tolist():
        column, why = table.columns[position], ""
        if column.is_categorical and column.n_levels > model.settings.regressions.max_levels:
            why = f"{column.n_levels} levels"
        elif answers[position] < FEWEST_ANSWERS:
            why = f"{answers[position]} answers"
        if why:
            detail = f"{why}; the network alone draws it"
            events.add("train", "column not regressed", column=column.name, detail=detail)
        else:
            positions.append(position)
    return positions


@dataclass(frozen=True, eq=False)
class RegressionFit:
    """Fits the regressions of a model, to a table with held-out cells and to all of it.

    Attributes
    ----------
    model : Model
    filled : ndarray of float64, shape (n, d)
        The rows to fit, completed once by the network.
    rows : ndarray of int64, shape (n,)
    positions : list of int
    followers : ndarray of bool, shape (d, d)
        True at (gate, follower): a gate is not regressed on what it decides.
    weights : ndarray of float64, shape (n,), or None
    """

    model: Model
    filled: Values
    rows: NDArray[np.int64]
    positions: list[int]
    followers: NDArray[np.bool_]
    weights: Values | None

    @classmethod
    def start(
        cls,
        model: Model,
        data: WorkingTable,
        shown: CodedTable,
        followers: NDArray[np.bool_],
        weights: Values | None,
        events: EventLog,
        draws: bool = True,
    ) -> RegressionFit | None:
        """Complete the table once; None where no regressions are asked for.

        ``shown`` is in the order of ``data``, with held-out cells missing.
        """
        settings = model.settings.regressions
        if not (settings.point_sets or (draws and settings.sets)):
            return None
        rows = rows_to_regress(model, shown.shape[0], weights, events)
        return cls(
            model,
            complete_once(model, data, shown, rows),
            rows,
            regressed_columns(model, shown, events),
            followers,
            None if weights is None else weights[rows],
        )

    def for_points(self, shown: CodedTable) -> ChainedRegressions | None:
        """Fit the sets of point estimates, to a table without held-out cells."""
        # Estimates are averages over sets, which may well be alike, and like their start.
        return self._fit(shown, self.model.settings.regressions.point_sets, rounds=1, row_share=1.0)

    def for_draws(
        self, table: CodedTable, report: Callable[[int, int, str], None] | None = None
    ) -> ChainedRegressions | None:
        """Fit the sets of draws, to the whole table."""
        settings = self.model.settings.regressions
        return self._fit(
            table, settings.sets, settings.rounds, settings.row_share, _FIRST_ROUNDS, report
        )

    def _fit(
        self,
        table: CodedTable,
        n_sets: int,
        rounds: int,
        row_share: float,
        first_rounds: int = 0,
        report: Callable[[int, int, str], None] | None = None,
    ) -> ChainedRegressions | None:
        if n_sets == 0:
            return None
        # Its libraries take a while to load, and only this needs them.
        from tabsoda.regressions import ChainedRegressions

        part = table.rows(self.rows)

        def tell(done: int, total: int) -> None:
            if report is not None:
                report(done, total, "regressions")

        return ChainedRegressions.fit(
            part,
            np.where(part.states.answered, part.values, self.filled),
            self.positions,
            self.followers,
            n_sets=n_sets,
            rounds=rounds,
            max_questions=self.model.settings.regressions.max_questions,
            seed=self.model.seed,
            first_rounds=first_rounds,
            row_share=row_share,
            row_weights=self.weights,
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
