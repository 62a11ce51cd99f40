"""What a survey file itself holds, read without tabsoda: column names and codes."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def code_text(value: object) -> str:
    """Write a code as the judgements do: 1.0 as "1", text as it is.

    Examples
    --------
    >>> code_text(99.0), code_text(0.5), code_text("No")
    ('99', '0.5', 'No')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names with repetitions numbered, so that each names one position.

    Examples
    --------
    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def column_names(path: Path, with_values: bool = False) -> list[str]:
    """Return the column names of a file, or of its columns that hold a value."""
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return distinct(next(csv.reader(lines)))
    frame, metadata = _read(path, metadataonly=not with_values)
    names = list(metadata.column_names)
    return [name for name in names if frame[name].notna().any()] if with_values else names


def with_distinct_names(path: Path, folder: Path) -> Path:
    """Return a copy of a CSV file whose repeated column names are numbered."""
    copy = folder / path.name
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.reader(lines))
    with copy.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([distinct(rows[0]), *rows[1:]])
    return copy


def codes_by_column(path: Path, names: Iterable[str]) -> dict[str, set[str]]:
    """Return the codes that occur in each of the columns, letters as ".a"."""
    wanted = list(names)
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines)
            places = {name: place for place, name in enumerate(distinct(next(rows)))}
            found: dict[str, set[str]] = {name: set() for name in wanted}
            for row in rows:
                for name in wanted:
                    found[name].add(row[places[name]])
        return found
    letters = path.suffix.lower() == ".dta"
    options = {} if path.suffix.lower() == ".xpt" else {"user_missing": True}
    frame, _ = _read(path, usecols=wanted, **options)
    return {
        name: {_stata_letter(value, letters) for value in frame[name].dropna().unique()}
        for name in wanted
    }


def _stata_letter(value: object, letters: bool) -> str:
    text = code_text(value)
    return f".{text}" if letters and len(text) == 1 and text.isalpha() else text


def _read(path: Path, **options: Any) -> Any:
    import pyreadstat

    readers = {
        ".sav": pyreadstat.read_sav,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
    }
    # Latin-1 reads any byte; only codes and names matter here.
    return readers[path.suffix.lower()](str(path), encoding="LATIN1", **options)
