"""The description of a survey: its columns in questionnaire order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tabsoda.errors import InputError
from tabsoda.schema.column import Column, ColumnKind, ColumnRole
from tabsoda.schema.edit import Derivation, Edit


@dataclass(frozen=True)
class Schema:
    """Columns of a survey, immutable, in questionnaire order, with edits and derived variables.

    Attributes
    ----------
    columns : tuple of Column
    edits : tuple of Edit
        Rules that answers must satisfy together.
    derivations : tuple of Derivation
        Variables that are computed from others. Their columns are listed, too, once the data are
        read.

    Examples
    --------
    >>> schema = Schema((Column("A", ColumnKind.NOMINAL, levels=(1, 2)),
    ...                  Column("B", ColumnKind.CONTINUOUS)))
    >>> schema.names
    ('A', 'B')
    >>> schema["B"].kind.value
    'continuous'
    """

    columns: tuple[Column, ...]
    edits: tuple[Edit, ...] = ()
    derivations: tuple[Derivation, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise InputError(
                "is described twice",
                column=repeated[0],
                expected="each column once",
                next_step="Remove the repetition from the survey description",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """All column names, in questionnaire order."""
        return tuple(column.name for column in self.columns)

    @property
    def questions(self) -> tuple[Column, ...]:
        """The columns that are mined and imputed: those with the role question."""
        return tuple(c for c in self.columns if c.role is ColumnRole.QUESTION)

    def of_role(self, role: ColumnRole) -> tuple[Column, ...]:
        """Columns of one role."""
        return tuple(c for c in self.columns if c.role is role)

    def of_kind(self, kind: ColumnKind) -> tuple[Column, ...]:
        """Questions of one kind."""
        return tuple(c for c in self.questions if c.kind is kind)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def select(self, names: Iterable[str]) -> Schema:
        """Keep only the named columns, in this schema's order."""
        wanted = set(names)
        return replace(self, columns=tuple(c for c in self.columns if c.name in wanted))

    def without_derived(self, present: Iterable[str]) -> Schema:
        """Drop the columns of derived variables that are not in the data, to be computed."""
        computed = {one.name for one in self.derivations} - set(present)
        return self.select(name for name in self.names if name not in computed)

    def fingerprint(self) -> str:
        """Short hash of names, kinds and levels; equal for two files of one survey."""
        text = repr([(c.name, c.kind.value, c.levels) for c in self.questions])
        return hashlib.sha256(text.encode()).hexdigest()[:16]
