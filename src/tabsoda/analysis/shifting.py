"""Applies shifts to the imputed answers of a result; observed answers and skips stay."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import keyed_uniforms, numpy_generator, row_keys
from tabsoda.analysis.shifted_edits import edits_of
from tabsoda.analysis.shifts import Shift, Unit
from tabsoda.analysis.tilting import LevelProbabilities
from tabsoda.analysis.variables import unknown_column, written_levels
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError
from tabsoda.followers import find_followers
from tabsoda.schema.codes import CodeBook
from tabsoda.schema.column import Column, ColumnKind, Reason
from tabsoda.states.cell_states import REASONS, reason_code

if TYPE_CHECKING:
    from tabsoda.edits.edit_set import EditSet
    from tabsoda.results.imputations import Imputations
    from tabsoda.skips.rule_set import RuleSet

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# From draws, shape (n_draws, n_cells), and a delta to the draws after the shift.
Move = Callable[[Array, float], Array]
_UNITS: dict[ColumnKind, tuple[Unit, ...]] = {
    ColumnKind.CONTINUOUS: ("sd", "units", "percent"),
    ColumnKind.ORDINAL: ("levels", "odds"),
    ColumnKind.NOMINAL: ("odds",),
}


@dataclass(frozen=True, eq=False)
class PlannedShift:
    """A shift made ready for a result.

    Attributes
    ----------
    shift : Shift
        With its unit.
    moves : tuple of callable
        One per question.
    whole_rows : bool
        Whether all imputed answers of a respondent move, because the question decides who is asked
        others.
    n_cells : int
        Imputed answers that are shifted.
    size : float or None
        The standard deviation, if that is the unit and there is one question.
    notes : tuple of str
    """

    shift: Shift
    moves: tuple[Move, ...]
    whole_rows: bool
    n_cells: int
    size: float | None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PlannedShift:
        """Read a shift of :meth:`Sensitivity.to_dict`, for texts and pictures."""
        given = {one.name: content[one.name] for one in fields(Shift)}
        given["questions"] = tuple(given["questions"])
        given["reasons"] = tuple(map(Reason, given["reasons"]))
        n_cells = content["imputed_answers"] or 0
        return cls(Shift(**given), (), False, n_cells, content["standard_deviation"])


def plan_shift(
    result: Imputations,
    shift: Shift,
    *,
    seed: int = 0,
    within_range: bool = False,
    gates: Mask | None = None,
    edits: EditSet | None = None,
) -> PlannedShift:
    """Find the answers that a shift moves, or raise if it cannot be applied.

    Parameters
    ----------
    result : Imputations
    shift : Shift
    seed : int
        Of the random numbers that choose which categorical answers change.
    within_range : bool
        Keep shifted numbers within the range of the observed ones.
    gates : ndarray of bool, shape (n_columns,), optional
        See :func:`find_gates`.
    edits : EditSet, optional
        See :func:`~tabsoda.analysis.shifted_edits.edits_of`.
    """
    gates = find_gates(result) if gates is None else gates
    edits = edits_of(result) if edits is None else edits
    keys = row_keys(result.table.values, result.table.states.states)
    moves: list[Move] = []
    sizes: list[float] = []
    notes: list[str] = []
    units: set[Unit] = set()
    whole_rows, n_cells = False, 0
    for name in shift.questions:
        if name not in result.table.names:
            raise unknown_column(name, result.table.names, "a shift")
        position = result.table.names.index(name)
        column = result.table.columns[position]
        _refuse_derived(edits, name)
        unit = _checked_unit(column, shift, bool(gates[position]))
        units.add(unit)
        one = replace(shift, unit=unit)
        cells, member = _members(result, position, shift)
        n_cells += int(member.any(axis=0).sum())
        if column.kind is ColumnKind.CONTINUOUS:
            move, sd = _number_move(result, position, cells, member, one, within_range)
            sizes.append(sd)
            if not within_range:
                note_end = ", before edits" if name in edits.involved else ""
                notes += _notes_on_range(result, position, cells, member, one, sd, note_end)
        else:
            randomness = _Randomness(result, seed, keys, cells, name)
            move = _level_move(column, cells, member, one, randomness, bool(gates[position]))
        if gates[position]:
            whole_rows = True
            notes.append(
                f"{name} decides who is asked other questions: all imputed answers of a respondent"
                " move with it, to those of another draw of the same respondent."
            )
        moves.append(move)
    if len(units) > 1:
        raise InputError(
            "Questions that are shifted together need the same unit",
            found=f"{', '.join(shift.questions)} in {' and '.join(sorted(units))}",
            next_step="Give several shifts instead",
        )
    size = sizes[0] if len(sizes) == 1 and units == {"sd"} else None
    return PlannedShift(
        replace(shift, unit=units.pop()), tuple(moves), whole_rows, n_cells, size, tuple(notes)
    )


def shifted_result(
    result: Imputations, planned: Sequence[PlannedShift], deltas: Sequence[float]
) -> Imputations:
    """Return a result whose imputed answers are shifted; its point estimates are not.

    Edits may be violated; see :func:`~tabsoda.analysis.shifted_edits.keep_edits`.

    Examples
    --------
    >>> from tabsoda import CodedTable, Column, ColumnKind
    >>> from tabsoda.results import Imputations, ImputedCells
    >>> table = CodedTable.from_values(
    ...     (Column("age", ColumnKind.CONTINUOUS),), np.array([[20.0], [40.0], [np.nan]])
    ... )
    >>> cells = ImputedCells(np.array([2]), np.array([0]), np.array([[30.0], [36.0]]),
    ...                      np.array([33.0]), np.array([33.0]))
    >>> result = Imputations(table, cells)
    >>> planned = plan_shift(result, Shift(("age",), -1, 1, unit="units"))
    >>> shifted_result(result, [planned], [-5.0]).cells.draws.tolist()
    [[25.0], [31.0]]
    """
    draws = np.array(result.cells.draws)
    # Moves of whole rows come first: they copy answers that other moves then shift.
    for first in (True, False):
        for plan, delta in zip(planned, deltas, strict=True):
            if plan.whole_rows is first and delta != 0:
                for move in plan.moves:
                    draws = move(draws, delta)
    # A copy, because a new result would clip numbers to the integer type of their column.
    shifted = copy.copy(result)
    object.__setattr__(shifted, "cells", replace(result.cells, draws=draws))
    return shifted


def find_gates(result: Imputations, rules: RuleSet | None = None) -> Mask:
    """Return which questions decide whether others are asked, shape (n_columns,).

    Those that rules name. Without rules, the categorical questions of which an answer determines
    the skip of another question. Numbers then never count: the lowest tenth of incomes may well
    determine who was asked about a job, without being a condition.

    Parameters
    ----------
    result : Imputations
    rules : RuleSet, optional
        By default those of the imputer that made the result.
    """
    table = result.table
    if rules is None and result.run is not None and result.run.imputer is not None:
        rules = result.run.imputer.rules_
    if rules is not None:
        return np.isin(table.names, [gate for rule in rules.active for gate in rule.gates])
    # Skips may also come from a mask or from codes, without a rule.
    followers = find_followers(table) | find_followers(table, known_only=True)
    return followers.any(axis=1) & np.array([one.is_categorical for one in table.columns])


def _refuse_derived(edits: EditSet, name: str) -> None:
    if name in edits.derived:
        raise InputError(
            "is computed from other questions, so it cannot be shifted on its own",
            column=name,
            found=next(one.title for one in edits.constraints if one.target == name),
            next_step=f"Shift {' or '.join(sorted(edits.derived[name].parts))} instead",
        )


def _checked_unit(column: Column, shift: Shift, is_gate: bool) -> Unit:
    allowed = _UNITS[column.kind]
    unit = shift.unit or allowed[0]
    if is_gate and shift.unit is None and "odds" in allowed:
        unit = "odds"
    if unit not in allowed:
        raise InputError(
            f"cannot be shifted in {unit}",
            column=column.name,
            found=f"a {column.kind.value} question",
            expected=" or ".join(allowed),
        )
    if is_gate and unit != "odds":
        raise InputError(
            "decides who is asked other questions, so its imputed answers cannot be shifted"
            f" in {unit}",
            column=column.name,
            found="questions that are skipped by its answers",
            expected="a question without followers, or a shift in odds",
            next_step="Shift its followers instead",
        )
    if column.kind is ColumnKind.NOMINAL and shift.level is None:
        raise InputError(
            "is nominal, so a shift needs the level whose odds change",
            column=column.name,
            found=written_levels(column),
            next_step=f"Write {column.name}[{column.levels[0]}]",
        )
    if shift.level is not None and unit != "odds":
        raise InputError(
            f"has a level in its shift, which needs the unit odds and not {unit}",
            column=column.name,
            found=f"[{shift.level}]",
        )
    return unit


def _members(result: Imputations, position: int, shift: Shift) -> tuple[NDArray[np.int64], Mask]:
    """Return the cells of a shift, and in which draws they belong to it, (n_draws, n_cells)."""
    here = np.flatnonzero(result.cells.positions == position)
    reasons = result.table.states.reasons[result.cells.rows[here], position]
    cells = here
    if shift.reasons:
        cells = here[np.isin(reasons, [reason_code(reason) for reason in shift.reasons])]
    member = np.ones((len(result), len(cells)), dtype=bool)
    if shift.where is not None:
        member = selected_rows(result, shift.where).counted[:, result.cells.rows[cells]]
    if not member.any():
        codes, counts = np.unique(reasons, return_counts=True)
        listed = [f"{n:,} {REASONS[code - 1].value}" for code, n in zip(codes, counts, strict=True)]
        raise InputError(
            "has no imputed answers that the shift could move",
            column=result.table.names[position],
            found=f"imputed answers by reason: {', '.join(listed)}" if listed else "none imputed",
            next_step="Choose another question, reason or condition",
        )
    return cells, member


def _number_move(
    result: Imputations,
    position: int,
    cells: NDArray[np.int64],
    member: Mask,
    shift: Shift,
    within_range: bool,
) -> tuple[Move, float]:
    states, column = result.table.states, result.table.columns[position]
    observed = result.table.values[states.answered[:, position], position]
    size = float(observed.std(ddof=1)) if shift.unit == "sd" and len(observed) > 1 else 1.0
    if not size > 0:
        raise InputError(
            "has a standard deviation of 0, so it cannot be shifted in standard deviations",
            column=column.name,
            found="observed answers that are all the same",
            next_step='Use the unit "units", the units of the question',
        )
    ends = (observed.min(), observed.max()) if within_range else (-np.inf, np.inf)

    def move(draws: Array, delta: float) -> Array:
        moved = np.array(draws)
        here = draws[:, cells]
        # NaN, a skip of this draw, stays NaN.
        shifted = moved_numbers(here, delta, shift.unit, size)
        moved[:, cells] = np.where(member, np.clip(shifted, *ends), here)
        return moved

    return move, size


def moved_numbers(numbers: Array, delta: float, unit: Unit | None, size: float) -> Array:
    """Return shifted numbers.

    Examples
    --------
    >>> moved_numbers(np.array([10.0, 20.0]), -50.0, "percent", 1.0).tolist()
    [5.0, 10.0]
    """
    return numbers * (1 + delta / 100) if unit == "percent" else numbers + delta * size


def _notes_on_range(
    result: Imputations,
    position: int,
    cells: NDArray[np.int64],
    member: Mask,
    shift: Shift,
    size: float,
    end: str,
) -> list[str]:
    """Say how many shifted numbers are outside the range of the observed ones, at both ends."""
    states, name = result.table.states, result.table.names[position]
    observed = result.table.values[states.answered[:, position], position]
    drawn = result.cells.draws[:, cells][member]
    drawn = drawn[~np.isnan(drawn)]
    notes = []
    for delta in sorted({shift.low, shift.high} - {0.0}):
        moved = moved_numbers(drawn, delta, shift.unit, size)
        share = float(((moved < observed.min()) | (moved > observed.max())).mean())
        if share > 0:
            notes.append(
                f"Shifted by {delta:+g}, {100 * share:.1f} % of these answers to {name} are outside"
                f" the range of the observed ones, {observed.min():g} to {observed.max():g}{end}."
            )
    return notes


@dataclass(frozen=True, eq=False)
class _Randomness:
    """Random numbers of one question's cells, by the content of their rows."""

    result: Imputations
    seed: int
    keys: NDArray[np.int64]
    cells: NDArray[np.int64]
    name: str

    def uniforms(self, purpose: str) -> Array:
        """Return numbers between 0 and 1, shape (n_draws, n_cells)."""
        keys = self.keys[self.result.cells.rows[self.cells]]
        draws = range(len(self.result))
        return np.array(
            [keyed_uniforms(keys, self.seed, "shift", self.name, purpose, d) for d in draws]
        )


