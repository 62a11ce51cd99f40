"""Compare a skip mask with a reference: the paper's audit table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError

Metrics = dict[str, float | int | None]


def skip_metrics(
    mined: NDArray[np.bool_], reference: NDArray[np.bool_], blank: NDArray[np.bool_]
) -> dict[str, Metrics]:
    """Compare a mined skip mask with a reference cell by cell (appendix "Evaluation metrics").

    Over all cells, answered ones, which neither mask skips, make accuracy and false-positive rate
    look good; the metrics over blanks count only the cells in question.

    Parameters
    ----------
    mined, reference, blank : ndarray of bool, shape (n_rows, n_columns)

    Returns
    -------
    dict
        ``{"all_cells": {...}, "blanks": {...}}``, each with ``tp``, ``fp``, ``fn``, ``tn``,
        ``precision``, ``recall``, ``f1``, ``fpr`` and ``accuracy``; None where undefined.

    Examples
    --------
    >>> import numpy as np
    >>> mined, reference = np.array([[True, True, False]]), np.array([[True, False, False]])
    >>> result = skip_metrics(mined, reference, blank=np.array([[True, True, False]]))
    >>> result["all_cells"]["precision"], result["all_cells"]["fpr"], result["blanks"]["fpr"]
    (0.5, 0.5, 1.0)
    """
    mined, reference, blank = (np.asarray(a, dtype=bool) for a in (mined, reference, blank))
    if not mined.shape == reference.shape == blank.shape:
        raise InputError(
            "The masks to compare have different shapes",
            found=f"mined {mined.shape}, reference {reference.shape}, blank {blank.shape}",
            expected="the same rows and columns in each",
        )
    return {
        "all_cells": _metrics(mined, reference),
        "blanks": _metrics(mined[blank], reference[blank]),
    }


def _metrics(mined: NDArray[np.bool_], reference: NDArray[np.bool_]) -> Metrics:
    tp = int((mined & reference).sum())
    fp = int((mined & ~reference).sum())
    fn = int((~mined & reference).sum())
    tn = mined.size - tp - fp - fn
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        # 2PR / (P + R) in counts, which is defined wherever either mask marks a cell.
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "fpr": _ratio(fp, fp + tn),
        "accuracy": _ratio(tp + tn, mined.size),
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
