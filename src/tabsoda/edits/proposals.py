"""Proposes edits that the answers of a survey show: orders, sums, bounds and exclusions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.blocks import Block, chosen_level, find_blocks
from tabsoda.schema.column import Column
from tabsoda.schema.edit import Edit
from tabsoda.schema.schema import Schema
from tabsoda.table import CodedTable

Values = NDArray[np.float64]
# Respondents with all answers, and exceptions that independent answers would show.
_FEWEST_KNOWN, _FEWEST_EXPECTED = 50, 10.0
# Share of respondents who may violate a proposal: observed answers contain errors.
_MOST_EXCEPTIONS = 0.002
_MOST_NUMBERS = 300
_MOST_SUMMANDS = 60
_LONGEST_SUM = 12
# Limits that are known from the unit, if the question mentions it.
_LIMITS = {"hour": (24, 168), "day": (7, 31, 365, 366), "percent": (100,), "%": (100,)}
_WORDS = ("none", "nothing", "never", "keine", "ninguno", "ninguna", "aucun", "nessun", "nenhum")


@dataclass(frozen=True)
class Proposal:
    """An edit that the data show, for a person to approve.

    Attributes
    ----------
    edit : Edit
        Not approved.
    kind : {"order", "sum", "bound", "exclusion"}
    sentence : str
    known : int
        Respondents with all answers.
    exceptions : int
        Those who violate it.
    expected : float
        Exceptions if the answers were independent.
    """

    edit: Edit
    kind: Literal["order", "sum", "bound", "exclusion"]
    sentence: str
    known: int
    exceptions: int
    expected: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self) | {"expected": round(self.expected, 1)}


def propose_edits(schema: Schema, table: CodedTable) -> tuple[Proposal, ...]:
    """Return edits that (nearly) all answers satisfy and that chance does not explain.

    Those that the description contains already are left out.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> generator = np.random.default_rng(0)
    >>> now = generator.integers(18, 80, 200).astype(float)
    >>> first = np.minimum(now, generator.integers(10, 40, 200))
    >>> ages = tuple(Column(name, ColumnKind.CONTINUOUS) for name in ("first", "now"))
    >>> table = CodedTable.from_values(ages, np.column_stack([first, now]))
    >>> proposal, = propose_edits(Schema(ages), table)
    >>> proposal.edit.rule
    'first <= now'
    """
    numbers = _numbers(table)
    found = [*_orders(numbers), *_sums(numbers)]
    for block in find_blocks(schema):
        found += _exclusions(block, table)
    found += _bounds(numbers, schema)
    known = {one.rule for one in schema.edits}
    bounded = {column.name for column in schema if (column.minimum, column.maximum) != (None, None)}
    return tuple(
        one
        for one in found
        if one.edit.rule not in known
        and not (one.kind == "bound" and any(name in one.edit.rule for name in bounded))
    )


def _numbers(table: CodedTable) -> dict[str, Values]:
    """Return the columns that count or measure something, at most 300, NaN where unknown."""
    found = {}
    for position, column in enumerate(table.columns):
        values = table.values[:, position]
        known = values[~np.isnan(values)]
        # A yes or no, coded as a number, has no order with others.
        if not column.is_categorical and np.unique(known).size > 2:
            found[column.name] = values
    return dict(list(found.items())[:_MOST_NUMBERS])


def _orders(numbers: dict[str, Values]) -> Iterator[Proposal]:
    names = list(numbers)
    held: dict[tuple[str, str], tuple[int, int, float]] = {}
    for low in names:
        for high in names:
            if low != high:
                counts = _order(numbers[low], numbers[high])
                if counts is not None:
                    held[low, high] = counts
    for (low, high), (known, exceptions, expected) in held.items():
        if (high, low) in held or _through_another(low, high, held, names):
            continue
        rule = f"{_quoted(low)} <= {_quoted(high)}"
        text = f"{low} is never above {high}"
        yield _proposal(rule, "order", text, known, exceptions, expected)


def _order(low: Values, high: Values) -> tuple[int, int, float] | None:
    """Return known, exceptions and expected exceptions if one number is (nearly) never above."""
    known = ~(np.isnan(low) | np.isnan(high))
    n = int(known.sum())
    if n < _FEWEST_KNOWN:
        return None
    a, b = low[known], high[known]
    exceptions = int((a > b).sum())
    if exceptions > _MOST_EXCEPTIONS * n:
        return None
    # Pairs of independent answers of which the first is above.
    expected = float(np.searchsorted(np.sort(b), a, side="left").sum()) / n
    if expected < max(_FEWEST_EXPECTED, 20 * exceptions):
        return None
    return n, exceptions, expected


def _through_another(
    low: str, high: str, held: dict[tuple[str, str], tuple[int, int, float]], names: list[str]
) -> bool:
    """Return whether an order follows from two others."""
    return any((low, one) in held and (one, high) in held for one in names)


def _sums(numbers: dict[str, Values]) -> Iterator[Proposal]:
    names = list(numbers)[:_MOST_SUMMANDS]
    taken: set[str] = set()
    for total in names:
        place = names.index(total)
        sets = [*combinations([n for n in names if n != total], 2), *_runs(names, place)]
        for parts in sets:
            counts = _sum(numbers, parts, total)
            if counts is None or total in taken:
                continue
            # A + B = C also holds as C - A = B: the first total is kept.
            taken |= {total, *parts}
            rule = f"{' + '.join(map(_quoted, parts))} == {_quoted(total)}"
            text = f"{total} is the sum of {', '.join(parts)}"
            yield _proposal(rule, "sum", text, *counts)


def _runs(names: list[str], place: int) -> Iterator[tuple[str, ...]]:
    """Yield three or more neighbours just before or just after a column."""
    for length in range(3, _LONGEST_SUM + 1):
        if place >= length:
            yield tuple(names[place - length : place])
        if place + length < len(names):
            yield tuple(names[place + 1 : place + 1 + length])


def _sum(
    numbers: dict[str, Values], parts: tuple[str, ...], total: str
) -> tuple[int, int, float] | None:
    columns = [numbers[name] for name in parts]
    whole = numbers[total]
    first = slice(0, 400)
    quick = np.abs(sum(c[first] for c in columns) - whole[first])
    seen = quick[~np.isnan(quick)]
    if seen.size >= 20 and (seen > 1e-6).mean() > 0.05:
        return None
    off = np.abs(sum(columns) - whole)
    known = ~np.isnan(off)
    n = int(known.sum())
    if n < _FEWEST_KNOWN:
        return None
    exceptions = int((off[known] > 1e-6 * np.maximum(1, np.abs(whole[known]))).sum())
    # Every part must contribute: a total with parts that are 0 says nothing.
    alive = all((column[known] != 0).mean() > 0.02 for column in columns)
    different = np.unique(whole[known], return_counts=True)[1] / n
    expected = n * (1 - float((different**2).sum()))
    if exceptions > _MOST_EXCEPTIONS * n or not alive or expected < _FEWEST_EXPECTED:
        return None
    return n, exceptions, expected


def _bounds(numbers: dict[str, Values], schema: Schema) -> Iterator[Proposal]:
    for name, values in numbers.items():
        known, label = values[~np.isnan(values)], schema[name].label.lower()
        if known.size < _FEWEST_KNOWN or known.min() < 0:
            continue
        largest = float(known.max())
        limits = [limit for unit, found in _LIMITS.items() if unit in label for limit in found]
        if largest in limits:
            rule = f"0 <= {_quoted(name)} <= {largest:g}"
            text = f"{name} lies between 0 and {largest:g}"
            yield _proposal(rule, "bound", text, known.size, 0, 0.0)
        elif (known == 0).mean() >= 0.01:
            rule, text = f"{_quoted(name)} >= 0", f"{name} is not negative"
            yield _proposal(rule, "bound", text, known.size, 0, 0.0)


def _exclusions(block: Block, table: CodedTable) -> Iterator[Proposal]:
    """Yield the item of a select-all block that excludes all others: "none of these"."""
    places = [table.names.index(name) for name in block.names]
    columns = [table.columns[place] for place in places]
    codes = [chosen_level(column) for column in columns]
    if None in codes or len(block.names) < 3:
        return
    levels = [column.levels.index(code) for column, code in zip(columns, codes, strict=True)]
    values = table.values[:, places]
    chosen = np.where(np.isnan(values), np.nan, values == levels)
    if columns[0].n_levels == 1:
        chosen = np.nan_to_num(chosen)
    for item, name in enumerate(block.names):
        others = np.delete(chosen, item, axis=1)
        known = ~np.isnan(chosen[:, item]) & ~np.isnan(others).all(axis=1)
        any_other = np.nan_to_num(others[known]).any(axis=1)
        own = chosen[known, item] == 1
        n, both = int(known.sum()), int((own & any_other).sum())
        expected = float(own.sum()) * float(any_other.mean()) if n else 0.0
        if n < _FEWEST_KNOWN or expected < max(_FEWEST_EXPECTED, 20 * both):
            continue
        said = [f"{_quoted(n)} == {c!r}" for n, c in zip(block.names, codes, strict=True)]
        listed = " or ".join(said[:item] + said[item + 1 :])
        rule = f"not ({said[item]} and ({listed}))"
        says = "none of these" if _says_none(columns[item]) else "excludes the others"
        yield _proposal(rule, "exclusion", f"{name} {says} in {block.text}", n, both, expected)


def _says_none(column: Column) -> bool:
    text = f"{column.name} {column.label}".lower()
    return any(word in text for word in _WORDS)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _proposal(
    rule: str,
    kind: Literal["order", "sum", "bound", "exclusion"],
    text: str,
    known: int,
    exceptions: int,
    expected: float,
) -> Proposal:
    chance = f"; by chance {expected:,.0f}" if expected else ""
    exception = "1 exception" if exceptions == 1 else f"{exceptions:,} exceptions"
    sentence = f"{text} ({known:,} respondents with all answers, {exception}{chance})"
    return Proposal(
        Edit(rule, label=sentence, approved=False), kind, sentence, known, exceptions, expected
    )
