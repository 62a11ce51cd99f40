"""A survey in memory: the values of the file, their meaning, and the state of every cell."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.files import file_hash
from tabsoda.event_texts import stage
from tabsoda.events import EventLog
from tabsoda.schema.schema import Schema
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class InputFile:
    """An input file and the hash of its content."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: str | Path) -> InputFile:
        """Return a file with the hash of its current content."""
        return cls(Path(path), file_hash(Path(path)))


@dataclass(frozen=True, eq=False)
class Survey:
    """A survey as :func:`tabsoda.read_survey` returns it, to be mined, imputed and exported.

    Attributes
    ----------
    frame : polars.DataFrame
        Every column of the file with its values as published; special codes included, except
        that Stata and SAS letters (``.a``) are null here and kept in ``tags``. None for a plain
        array of numbers.
    schema : Schema
        The meaning of every column. ``schema.questions`` are mined and imputed.
    table : CodedTable
        The questions as numbers with their states, rows as in ``frame``.
    tags : dict of str to ndarray of object
        For columns with lettered missing values: the letter per row (``".a"``), or None.
    events : EventLog
        Decisions taken while reading and describing.
    source : str
        The file's name, for messages; empty for a frame.
    files : dict of str to InputFile
        The files that were read: ``"data"``, ``"survey"``, ``"codebook"``, ``"skip_mask"``.
    unlisted : {"error", "missing"}
        How values that the description does not list were read.
    original : frame, array or None
        The input, if it was a frame, a described array or an array of float32.
    rules : RuleSet or None
        The rules that were applied to ``table``, if any.
    known_skips : ndarray of bool, shape (n_rows, n_columns), or None
        Skips known before rules were applied, from codes or a mask; None without rules.
    """

    frame: pl.DataFrame
    schema: Schema
    table: CodedTable
    tags: dict[str, NDArray[np.object_]] = field(default_factory=dict)
    events: EventLog = field(default_factory=EventLog)
    source: str = ""
    files: dict[str, InputFile] = field(default_factory=dict)
    unlisted: str = "error"
    original: Any = None
    rules: Any = None
    known_skips: NDArray[np.bool_] | None = None

    @classmethod
    def of_array(cls, table: CodedTable, original: Any = None) -> Survey:
        """Return a survey of a plain array, which has no frame."""
        return cls(None, Schema(table.columns), table, original=original)  # type: ignore[arg-type]

    @property
    def is_array(self) -> bool:
        """Whether this is a plain array of numbers, without values as published."""
        return self.frame is None

    @property
    def states(self) -> CellStates:
        """The state of every question's cells."""
        return self.table.states

    def with_states(self, states: CellStates) -> Survey:
        """Return the same survey with other states."""
        return replace(self, table=self.table.with_states(states))

    def with_own_events(self) -> Survey:
        """Return the same survey with a copy of its events, to add more."""
        return replace(self, events=EventLog([*self.events]))

    def without_rules(self) -> Survey:
        """Return the survey with its current states, without its record of rules.

        Rules are applied again if the survey is imputed again.
        """
        events = EventLog([event for event in self.events if stage(event) != "skips"])
        return replace(self, events=events, rules=None, known_skips=None)

    def _repr_html_(self) -> str:
        from tabsoda._internal.notebook import survey_html

        return survey_html(self)
