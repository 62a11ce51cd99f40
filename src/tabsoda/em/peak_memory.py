"""How much memory a run takes at its peak, counted before it starts."""

from __future__ import annotations

from tabsoda.em.operations import network_weights
from tabsoda.em.stage_work import MAX_BLEND_ROWS, TableSize
from tabsoda.settings import Settings

# Bytes that one of each count of memory_work takes: "memory" of
# benchmarks/engine/cost_calibration.json.
BYTES: tuple[float, ...] = (5.7e8, 0, 7.76, 8.99, 70.5, 356)
# Of the process that grows trees: its interpreter and libraries, and per cell of the table.
_TREE_PROCESS = 2.0e8
_TREE_CELL = 40.0


def memory_work(size: TableSize, settings: Settings, n_draws: int) -> tuple[float, ...]:
    """Count what memory is taken by.

    Returns
    -------
    tuple of float
        1 for the interpreter and its libraries; cells of the table; numbers of the encoded table
        and of the predictors of its regressions; numbers that the network keeps of a batch;
        probabilities of all levels that are laid out at a time; drawn cells.
    """
    width = settings.backbone.width
    batch = min(size.rows, settings.training.batch_size)
    block = min(size.rows, settings.sampler.block_rows)
    tokens = size.columns if settings.backbone.name == "tokens" else 1
    laid_out = 0.0
    if settings.has_heads:
        _, held_out = size.held_out(settings)
        laid_out = size.probabilities * max(min(held_out, MAX_BLEND_ROWS), block)
    encoded = size.rows * (size.coordinates + float(size.widths.sum()))
    kept = tokens * width * float(batch) + 4.0 * network_weights(size.coordinates, settings)
    return (1.0, float(size.cells), encoded, kept, laid_out, n_draws * size.n_missing)


def memory_bytes(
    size: TableSize, settings: Settings, n_draws: int, *, beside: bool = False
) -> float:
    """Estimate the peak of main memory.

    Parameters
    ----------
    size : TableSize
    settings : Settings
    n_draws : int
    beside : bool
        Whether trees grow in a process of their own.
    """
    counts = memory_work(size, settings, n_draws)
    peak = sum(count * one for count, one in zip(counts, BYTES, strict=True))
    return peak + (_TREE_PROCESS + _TREE_CELL * size.cells if beside else 0.0)
