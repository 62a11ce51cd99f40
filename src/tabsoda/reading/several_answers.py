"""Split cells that hold several answers ("1 3 5", "beer;wine") into columns, one per option.

A new column is named after the column and the option, ``drinks/beer``. It is 1 where the option was
chosen, 0 where others were, and blank where the cell is blank or holds only
negative codes that are not options, such as -99 for a refusal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from tabsoda.reading.raw import RawTable

# Between the answers of a cell; the first that explains the cells is taken.
_SEPARATORS = (";", "|", ",", "\n", " ")
_BETWEEN_NAMES = ("/", "_")
# Without a form, a column is split only if it looks like a list of options.
_FEWEST_CELLS, _MOST_OPTIONS = 20, 40
_LEAST_SEVERAL = 0.1
_LEAST_CHOSEN = 2


def with_split_answers(
    raw: RawTable, options: Mapping[str, Sequence[str]], described: Sequence[str] | None
) -> RawTable:
    """Return a table with a column for every option of cells that hold several answers.

    Parameters
    ----------
    raw : RawTable
    options : mapping of str to sequence of str
        By column, the options that a form lists.
    described : sequence of str or None
        The columns of a description: options are columns that it has and the file has not. Without
        one, columns are split if their cells look like lists of options.
    """
    wanted = {name: {f"{name}/{code}": code for code in own} for name, own in options.items()}
    if described is not None:
        for name in described:
            if name not in raw.frame.columns:
                _add_described(wanted, name, raw.frame.columns)
    elif not options:
        wanted = _recognised(raw)
    for name, columns in wanted.items():
        raw = _split(raw, name, columns)
    return raw


def _add_described(wanted: dict[str, dict[str, str]], name: str, columns: Sequence[str]) -> None:
    """Add a described column that is an option of a column of the file."""
    for mark in _BETWEEN_NAMES:
        places = [at for at, letter in enumerate(name) if letter == mark]
        for place in reversed(places):
            if name[:place] in columns and name[place + 1 :]:
                wanted.setdefault(name[:place], {})[name] = name[place + 1 :]
                return


def _split(raw: RawTable, name: str, columns: Mapping[str, str]) -> RawTable:
    """Add the columns of one question after it; leave it alone if no cell has its options."""
    cells = _texts(raw.frame[name])
    options = set(columns.values())
    counts = {
        mark: sum(part in options for cell in cells if cell for part in _parts(cell, mark))
        for mark in _SEPARATORS
    }
    mark = max(_SEPARATORS, key=lambda one: (counts[one], -_SEPARATORS.index(one)))
    if not counts[mark]:
        return raw
    parts = [set() if cell is None else set(_parts(cell, mark)) for cell in cells]
    is_answered = [any(part in options or not _is_negative(part) for part in own) for own in parts]
    unknown = Counter(part for own in parts for part in own - options)
    new = [
        pl.Series(
            column,
            [
                int(code in own) if given else None
                for own, given in zip(parts, is_answered, strict=True)
            ],
            dtype=pl.Int64,
        )
        for column, code in columns.items()
        if column not in raw.frame.columns
    ]
    place = raw.frame.columns.index(name) + 1
    frame = raw.frame.select(*raw.frame.columns[:place], *new, *raw.frame.columns[place:])
    raw.events.add(
        "several_answers_split",
        column=name,
        options=len(columns),
        separator={" ": "spaces", "\n": "line breaks"}.get(mark, f"'{mark}'"),
        others=[str(part) for part, _ in unknown.most_common(3)] or None,
    )
    return replace(raw, frame=frame, divided=raw.divided | {name})


def _is_negative(part: str) -> bool:
    return part.startswith("-") and part[1:].isdigit()


def _recognised(raw: RawTable) -> dict[str, dict[str, str]]:
    """Return the columns whose cells look like lists of options."""
    found = {}
    for name in raw.frame.columns:
        if raw.frame[name].dtype != pl.String or raw.hint(name).level_labels:
            continue
        cells: list[str] = []
        for mark in _SEPARATORS:
            several = int(raw.frame[name].str.contains(mark, literal=True).sum())
            if several < max(_LEAST_SEVERAL * _FEWEST_CELLS, 1):
                continue
            cells = cells or [cell for cell in _texts(raw.frame[name]) if cell]
            options = _options(cells, mark)
            if options and not any(f"{name}/{one}" in raw.frame.columns for one in options):
                found[name] = {f"{name}/{one}": one for one in options}
                break
    return found


def _options(cells: list[str], mark: str) -> list[str]:
    """Return the options of cells with several answers; none if they are something else.

    Combinations of few options are many, and nobody chooses an option twice; texts with a comma
    have many different parts, and labels with one have fewer combinations than parts.
    """
    several = [cell for cell in cells if mark in cell]
    if len(cells) < _FEWEST_CELLS or len(several) < _LEAST_SEVERAL * len(cells):
        return []
    if mark in (" ", ",") and not all(part.isdigit() for c in cells for part in _parts(c, mark)):
        # Words and sentences have these marks, too; codes have not.
        return []
    parts = [_parts(cell, mark) for cell in cells]
    counts = Counter(part for own in parts for part in own)
    combinations = {frozenset(own) for own in parts}
    is_list = (
        2 < len(counts) <= _MOST_OPTIONS
        and len(combinations) > len(counts)
        and min(counts.values()) >= _LEAST_CHOSEN
        and all(len(set(own)) == len(own) for own in parts)
    )
    return sorted(counts, key=lambda one: (len(one), one)) if is_list else []


def _texts(series: pl.Series) -> list[str | None]:
    """Return cells as texts without outer blanks; None where nothing is left."""
    texts = [None if cell is None else str(cell).strip() for cell in series.to_list()]
    whole = [None if t is None else t.removesuffix(".0") for t in texts]
    return [text or None for text in (whole if series.dtype.is_float() else texts)]


def _parts(cell: str, mark: str) -> list[str]:
    """Return the answers in a cell.

    Examples
    --------
    >>> _parts("beer; wine;", ";")
    ['beer', 'wine']
    """
    return [part.strip() for part in cell.split(mark) if part.strip()]
