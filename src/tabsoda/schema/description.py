"""A survey description: single variables, and corrections of many columns at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema.codes import CodeBook
from tabsoda.schema.column import Code, Column
from tabsoda.schema.corrections import Correction, ValuesOf, correct, require_matches
from tabsoda.schema.edit import Derivation, Edit
from tabsoda.schema.schema import Schema

_NAMED = 5


@dataclass(frozen=True)
class Given:
    """What a person has specified for one column, so that its guess need not be checked.

    Attributes
    ----------
    kind, role : bool
        Whether it is given.
    codes : tuple of Code
        The codes whose meaning is given.
    """

    kind: bool = False
    role: bool = False
    codes: tuple[Code, ...] = ()

    def names(self, code: Code) -> bool:
        """Return whether the meaning of a code is given."""
        return CodeBook(self.codes).find(code) is not None


@dataclass(frozen=True)
class Description:
    """The content of a survey.toml.

    Attributes
    ----------
    schema : Schema or None
        The variables that are described one by one; None if there are none, so that all columns are
        guessed.
    corrections : tuple of Correction
        Applied in order; a later one overrides earlier ones.
    edits : tuple of Edit
    derivations : tuple of Derivation
        Those of the schema are included.
    """

    schema: Schema | None
    corrections: tuple[Correction, ...] = ()
    edits: tuple[Edit, ...] = ()
    derivations: tuple[Derivation, ...] = ()

    def __post_init__(self) -> None:
        if self.schema is not None:
            edits = tuple(dict.fromkeys((*self.schema.edits, *self.edits)))
            derivations = tuple(dict.fromkeys((*self.schema.derivations, *self.derivations)))
            object.__setattr__(self, "edits", edits)
            object.__setattr__(self, "derivations", derivations)

    def constrained(self, schema: Schema) -> Schema:
        """Return a schema with the edits and derived variables of this description."""
        return replace(schema, edits=self.edits, derivations=self.derivations)

    def without_data(self) -> Schema:
        """Return the variables, if the description contains nothing that needs the data."""
        if self.schema is None or self.corrections:
            raise InputError(
                "The survey description has corrections for many columns, which need the data",
                next_step="Read it with the data: read_survey(data, description), or write the "
                "whole description with tabsoda inspect DATA --survey FILE -o whole.toml",
            )
        return self.constrained(self.schema)

    def given_for(self, name: str) -> Given:
        """Return what the corrections specify for one column."""
        own = [one for one in self.corrections if one.matches(name)]
        return Given(
            any(one.kind is not None for one in own),
            any(one.role is not None for one in own),
            tuple(code for one in own for code in one.codes),
        )

    def corrected(
        self,
        base: Schema,
        names: tuple[str, ...],
        guess: Callable[[], Schema],
        values_of: ValuesOf,
        events: EventLog,
    ) -> Schema:
        """Apply the corrections; a column that only a pattern names is guessed first.

        Parameters
        ----------
        base : Schema
            The variables, completed from the data, or guesses.
        names : tuple of str
            The columns of the data.
        guess : callable
            Proposes a schema of all columns.
        values_of : callable
        events : EventLog
            Receives one event per correction.
        """
        require_matches(self.corrections, names)
        by_pattern = [one for one in self.corrections if not one.whole_file]
        if any(one.matches(n) for one in by_pattern for n in names if n not in base):
            base = _extended(base, guess(), by_pattern, names)
        columns = list(base)
        for one in self.corrections:
            new = [correct(c, one, values_of) if one.matches(c.name) else c for c in columns]
            _log(one, columns, new, events)
            columns = new
        return Schema(tuple(columns))


def _extended(
    base: Schema, guessed: Schema, corrections: list[Correction], names: tuple[str, ...]
) -> Schema:
    """Add guesses for the columns that only patterns name, in file order."""
    added = {
        name: guessed[name]
        for name in names
        if name not in base and any(one.matches(name) for one in corrections)
    }
    columns = list(base)
    for name, column in added.items():
        before = [n for n in names[: names.index(name)] if any(c.name == n for c in columns)]
        place = 0
        if before:
            place = 1 + next(p for p, c in enumerate(columns) if c.name == before[-1])
        columns.insert(place, column)
    return Schema(tuple(columns))


def _log(one: Correction, before: list[Column], after: list[Column], events: EventLog) -> None:
    changed = [new.name for old, new in zip(before, after, strict=True) if new is not old]
    more = ["..."] if len(changed) > _NAMED else []
    events.add(
        "correction_applied",
        where="whole file" if one.whole_file else one.pattern,
        changed=len(changed),
        columns=[*changed[:_NAMED], *more],
    )
