"""One question's observed answers against its imputed ones, as numbers and shares.

A difference is not an error: people who do not answer a question may differ from those who do. A
large difference is a reason to look.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gaussian_kde, ks_2samp

from tabsoda.report.suppression import share, withhold
from tabsoda.schema.column import Column

FloatArray = NDArray[np.float64]

# More levels than this are folded into one line, the rarest first.
MOST_LEVELS = 14
# No distance is given for fewer imputed cells: it would be mostly chance.
FEWEST_CELLS = 30
# Numbers with at most this many different values are shown value by value.
_FEW_VALUES = 12
_GRID, _BINS = 61, 400
# If at least this share of respondents gave the same number, numbers are shown in bands.
_HEAP, _BANDS = 0.2, 8
# Where small counts are withheld, the tails of a distribution are not drawn: they are small.
_TAIL, _PUBLIC_TAIL = 0.005, 0.05
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def compare_answers(
    column: Column, observed: FloatArray, drawn: FloatArray, suppress_below: int = 0
) -> dict[str, Any]:
    """Compare the answers of a question with what was imputed.

    Parameters
    ----------
    column : Column
    observed : ndarray, shape (n_answered,)
        Level positions or numbers.
    drawn : ndarray, shape (n_draws, n_cells)
        The same for the imputed cells; NaN where a draw skips the question.
    suppress_below : int
        Counts from 1 to this minus 1 are withheld, and groups of that size are not described.

    Returns
    -------
    dict
        ``shares`` (for levels) or ``numbers`` (for numbers), and ``distance``: total variation
        of levels, Kolmogorov-Smirnov distance of numbers; None for fewer than 30 cells, where it
        would be mostly chance. Numbers with many equal values have ``bands`` (shares of ranges)
        instead of a ``density``.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> column = Column("likes", ColumnKind.NOMINAL, ("yes", "no"))
    >>> found = compare_answers(column, np.array([0.0, 0, 0, 1]), np.array([[0.0, 1.0] * 20]))
    >>> [(one["level"], one["observed"], one["imputed"]) for one in found["shares"]]
    [('yes', 0.75, 0.5), ('no', 0.25, 0.5)]
    >>> found["distance"]
    0.25
    """
    observed = observed if observed.size >= suppress_below else observed[:0]
    drawn = drawn if drawn.shape[1] >= suppress_below else drawn[:, :0]
    pooled = drawn[~np.isnan(drawn)]
    if column.is_categorical:
        labels = [(_code(level), column.level_labels.get(level, "")) for level in column.levels]
        return _levels(labels, observed, drawn, suppress_below)
    values = np.unique(np.concatenate([np.unique(observed), np.unique(pooled)]))
    if values.size <= _FEW_VALUES:
        places = np.searchsorted(values, drawn).astype(np.float64)
        places[np.isnan(drawn)] = np.nan
        found = _levels(
            [(f"{value:.6g}", "") for value in values],
            np.searchsorted(values, observed).astype(np.float64),
            places,
            suppress_below,
        )
        found["distance"] = _ks(observed, pooled, drawn.shape[1])
        return found
    bands = _bands(observed, drawn, values, suppress_below)
    tail = _PUBLIC_TAIL if suppress_below > 1 else _TAIL
    return {
        "numbers": {
            "observed": _summary(observed, suppress_below),
            "imputed": _summary(pooled, 0),
            "bands": bands,
            "density": None if bands else _density(observed, pooled, tail),
            "outside": _outside(observed, pooled),
        },
        "distance": _ks(observed, pooled, drawn.shape[1]),
    }


def _bands(
    observed: FloatArray, drawn: FloatArray, values: FloatArray, suppress_below: int
) -> list[dict[str, Any]] | None:
    """Return the shares of ranges of numbers if many values are equal; otherwise None.

    A smooth density would hide the spike, usually at zero, so the spike is a band of its own and
    the other numbers are cut at quantiles.
    """
    distinct, counts = np.unique(observed, return_counts=True)
    if not observed.size or counts.max() < _HEAP * observed.size:
        return None
    heap = distinct[counts.argmax()]
    others = observed[observed != heap]
    shares = np.arange(1, _BANDS) / _BANDS
    cuts = np.quantile(others, shares, method="inverted_cdf") if others.size else np.empty(0)
    # Each band includes its upper edge; the band of the spike contains nothing else.
    below = values[values < heap][-1:]
    edges = np.unique(np.concatenate([cuts, below, [heap], values[-1:]]))
    ends = np.searchsorted(values, edges, side="right")
    starts = np.concatenate([[0], ends[:-1]])
    labels = [
        (_range_text(values[start], values[end - 1], end == values.size), "")
        for start, end in zip(starts, ends, strict=True)
    ]
    places = np.searchsorted(edges, drawn).astype(np.float64)
    places[np.isnan(drawn)] = np.nan
    where = np.searchsorted(edges, observed).astype(np.float64)
    rows: list[dict[str, Any]] = _levels(labels, where, places, suppress_below)["shares"]
    return rows


def _range_text(low: float, high: float, last: bool) -> str:
    if low == high:
        return f"{low:.6g}"
    return f"{low:.6g} or more" if last else f"{low:.6g} to {high:.6g}"


def _levels(
    labels: list[tuple[str, str]], observed: FloatArray, drawn: FloatArray, suppress_below: int
) -> dict[str, Any]:
    if not labels:
        # Nobody answered, or too few respondents to show.
        return {"shares": [], "distance": None}
    n_levels = len(labels)
    counts = np.bincount(observed.astype(np.intp), minlength=n_levels)
    drawn_counts = np.stack(
        [np.bincount(row[~np.isnan(row)].astype(np.intp), minlength=n_levels) for row in drawn]
    )
    kept, labels = _fold(labels, counts, drawn_counts)
    counts = np.array([counts[places].sum() for places in kept], dtype=np.int64)
    drawn_counts = np.stack([drawn_counts[:, places].sum(axis=1) for places in kept], axis=1)
    sizes = drawn_counts.sum(axis=1, keepdims=True)
    has_draws = bool((sizes > 0).all())
    shares = drawn_counts / np.maximum(sizes, 1)
    # Pooled over the draws, so that the shares add up even if draws skip different cells.
    pooled = drawn_counts.sum(axis=0) / max(int(sizes.sum()), 1)
    rows = []
    for place, count in enumerate(withhold(counts.tolist(), suppress_below)):
        level, label = labels[place]
        rows.append(
            {
                "level": level,
                "label": label,
                "count": count,
                "observed": share(count, observed.size),
                "imputed": round(float(pooled[place]), 5) if sizes.sum() else None,
                "low": round(float(shares[:, place].min()), 5) if has_draws else None,
                "high": round(float(shares[:, place].max()), 5) if has_draws else None,
            }
        )
    distance = None
    if observed.size and sizes.sum() and drawn.shape[1] >= FEWEST_CELLS:
        distance = round(float(np.abs(counts / observed.size - pooled).sum() / 2), 4)
    return {"shares": rows, "distance": distance}


def _fold(
    labels: list[tuple[str, str]], counts: NDArray[np.int64], drawn: NDArray[np.int64]
) -> tuple[list[list[int]], list[tuple[str, str]]]:
    """Keep the most frequent levels in their order, and merge the others at the end."""
    if len(labels) <= MOST_LEVELS:
        return [[place] for place in range(len(labels))], labels
    weight = counts + drawn.sum(axis=0) / max(drawn.shape[0], 1)
    chosen = np.sort(np.argsort(-weight, kind="stable")[: MOST_LEVELS - 1])
    others = np.setdiff1d(np.arange(len(labels)), chosen).tolist()
    names = [*(labels[place] for place in chosen), ("", f"{len(others):,} other levels")]
    return [*([int(place)] for place in chosen), others], names


def _summary(values: FloatArray, suppress_below: int) -> dict[str, Any] | None:
    """Return mean, standard deviation and quantiles; withhold those with too few beyond them."""
    if not values.size:
        return None
    quantiles = [
        None if min(q, 1 - q) * values.size < suppress_below else float(np.quantile(values, q))
        for q in _QUANTILES
    ]
    return {
        "mean": float(values.mean()),
        "sd": float(values.std(ddof=1)) if values.size > 1 else None,
        **{f"p{round(100 * q)}": v for q, v in zip(_QUANTILES, quantiles, strict=True)},
    }


def _density(
    observed: FloatArray, imputed: FloatArray, tail: float
) -> dict[str, list[float]] | None:
    """Estimate both densities on one grid, which leaves out a share ``tail`` at either end."""
    both = [values for values in (observed, imputed) if values.size]
    if not both:
        return None
    ends = [np.quantile(values, (tail, 1 - tail)) for values in both]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if not high > low:
        return None
    x = np.linspace(low, high, _GRID)
    return {
        "x": [float(f"{value:.6g}") for value in x],
        "observed": _curve(observed, x),
        "imputed": _curve(imputed, x),
    }


def _curve(values: FloatArray, x: FloatArray) -> list[float]:
    """Return a kernel density estimate at ``x``, from counts in narrow bins, for speed."""
    inside = values[(values >= x[0]) & (values <= x[-1])]
    if np.unique(inside[:1000]).size < 2 and np.unique(inside).size < 2:
        return []
    counts, edges = np.histogram(inside, bins=_BINS, range=(x[0], x[-1]))
    filled = counts > 0
    if filled.sum() < 2:
        return []
    centres = (edges[:-1] + edges[1:]) / 2
    kernel = gaussian_kde(centres[filled], weights=counts[filled])
    # Scott's bandwidth, from the number of values, not the number of bins.
    kernel.set_bandwidth(max(inside.size, 2) ** -0.2)
    scaled = kernel(x) * (x[-1] - x[0]) * inside.size / values.size
    return [float(f"{value:.4g}") for value in scaled]


def _outside(observed: FloatArray, imputed: FloatArray) -> float | None:
    """Return the share of imputed numbers below the smallest or above the largest observed one."""
    if not observed.size or not imputed.size:
        return None
    beyond = (imputed < observed.min()) | (imputed > observed.max())
    return round(float(beyond.mean()), 5)


def _ks(observed: FloatArray, imputed: FloatArray, n_cells: int) -> float | None:
    if not observed.size or not imputed.size or n_cells < FEWEST_CELLS:
        return None
    return round(float(ks_2samp(observed, imputed, method="asymp").statistic), 4)


def _code(level: object) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)
