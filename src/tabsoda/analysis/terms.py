"""Readable names of model terms: questions and value labels, not ``C(MARITAL)[T.2]``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabsoda.analysis.where import named_column
from tabsoda.schema.codes import CodeBook, plain
from tabsoda.schema.column import Column


@dataclass(frozen=True)
class TermLabel:
    """The readable name of a term.

    Attributes
    ----------
    text : str
        The term, or the level of a categorical question.
    question : str
        The categorical question that the level belongs to; empty for other terms.
    reference : str
        The reference level; empty if there is none.

    Examples
    --------
    >>> print(TermLabel("2 'Married'", "MARITAL", "1 'Single'"))
    MARITAL: 2 'Married' (vs 1 'Single')
    """

    text: str
    question: str = ""
    reference: str = ""

    @property
    def heading(self) -> str:
        """The question and its reference level."""
        return f"{self.question} (vs {self.reference})" if self.reference else self.question

    def __str__(self) -> str:
        if not self.question:
            return self.text
        compared = f" (vs {self.reference})" if self.reference else ""
        return f"{self.question}: {self.text}{compared}"


def term_labels(
    names: Iterable[str], levels: Mapping[str, tuple[Any, ...]], columns: Mapping[str, Column]
) -> tuple[TermLabel, ...]:
    """Return a label for every term.

    Parameters
    ----------
    names : iterable of str
        The terms as patsy names them.
    levels : mapping of str to tuple
        Levels by the code of a categorical factor, such as ``"C(MARITAL)"``.
    columns : mapping of str to Column
        Columns by name, for value labels.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> sex = Column("SEX", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Male", 2: "Female"})
    >>> found = term_labels(["SEX[T.2]", "SEX[T.2]:AGE"], {"SEX": (1, 2)}, {"SEX": sex})
    >>> [str(label) for label in found]
    ["SEX: 2 'Female' (vs 1 'Male')", "SEX 2 'Female' × AGE"]
    """
    listed = list(names)
    pieces: dict[str, TermLabel] = {}
    for factor, values in levels.items():
        pieces.update(_factor_labels(factor, values, columns, listed))
    return tuple(pieces.get(name) or _joined(name, pieces) for name in listed)


def _factor_labels(
    factor: str, levels: tuple[Any, ...], columns: Mapping[str, Column], names: list[str]
) -> dict[str, TermLabel]:
    """Return the labels of a factor's levels by their names in patsy."""
    # Codes 0 and 1 equal False and True but are answers with labels.
    if all(isinstance(level, bool | np.bool_) for level in levels):
        return {f"{factor}[T.True]": TermLabel(_without_wrapper(factor))}
    question = _only_column(factor)
    if question is None:
        return {}
    column = columns.get(question)
    text = {level: _level_text(level, column) for level in levels}
    shown = {level: plain(level) for level in levels}
    inside = {level: f"{factor}[T.{shown[level]}]" for level in levels}
    present = {piece for name in names for piece in (name, *name.split(":"))}
    absent = [level for level in levels if inside[level] not in present]
    reference = text[absent[0]] if len(absent) == 1 else ""
    found = {inside[level]: TermLabel(text[level], question, reference) for level in levels}
    for level in levels:
        found[f"{factor}[{shown[level]}]"] = TermLabel(text[level], question)
    return found


def _level_text(level: Any, column: Column | None) -> str:
    known = None if column is None else CodeBook(column.levels or column.level_labels).find(level)
    return str(plain(level)) if column is None or known is None else column.describe_level(known)


def _joined(name: str, pieces: Mapping[str, TermLabel]) -> TermLabel:
    """Return the label of an interaction, or of a term without levels."""
    texts = []
    for piece in name.split(":"):
        label = pieces.get(piece)
        if label is None:
            texts.append(_without_wrapper(piece))
        else:
            texts.append(f"{label.question} {label.text}".strip())
    return TermLabel(" × ".join(texts))


def _only_column(factor: str) -> str | None:
    """Return the column of ``SEX``, ``C(SEX)`` or ``C(SEX, Treatment(2))``."""
    node = ast.parse(factor, mode="eval").body
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "C" and node.args:
        node = node.args[0]
    return named_column(node)


def _without_wrapper(term: str) -> str:
    found = re.fullmatch(r"I\((.*)\)", term)
    return found.group(1) if found else term
