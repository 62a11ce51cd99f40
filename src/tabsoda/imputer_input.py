"""What the imputer takes: arrays, frames, files and surveys, all to one prepared table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.states.cell_states import CellStates
from tabsoda.survey import Survey
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table ready for the engine, and what is needed to give the result back as it came.

    Attributes
    ----------
    table : CodedTable
    survey : Survey or None
        None for plain arrays.
    original : frame, array or None
        What was put in, where it was a frame, a described array or an array of float32.
    events : EventLog
    known_skips : ndarray of bool, shape (n_rows, n_columns), or None
        Skips known before rules were applied, from codes or a mask; None where no rules were.
    occurrences : ndarray of int64, shape (n_rows,), or None
        How many rows equal to each come before it, where these rows are part of a larger table.
    """

    table: CodedTable
    survey: Survey | None = None
    original: Any = None
    events: EventLog = field(default_factory=EventLog)
    known_skips: NDArray[np.bool_] | None = None
    occurrences: NDArray[np.int64] | None = None

    @classmethod
    def settled(cls, survey: Survey, known_skips: NDArray[np.bool_] | None) -> PreparedTable:
        """Take a survey to which rules were applied already, or none are to be."""
        events = EventLog([*survey.events])
        return cls(survey.table, survey, events=events, known_skips=known_skips)

    def with_states(self, states: CellStates) -> PreparedTable:
        """Return the same table under other states."""
        survey = None if self.survey is None else self.survey.with_states(states)
        return replace(self, table=self.table.with_states(states), survey=survey)

    def with_rules(self, rules: Any, how: str | None = None) -> PreparedTable:
        """Return the table with what rules skip marked, and record it.

        Parameters
        ----------
        rules : RuleSet
        how : str, optional
            Why rules without a review are applied; accepted by default.
        """
        from tabsoda.skips.review_policy import ACCEPTED, apply_rules

        known = self.table.states.skipped
        states = apply_rules(self.table, rules, self.events, how or ACCEPTED)
        return replace(self.with_states(states), known_skips=known)

    def mined(self, progress: Callable[[int, int, str], None] | None) -> tuple[PreparedTable, Any]:
        """Mine the routing rules, and return the table under the mined states with the rules."""
        from tabsoda.skips.mining import mine_rules

        rules = mine_rules(self.survey or self.table, events=self.events, progress=progress)
        self.events.add("skips", "rules mined", detail=f"{len(rules)} rules")
        return self.with_rules(rules), rules


def check_rules(rules: Any, *, accepted: bool) -> None:
    """Raise where rules are not a rule set, or not reviewed and not accepted as they are."""
    from tabsoda.skips.review_policy import require_review

    if not hasattr(rules, "apply"):
        raise InputError(
            "The parameter rules is not usable",
            found=type(rules).__name__,
            expected="a RuleSet",
            next_step="Read a file of rules by RuleSet.from_toml",
        )
    require_review(rules, accepted=accepted)


def check_names(frame: Any) -> None:
    """Raise where the columns of a frame have names of mixed types, or two have one name."""
    from tabsoda.reading.raw import refuse_odd_names

    refuse_odd_names(frame.columns if hasattr(frame, "columns") else frame.column_names)


def unmasked(X: Any) -> Any:
    """Return a masked array with its masked cells blank; anything else as it is.

    Examples
    --------
    >>> unmasked(np.ma.masked_less([[1, -9]], 0)).tolist()
    [[1.0, nan]]
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if X.dtype.kind in "fiub":
        # The smallest type of floats that holds them all.
        values, blank = np.array(X.data, dtype=np.result_type(X.dtype, np.float16)), np.nan
    else:
        values, blank = np.array(X.data, dtype=object), None
    values[np.ma.getmaskarray(X)] = blank
    return values


def _is_blank(value: Any) -> bool:
    """Whether a cell of an array of objects holds nothing: None, NaN, or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        # What is neither equal to itself nor not: NA.
        return True


def prepare(
    X: Any, description: Any, skip_mask: Any, rules: Any, how: str | None = None
) -> PreparedTable:
    """Read whatever was given and settle the state of every cell.

    Parameters
    ----------
    X : array, frame, path, Survey or PreparedTable
        What is prepared already is returned as it is.
    description : Schema, path, list of dict or None
    skip_mask : array, frame, path or None
        Added to the skips that codes tell.
    rules : RuleSet or None
        Applied last.
    how : str, optional
        As in :meth:`PreparedTable.with_rules`.
    """
    if isinstance(X, PreparedTable):
        return X
    if isinstance(X, Survey):
        prepared = PreparedTable(X.table, X, events=EventLog([*X.events]))
        if skip_mask is not None:
            prepared = _masked(prepared, skip_mask)
    elif isinstance(X, str | Path):
        prepared = _from_survey(X, description, skip_mask, None)
    elif hasattr(X, "columns") or hasattr(X, "column_names"):
        prepared = _from_survey(X, description, skip_mask, X)
    elif description is not None:
        prepared = _from_survey(_array_frame(X), description, skip_mask, np.asarray(X))
    else:
        prepared = _from_array(X, skip_mask)
    if rules is not None:
        prepared = prepared.with_rules(rules, how)
    return prepared


def _from_survey(source: Any, description: Any, skip_mask: Any, original: Any) -> PreparedTable:
    from tabsoda.reading import read_survey

    survey = read_survey(source, description, skip_mask=skip_mask)
    return PreparedTable(survey.table, survey, original, EventLog([*survey.events]))


def _from_array(X: Any, skip_mask: Any) -> PreparedTable:
    values = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    columns = tuple(
        Column(f"x{number}", ColumnKind.CONTINUOUS) for number in range(values.shape[1])
    )
    # The engine works in float64; the result has the type of what was put in.
    original = X if isinstance(X, np.ndarray) and X.dtype == np.float32 else None
    prepared = PreparedTable(CodedTable.from_values(columns, values), original=original)
    return prepared if skip_mask is None else _masked(prepared, np.asarray(skip_mask))


def _array_frame(X: Any) -> Any:
    import polars as pl

    values = np.asarray(X)
    if values.ndim != 2:
        raise InputError(
            "The array is no table", found=f"{values.ndim} dimensions", expected="2 dimensions"
        )
    names = [f"x{number}" for number in range(values.shape[1])]
    if values.dtype == object:
        lists = [[None if _is_blank(v) else v for v in column] for column in values.T]
        return pl.DataFrame(dict(zip(names, lists, strict=True)), strict=False)
    frame = pl.DataFrame(values, schema=names)
    return frame.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))


def _masked(prepared: PreparedTable, skip_mask: Any) -> PreparedTable:
    from tabsoda.reading.skip_masks import load_mask
    from tabsoda.states.sources import add_mask

    table = prepared.table
    mask = load_mask(skip_mask, table.names, table.shape[0])
    return prepared.with_states(add_mask(table.states, mask))
