"""Draw the columns of a file that a person judges, the same ones every time.

Usage: python benchmarks/real_files/draw.py FILE [--with-values]

Prints up to 40 column names, drawn from all columns of the file with a fixed seed, in file order;
``--with-values`` leaves out columns that are blank in every row. The judgements in ``judged/``
cover exactly these columns.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

from raw import column_names

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


if __name__ == "__main__":
    print(*draw(column_names(Path(sys.argv[1]), "--with-values" in sys.argv)), sep="\n")
