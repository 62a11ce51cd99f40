"""Recognises select-all blocks and grids: neighbouring questions with the same answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal

from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Code, Column
from tabsoda.schema.schema import Schema

_FEWEST = 3
# What distinguishes the items of a block: a number or a letter at the end of the name.
_ITEM = re.compile(r"^(?P<stem>.{2,}?)[_./\- ]*(?P<item>\d+|(?<=[\d_./\- ])[A-Za-z])$")
# Items of a scale may be numbered in tens, as questions are; those of a list are neighbours.
_LONGEST_STEP = 10
_CHOSEN = re.compile(
    r"\b(yes|selected|chosen|checked|marked|mentioned|true|ja|s[ií]|oui|sim)\b", re.I
)
_NOT_CHOSEN = re.compile(r"\b(no|not|un(selected|checked)|never|false|nein|non|n[aã]o)\b", re.I)


@dataclass(frozen=True)
class Block:
    """Questions that are asked together.

    Attributes
    ----------
    kind : {"select-all", "grid"}
        A list of which any number can be chosen; or questions with one scale.
    names : tuple of str
        In questionnaire order.
    text : str
        What their labels begin with, or their names.
    chosen : Code or None
        The level of a chosen answer in a select-all block; of its first question if they differ.
    """

    kind: Literal["select-all", "grid"]
    names: tuple[str, ...]
    text: str
    chosen: Code | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def find_blocks(schema: Schema) -> tuple[Block, ...]:
    """Return the blocks of a survey: three or more neighbours with the same levels and one stem.

    Names have one stem if they differ only in a number or letter at the end (Q7_1, Q7_2), or in the
    option after a slash (drinks/beer), or their labels begin with the same question.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> levels, labels = (0, 1), {0: "No", 1: "Yes"}
    >>> drinks = tuple(
    ...     Column(f"DRINK_{n}", ColumnKind.NOMINAL, levels, level_labels=labels) for n in range(3))
    >>> block, = find_blocks(Schema(drinks))
    >>> block.kind, block.names, block.chosen
    ('select-all', ('DRINK_0', 'DRINK_1', 'DRINK_2'), 1)
    """
    blocks = []
    for _, run in groupby(schema.questions, key=_answers):
        for columns in _with_one_stem(list(run)):
            if len(columns) >= _FEWEST:
                blocks.append(_block(columns))
    return tuple(blocks)


def _answers(column: Column) -> tuple[Any, ...]:
    """Return what neighbours of one block share; unique for numbers, which form none."""
    if column.select_all:
        return ("select_all", column.select_all)
    if not column.is_categorical or not column.levels:
        return (column.name,)
    labels = tuple(column.level_labels.get(level, "") for level in column.levels)
    return (column.kind, column.levels, labels)


def _with_one_stem(columns: list[Column]) -> Iterator[list[Column]]:
    """Split neighbours where neither the stem of the name nor the question stays the same."""
    part: list[Column] = []
    for column in columns:
        if part and not _related(part[-1], column):
            yield part
            part = []
        part.append(column)
    yield part


def _related(one: Column, other: Column) -> bool:
    if one.select_all:
        return one.select_all == other.select_all
    before, after = _ITEM.match(one.name), _ITEM.match(other.name)
    if before and after and before["stem"].lower() == after["stem"].lower():
        numbers = before["item"].isdigit(), after["item"].isdigit()
        if numbers == (False, False):
            return True
        if numbers == (True, True):
            step = int(after["item"]) - int(before["item"])
            return 1 <= step <= (1 if one.n_levels <= 2 else _LONGEST_STEP)
    stems = {column.name.rpartition("/")[0] for column in (one, other)}
    if len(stems) == 1 and stems != {""} and set(one.levels) == {0, 1}:
        # Options of a select-all question, as KoboToolbox names them: drinks/beer.
        return True
    shared = _shared_start([one.label, other.label])
    # Two thirds of the shorter label, and more than "How often".
    return len(shared) >= max(12, 2 * min(len(one.label), len(other.label)) // 3)


def _shared_start(texts: Sequence[str]) -> str:
    """Return what all texts begin with.

    Examples
    --------
    >>> _shared_start(["DRINK_1", "DRINK_2"])
    'DRINK_'
    """
    first, last = min(texts), max(texts)
    end = next((at for at, letter in enumerate(first) if last[at : at + 1] != letter), len(first))
    return first[:end]


def _block(columns: list[Column]) -> Block:
    names = tuple(column.name for column in columns)
    text = _shared_start([column.label for column in columns]).strip(" :-–(")
    chosen = chosen_level(columns[0])
    kind: Literal["select-all", "grid"] = "grid" if chosen is None else "select-all"
    stem = _shared_start(list(names)).rstrip("_./- ") or names[0]
    return Block(kind, names, columns[0].select_all or (text if len(text) >= 8 else stem), chosen)


def chosen_level(column: Column) -> Code | None:
    """Return the level that means "chosen"; None if the levels are not a yes and a no."""
    levels, labels = column.levels, column.level_labels
    if column.select_all:
        return next((level for level in levels if as_number(level) != 0), None)
    if len(levels) == 1:
        return levels[0]
    if len(levels) != 2:
        return None
    said = [level for level in levels if _CHOSEN.search(labels.get(level, ""))]
    denied = [level for level in levels if _NOT_CHOSEN.search(labels.get(level, ""))]
    said = [level for level in said if level not in denied]
    if not said and denied:
        said = [level for level in levels if level not in denied]
    if len(said) == 1:
        return said[0]
    return 1 if set(levels) == {0, 1} and not any(labels.get(level) for level in levels) else None
