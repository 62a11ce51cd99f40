"""The routing that was planted, to compare mined rules with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.datasets.questions import Paths, Question
from tabsoda.schema.column import Column
from tabsoda.skips.rules import Condition
from tabsoda.table import CodedTable


@dataclass(frozen=True)
class PlantedRule:
    """Why a question is skipped.

    Attributes
    ----------
    target : str
    any_of : tuple of tuple of Condition
        As in :class:`~tabsoda.skips.rules.SkipRule`.
    text : str
        The rule as a sentence.
    """

    target: str
    any_of: Paths
    text: str

    @classmethod
    def of(cls, question: Question, columns: tuple[Column, ...]) -> PlantedRule:
        """Take the rule from a question's routing."""
        described = {column.name: column for column in columns}
        paths = (
            " and ".join(_sentence(condition, described[condition.column]) for condition in path)
            for path in question.skipped_if
        )
        text = f"{question.name} is skipped when {', or when '.join(paths)}"
        return cls(question.name, question.skipped_if, text)

    @property
    def gates(self) -> tuple[str, ...]:
        """The columns the rule looks at, each once, in order of appearance."""
        return tuple(dict.fromkeys(c.column for path in self.any_of for c in path))

    def fires(self, table: CodedTable) -> NDArray[np.bool_]:
        """Return where the rule says skip, shape (n_rows,)."""
        result = np.zeros(table.shape[0], dtype=bool)
        for path in self.any_of:
            result |= np.logical_and.reduce([condition.holds(table) for condition in path])
        return result


def _sentence(condition: Condition, gate: Column) -> str:
    """Write one condition in words."""
    if condition.levels:
        answers = " or ".join(gate.describe_level(level) for level in condition.levels)
        words = f"{condition.column} is {answers}"
    elif condition.up_to is not None:
        words = f"{condition.column} is at most {condition.up_to:g}"
    else:
        words = f"{condition.column} is above {condition.above:g}"
    return f"{words} or was itself skipped" if condition.or_skipped else words