def _level_move(
    column: Column,
    cells: NDArray[np.int64],
    member: Mask,
    shift: Shift,
    randomness: _Randomness,
    is_gate: bool,
) -> Move:
    keep = randomness.uniforms("keep")
    if shift.unit == "levels":

        def by_levels(draws: Array, delta: float) -> Array:
            moved, here = np.array(draws), draws[:, cells]
            # A fraction of a level moves that share of the answers by one more level.
            further = np.floor(delta + 1 - keep)
            shifted = np.clip(here + further, 0, column.n_levels - 1)
            moved[:, cells] = np.where(member, shifted, here)
            return moved

        return by_levels
    scores = np.arange(column.n_levels, dtype=np.float64)
    if shift.level is not None:
        scores = (scores == _level_place(column, shift.level)).astype(np.float64)
    drawn, choose = randomness.result.cells.draws[:, cells], randomness.uniforms("choose")
    generator = numpy_generator(randomness.seed, "shift", column.name, "probabilities")
    known = (
        LevelProbabilities.as_drawn(drawn, column.n_levels)
        if is_gate
        else LevelProbabilities.of_draws(drawn, column.n_levels, generator)
    )

    def by_odds(draws: Array, delta: float) -> Array:
        wanted = known.replaced(drawn, scores, delta, keep, choose)
        wanted = np.where(member, wanted, drawn)
        if is_gate:
            return _with_donors(randomness, draws, drawn, wanted)
        moved = np.array(draws)
        moved[:, cells] = wanted
        return moved

    return by_odds


