"""The three-state map: answered, missing and skipped cells in questionnaire order.

The image has at most a few hundred rows and columns, so that a report of a million respondents is
as small as one of a thousand.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.states.cell_states import CellState, CellStates

_TICKS, _FEW_TICKS = 8, 4
_MOST_ROWS, _MOST_COLUMNS = 240, 1200
# Okabe and Ito's blue and vermilion; skips are transparent, so that the page shows through.
_ANSWERED, _MISSING = (0, 114, 178), (213, 94, 0)
# Rows are sorted by their pattern on this many evenly spread rows at most.
_MOST_SORTED = 200_000


def state_map(states: CellStates, suppress_below: int = 0) -> dict[str, Any]:
    """Summarise the states of a table as an image.

    Respondents are sorted by their pattern, question by question, so that routes through the
    questionnaire appear as blocks. Each pixel averages the states of several respondents.

    Parameters
    ----------
    states : CellStates
    suppress_below : int
        Counts in a pixel from 1 to this minus 1 are not drawn.

    Returns
    -------
    dict
        ``image`` (a PNG as a data URI), ``row_bins``, ``column_bins``, ``rows``, ``columns``,
        ``ticks`` and, for a narrow page, ``few_ticks`` (see :func:`axis_labels`).
    """
    missing, skipped, sizes = binned_counts(states, suppress_below)
    pixels = _pixels(missing, skipped, sizes)
    n_columns = states.shape[1]
    return {
        "rows": states.shape[0],
        "columns": n_columns,
        "row_bins": pixels.shape[0],
        "column_bins": pixels.shape[1],
        "image": "data:image/png;base64," + base64.b64encode(png(pixels)).decode(),
        "ticks": axis_labels(states.names, _TICKS),
        "few_ticks": axis_labels(states.names, _FEW_TICKS),
    }


def axis_labels(names: Sequence[str], most: int) -> list[dict[str, Any]]:
    """Choose evenly spaced questions to label below the map, each with its position and width.

    Returns
    -------
    list of dict
        ``name``; ``at``, the left edge of the question's column between 0 and 1; ``width``, the
        distance to the next label, which the text must not exceed.

    Examples
    --------
    >>> axis_labels(["a", "b", "c", "d"], 2)
    [{'name': 'a', 'at': 0.0, 'width': 0.5}, {'name': 'c', 'at': 0.5, 'width': 0.5}]
    """
    n = len(names)
    edges = [*(n * k // min(n, most) for k in range(min(n, most))), n]
    return [
        {"name": names[place], "at": place / n, "width": (end - place) / n}
        for place, end in pairwise(edges)
    ]


def binned_counts(
    states: CellStates, suppress_below: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count missing and skipped cells in blocks of sorted respondents and neighbouring questions.

    Returns
    -------
    missing, skipped, sizes : ndarray of int64, shape (n_row_bins, n_column_bins)
    """
    n_rows, n_columns = states.shape
    grid = states.states
    if n_rows > _MOST_SORTED:
        grid = grid[np.linspace(0, n_rows - 1, _MOST_SORTED).astype(np.int64)]
    order = pattern_order(grid)
    most = min(_MOST_ROWS, grid.shape[0] // max(suppress_below, 1)) or 1
    row_edges = _edges(grid.shape[0], most)
    column_edges = _edges(n_columns, _MOST_COLUMNS)
    counts = []
    for state in (CellState.MISSING, CellState.SKIPPED):
        chosen = (grid == state)[order].astype(np.int64)
        by_row = np.add.reduceat(chosen, row_edges[:-1], axis=0)
        counts.append(np.add.reduceat(by_row, column_edges[:-1], axis=1))
    sizes = np.outer(np.diff(row_edges), np.diff(column_edges))
    for count in counts:
        count[(count > 0) & (count < suppress_below)] = 0
        rest = sizes - count
        count[(rest > 0) & (rest < suppress_below)] = sizes[(rest > 0) & (rest < suppress_below)]
    return counts[0], counts[1], sizes


def pattern_order(grid: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the order of rows sorted by their states, the first question first.

    Examples
    --------
    >>> pattern_order(np.array([[0, 2], [2, 2], [0, 0]], dtype=np.uint8)).tolist()
    [2, 0, 1]
    """
    if not grid.shape[1]:
        return np.arange(grid.shape[0])
    # Sorted by skips before blanks: skips form blocks, blanks are scattered.
    skips = np.packbits(grid == CellState.SKIPPED, axis=1)
    blanks = np.packbits(grid == CellState.MISSING, axis=1)
    keys = np.ascontiguousarray(np.hstack([skips, blanks]))
    return np.lexsort(keys.T[::-1])


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode an image of shape (height, width, 4), red, green, blue and opacity, as PNG."""
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    lines = np.concatenate(
        [np.zeros((height, 1), dtype=np.uint8), pixels.reshape(height, -1)], axis=1
    )
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _pixels(
    missing: NDArray[np.int64], skipped: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.uint8]:
    # Blanks are rare: the square root makes a share of one in a hundred visible.
    blank = np.sqrt(missing / sizes)[..., None]
    colour = (1 - blank) * np.array(_ANSWERED) + blank * np.array(_MISSING)
    opacity = 255 * np.maximum(1 - skipped / sizes, blank[..., 0])
    # Sixteen steps compress well, and the eye cannot distinguish more.
    steps = np.round(np.dstack([colour, opacity]) / 17) * 17
    return steps.clip(0, 255).astype(np.uint8)


def _edges(n: int, most: int) -> NDArray[np.int64]:
    """Divide ``n`` items into at most ``most`` even blocks."""
    return np.unique(np.linspace(0, n, min(n, most) + 1).astype(np.int64))
