"""Draw the columns of a file that a person judges, the same ones every time.

Usage: python benchmarks/real_files/draw.py FILE

Prints up to 40 column names, drawn from all columns of the file with a fixed seed, in file order.
The judgements in ``judged/`` cover exactly these columns.
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


def column_names(path: Path) -> list[str]:
    """Return the column names of a survey file without reading its rows."""
    import pyreadstat

    readers = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".por": pyreadstat.read_por,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
        ".sas7bdat": pyreadstat.read_sas7bdat,
    }
    reader = readers.get(path.suffix.lower())
    if reader is not None:
        return list(reader(str(path), metadataonly=True)[1].column_names)
    for encoding in ("utf-8-sig", "latin-1"):
        try:
            with path.open(encoding=encoding, newline="") as lines:
                return distinct(next(csv.reader(lines)))
        except UnicodeDecodeError:
            continue
    return []


if __name__ == "__main__":
    print(*draw(column_names(Path(sys.argv[1]))), sep="\n")