def _with_donors(randomness: _Randomness, draws: Array, drawn: Array, wanted: Array) -> Array:
    """Copy all imputed answers of a respondent from a draw that has the wanted answer."""
    moved = np.array(draws)
    numbers = randomness.uniforms("donor")
    rows = randomness.result.cells.rows
    changed = np.argwhere((wanted != drawn) & ~np.isnan(drawn))
    if not len(changed):
        return moved
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], rows[randomness.cells])
    ends = np.searchsorted(rows[order], rows[randomness.cells], side="right")
    for draw, cell in changed:
        donors = np.flatnonzero(drawn[:, cell] == wanted[draw, cell])
        donor = donors[int(numbers[draw, cell] * len(donors))]
        row_cells = order[starts[cell] : ends[cell]]
        moved[draw, row_cells] = randomness.result.cells.draws[donor, row_cells]
    return moved


def _level_place(column: Column, text: str) -> int:
    """Return the position of a level given as a code or a label."""
    level = CodeBook(column.levels).find(text)
    if level is not None:
        return column.levels.index(level)
    labelled = [
        place for place, one in enumerate(column.levels) if column.level_labels.get(one) == text
    ]
    if len(labelled) != 1:
        raise InputError(
            "does not have the level given in a shift",
            column=column.name,
            found=repr(text),
            expected=f"one of {written_levels(column)}",
        )
    return labelled[0]
