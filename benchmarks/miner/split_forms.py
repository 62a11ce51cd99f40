"""A made-up questionnaire with split forms, batteries and chains, whose gates are known.

It has what leads a miner to name proxies: questions put to one form alone, batteries that follow
one gate, questions put to opposite halves, item nonresponse, a respondent key and interviewers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

Mask = NDArray[np.bool_]


@dataclass(eq=False)
class Questionnaire:
    """Columns as they are asked, and who was routed past them.

    Attributes
    ----------
    rng : numpy Generator
    n_rows : int
    nonresponse : float
        Share of item nonresponse among those asked.
    columns : list of Column
    answers : list of ndarray of float64, shape (n_rows,)
        The answers as codes, NaN where blank.
    skipped : list of ndarray of bool, shape (n_rows,)
    gates : dict of str to set of str
        The columns that decide whether a question is asked, direct gates only.
    """

    rng: np.random.Generator
    n_rows: int
    nonresponse: float
    columns: list[Column] = field(default_factory=list)
    answers: list[NDArray[np.float64]] = field(default_factory=list)
    skipped: list[Mask] = field(default_factory=list)
    gates: dict[str, set[str]] = field(default_factory=dict)

    def answered(self, name: str, *levels: float) -> Mask:
        """Return who gave one of these answers."""
        place = [column.name for column in self.columns].index(name)
        column, values = self.columns[place], self.answers[place]
        if column.is_categorical:
            return np.isin(values, [column.levels.index(level) for level in levels])
        return np.isin(values, levels)

    def known(self, column: Column, values: NDArray[np.float64]) -> None:
        """Add a column that is known of everybody."""
        self.columns.append(column)
        self.answers.append(values.astype(np.float64))
        self.skipped.append(np.zeros(self.n_rows, dtype=bool))

    def ask(
        self,
        name: str,
        shares: tuple[float, ...],
        asked: Mask | None = None,
        gates: tuple[str, ...] = (),
    ) -> None:
        """Put a question with answers 1, 2, ... to some; a few of them do not answer."""
        asked = np.ones(self.n_rows, dtype=bool) if asked is None else asked
        values = self.rng.choice(len(shares), self.n_rows, p=shares).astype(np.float64)
        silent = self.rng.random(self.n_rows) < self.nonresponse
        values[~asked | silent] = np.nan
        levels = tuple(range(1, len(shares) + 1))
        self.columns.append(Column(name, ColumnKind.NOMINAL, levels))
        self.answers.append(values)
        self.skipped.append(~asked)
        if gates:
            self.gates[name] = set(gates)

    @property
    def table(self) -> CodedTable:
        """The file: what was answered, everything else blank."""
        return CodedTable.from_values(tuple(self.columns), np.column_stack(self.answers))

    @property
    def mask(self) -> Mask:
        """Where the routing led past a question, shape (n_rows, n_columns)."""
        return np.column_stack(self.skipped)


def split_forms(n_rows: int = 4000, seed: int = 0, nonresponse: float = 0.01) -> Questionnaire:
    """Make the questionnaire.

    Parameters
    ----------
    n_rows : int
    seed : int
    nonresponse : float
        Share of item nonresponse.
    """
    rng = np.random.default_rng(seed)
    made = Questionnaire(rng, n_rows, nonresponse)
    _design(made)
    _split_halves(made)
    _owners(made)
    _work(made)
    _children(made)
    return made


def _design(made: Questionnaire) -> None:
    """Add key, interviewer, sampling point, form, third of the sample, age."""
    n = made.n_rows
    made.known(Column("KEY", ColumnKind.NOMINAL, tuple(range(10_000, 10_000 + n))), np.arange(n))
    interviewers = np.minimum(made.rng.integers(0, 90, n), 80)
    made.known(Column("INTNR", ColumnKind.NOMINAL, tuple(range(100, 181))), interviewers)
    made.known(Column("SERIAL", ColumnKind.CONTINUOUS), made.rng.permutation(n) + 1.0)
    made.known(Column("FORM", ColumnKind.NOMINAL, (1, 2)), made.rng.integers(0, 2, n))
    made.known(Column("THIRD", ColumnKind.NOMINAL, (1, 2, 3)), made.rng.integers(0, 3, n))
    made.known(Column("AGE", ColumnKind.CONTINUOUS), made.rng.integers(18, 90, n))


def _split_halves(made: Questionnaire) -> None:
    """Put each question to one form, or to one third, alone."""
    likert = (0.2, 0.3, 0.3, 0.2)
    made.ask("ECON", likert)
    for name, form in zip("ABCDEFGH", (1, 1, 2, 2, 1, 2, 1, 2), strict=True):
        made.ask(f"WORRY{name}", likert, made.answered("FORM", form), ("FORM",))
    for number in range(6):
        third = number // 2 + 1
        made.ask(f"TRUST{number + 1}", likert, made.answered("THIRD", third), ("THIRD",))


def _owners(made: Questionnaire) -> None:
    """Add a gate with a battery on each side, a chain, and questions of one form within it."""
    half = (0.5, 0.5)
    made.ask("OWN", (0.35, 0.65))
    owner, other = made.answered("OWN", 1), made.answered("OWN", 2)
    for number in range(1, 6):
        made.ask(f"OWNQ{number}", (0.3, 0.4, 0.3), owner, ("OWN",))
    made.ask("OWNMANY", half, owner, ("OWN",))
    made.ask("OWNKIND", (0.3, 0.3, 0.4), made.answered("OWNMANY", 1), ("OWNMANY",))
    made.ask("OWNAGE", half, made.answered("OWNKIND", 1, 2), ("OWNKIND",))
    made.ask("EVER", half, other, ("OWN",))
    made.ask("WHYNOT", (0.3, 0.4, 0.3), made.answered("EVER", 2), ("EVER",))
    for form in (1, 2):
        made.ask(f"OWNF{form}", half, owner & made.answered("FORM", form), ("OWN", "FORM"))


def _work(made: Questionnaire) -> None:
    """Add a gate of several answers, and a limit of age."""
    made.ask("WORK", (0.4, 0.15, 0.15, 0.2, 0.1))
    working, idle = made.answered("WORK", 1, 2), made.answered("WORK", 3, 4, 5)
    for number in range(1, 5):
        made.ask(f"JOB{number}", (0.3, 0.4, 0.3), working, ("WORK",))
    made.ask("LOOKING", (0.3, 0.7), idle, ("WORK",))
    made.ask("SINCE", (0.5, 0.5), made.answered("LOOKING", 1), ("LOOKING",))
    old = made.answers[5] >= 60
    for number in (1, 2, 3):
        made.ask(f"RETIRE{number}", (0.6, 0.4), old, ("AGE",))


def _children(made: Questionnaire) -> None:
    """Add a number as a gate, and a chain of three."""
    counts = made.rng.choice(5, made.n_rows, p=(0.4, 0.2, 0.2, 0.15, 0.05)).astype(np.float64)
    counts[made.rng.random(made.n_rows) < made.nonresponse] = np.nan
    made.known(Column("KIDS", ColumnKind.CONTINUOUS), counts)
    parent = made.answered("KIDS", 1, 2, 3, 4)
    for number in (1, 2, 3):
        made.ask(f"KIDQ{number}", (0.5, 0.3, 0.2), parent, ("KIDS",))
    made.ask("SCHOOL", (0.6, 0.4), parent, ("KIDS",))
    made.ask("SCHTYPE", (0.7, 0.3), made.answered("SCHOOL", 1), ("SCHOOL",))
    made.ask("FEES", (0.5, 0.5), made.answered("SCHTYPE", 2), ("SCHTYPE",))
    made.ask("MIND", (0.5, 0.5))
