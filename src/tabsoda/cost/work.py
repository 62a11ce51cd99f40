"""Work that is counted in the same way for both engines."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from tabsoda._internal.threads import Threads
from tabsoda.cost.table_size import TableSize

Counts = tuple[float, ...]
# Respondents whose answers the report hides, and those for whom it estimates numbers.
_REPORT_ROWS = (2000, 500)


def table_stages(size: TableSize, n_draws: int) -> dict[str, Counts]:
    """Count the stages whose work does not depend on the engine."""
    return {
        "reading": (1.0, float(size.cells)),
        "writing": (1.0, float(size.cells * (n_draws + 2))),
        "reporting": (1.0, float(size.columns), float(size.cells), n_draws * size.n_missing),
    }


def estimated_rows(
    size: TableSize, block_rows: int, further: Sequence[float], *, follows: bool
) -> tuple[float, float, float]:
    """Count the rows that get point estimates, for the result, the report and other purposes.

    Parameters
    ----------
    size : TableSize
    block_rows : int
        Rows that are estimated at a time.
    further : sequence of float
        Rows of each further estimate.
    follows : bool
        Whether rows that depend on a missing gate are estimated separately.

    Returns
    -------
    blocks, rows, answers : float
        Blocks of rows, rows, and columns times the number of estimates.
    """
    parts = 2 if follows else 1
    asked = [float(size.incomplete_rows)] * parts + [float(min(size.rows, n)) for n in _REPORT_ROWS]
    asked += further
    blocks = sum(math.ceil(rows / block_rows) for rows in asked)
    # Every row is predicted once, independent of the number of blocks.
    rows = sum(asked) - (parts - 1) * size.incomplete_rows
    return blocks, rows, float(size.columns * len(asked))


def times(factor: float, counts: Counts) -> Counts:
    """Multiply every count."""
    return tuple(factor * count for count in counts)


def threads_for(products: int, batch_size: int, n_rows: int, device: torch.device) -> Threads:
    """Plan the threads for a table; a GPU leaves the CPU little to do.

    Parameters
    ----------
    products : int
        Products per row of one pass through the network. A training step is three passes, and a
        product has two operations.
    batch_size : int
        Rows per training step.
    n_rows : int
    device : torch.device
    """
    if device.type != "cpu":
        return Threads.planned(0.0)
    return Threads.planned(6.0 * min(n_rows, batch_size) * products)
