"""Draw the columns of a file that a person judges, the same ones every time.

Usage: python benchmarks/real_files/draw.py FILE [--with-values]

Prints up to 40 column names, drawn from all columns of the file with a fixed seed, in file order;
``--with-values`` leaves out columns that are blank in every row. The judgements in ``judged/``
cover exactly these columns.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Sequence
from pathlib import Path

N_JUDGED = 40
SEED = 0


def draw(names: Sequence[str], n: int = N_JUDGED, seed: int = SEED) -> list[str]:
    """Return ``n`` of the names, or all where there are fewer, in their own order.

    Examples
    --------
    >>> draw(["a", "b", "c"], n=5)
    ['a', 'b', 'c']
    """
    if len(names) <= n:
        return list(names)
    chosen = set(random.Random(seed).sample(range(len(names)), n))
    return [name for position, name in enumerate(names) if position in chosen]


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
    """Return the column names of a survey file, or of its columns that hold a value."""
    import pyreadstat

    readers = {
        ".sav": pyreadstat.read_sav,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return distinct(next(csv.reader(lines)))
    frame, metadata = reader(str(path), metadataonly=not with_values, encoding="LATIN1")
    names = list(metadata.column_names)
    return [name for name in names if frame[name].notna().any()] if with_values else names


if __name__ == "__main__":
    print(*draw(column_names(Path(sys.argv[1]), "--with-values" in sys.argv)), sep="\n")
