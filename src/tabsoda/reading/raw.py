"""The output of a reader: the values as they are in the file, and their metadata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema.hints import ColumnHints


@dataclass
class RawTable:
    """A file or frame, read but not yet described.

    Attributes
    ----------
    frame : polars.DataFrame
    hints : dict of str to ColumnHints
        For columns with metadata.
    tags : dict of str to ndarray of object
        Letter per row (``".a"``) or None, for columns with lettered missing values.
    blank_is_text : bool
        Whether an empty cell may be an empty text (CSV), so that the code ``""`` matches it.
    events : EventLog
    source : str
        The file's name; empty for a frame.
    divided : frozenset of str
        Columns with several answers per cell, which columns of their own hold as well.
    """

    frame: pl.DataFrame
    hints: dict[str, ColumnHints] = field(default_factory=dict)
    tags: dict[str, NDArray[np.object_]] = field(default_factory=dict)
    blank_is_text: bool = False
    events: EventLog = field(default_factory=EventLog)
    source: str = ""
    divided: frozenset[str] = frozenset()

    def hint(self, name: str) -> ColumnHints:
        """Return the metadata of a column; empty hints if there is none."""
        return self.hints.get(name, ColumnHints())


def refuse_odd_names(names: Iterable[Any]) -> None:
    """Raise if a frame's column names are of mixed types, or one occurs twice."""
    names = list(names)
    odd = [name for name in names if not isinstance(name, str)]
    if odd and len(odd) < len(names):
        raise InputError(
            "Some column names are texts and others are not",
            found=f"{odd[0]!r} ({type(odd[0]).__name__})",
            expected="only texts",
            next_step="Rename the columns, in pandas with frame.columns.astype(str)",
        )
    refuse_repeated_names([str(name) for name in names], "")


def distinct_names(names: list[str], events: EventLog) -> list[str]:
    """Make column names unique, and log the renamed columns.

    Exports of online questionnaires repeat a question's text, and tables saved with row numbers
    have a first column without a name.

    Examples
    --------
    >>> distinct_names(["", "Why?", "Age", "Why?"], EventLog())
    ['column_1', 'Why?', 'Age', 'Why? (2)']
    """
    taken = set(names)
    result: list[str] = []
    for position, name in enumerate(names, 1):
        new = name.strip() and name
        if not new:
            new = f"column_{position}"
        elif name in result:
            new = f"{name} (2)"
        number = 2
        while new != name and (new in taken or new in result):
            number += 1
            new = f"{name or f'column_{position}'} ({number})"
        if new != name and name.strip():
            events.add("repeated_column_name", column=new, position=position, name=new)
        elif new != name:
            events.add("column_without_name", column=new, position=position, name=new)
        result.append(new)
    return result


def refuse_repeated_names(names: list[str], source: str) -> None:
    """Raise if a column name occurs twice."""
    seen: set[str] = set()
    for position, name in enumerate(names, 1):
        if name in seen:
            raise InputError(
                f"occurs twice in {source or 'the frame'}",
                column=name,
                found=f"columns {names.index(name) + 1} and {position} with one name",
                expected="a unique name for every column",
                next_step="Rename one of them",
            )
        seen.add(name)
