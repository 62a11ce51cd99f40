"""A survey in memory: the file's own values, what they mean, and the state of every cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.schema.schema import Schema
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Survey:
    """What :func:`tabsoda.read_survey` returns.

    Attributes
    ----------
    frame : polars.DataFrame
        Every column of the file with its values as published; special codes included, except
        that Stata and SAS letters (``.a``) are null here and kept in ``tags``.
    schema : Schema
        The meaning of every column. ``schema.questions`` are the ones mined and imputed.
    table : CodedTable
        The questions as numbers with their states, rows as in ``frame``.
    tags : dict of str to ndarray of object
        For columns with lettered missing values: the letter per row (``".a"``), or None.
    events : EventLog
        Decisions taken while reading and describing.
    source : str
        The file's name, for messages; empty for a frame.
    """

    frame: pl.DataFrame
    schema: Schema
    table: CodedTable
    tags: dict[str, NDArray[np.object_]] = field(default_factory=dict)
    events: EventLog = field(default_factory=EventLog)
    source: str = ""

    @property
    def states(self) -> CellStates:
        """The state of every question's cells."""
        return self.table.states

    def with_states(self, states: CellStates) -> Survey:
        """Return the same survey under other states."""
        return Survey(
            self.frame,
            self.schema,
            self.table.with_states(states),
            self.tags,
            self.events,
            self.source,
        )

    def _repr_html_(self) -> str:
        from tabsoda._internal.notebook import survey_html

        return survey_html(self)
