"""Whether an ordinal is encoded as a latent or as bits, by the share of its mode.

Input: visible answers per level. Output: which ordinals get a latent, with an event for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.paper.settings import EncodingSettings
from tabsoda.schema.column import Column, ColumnKind


def dominant_share(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of the most frequent level per column; 0 if nothing is visible.

    Examples
    --------
    >>> dominant_share(np.array([[7, 3], [0, 0]])).tolist()
    [0.7, 0.0]
    """
    total = counts.sum(axis=1)
    return counts.max(axis=1, initial=0) / np.maximum(total, 1)


def latent_ordinals(
    counts: NDArray[np.int64],
    names: Sequence[str],
    settings: EncodingSettings,
    events: EventLog,
) -> NDArray[np.bool_]:
    """Return which ordinals get a cumulative-probit latent, Eq. (routing); others get bits.

    Parameters
    ----------
    counts : ndarray, shape (n_ordinals, max_levels)
        Visible answers per level, 0 in the padding.
    names : sequence of str
    settings : EncodingSettings
        ``ordinal="bits"`` encodes all of them as bits (TabSODA-N).
    events : EventLog
        Gets ``"ordinal_encoded_as_bits"`` for each column that leaves the latent route, or one
        ``"all_ordinals_encoded_as_bits"``.

    Returns
    -------
    ndarray of bool, shape (n_ordinals,)
    """
    if settings.ordinal == "bits":
        if len(names):
            events.add("all_ordinals_encoded_as_bits", columns=len(names))
        return np.zeros(len(names), dtype=bool)
    share = dominant_share(counts)
    latent = share < settings.max_dominant_share
    for position in np.flatnonzero(~latent).tolist():
        events.add(
            "ordinal_encoded_as_bits",
            column=names[position],
            share=float(share[position]),
            limit=settings.max_dominant_share,
        )
    return latent


def route_ordinals(
    columns: Sequence[Column],
    counts: NDArray[np.int64],
    settings: EncodingSettings,
    events: EventLog,
) -> NDArray[np.bool_]:
    """Return which of all columns get a latent: ordinals with two or more observed levels.

    Parameters
    ----------
    columns : sequence of Column
    counts : ndarray, shape (d, max_levels)
        Visible answers per level, 0 in the padding and for continuous columns.
    settings, events
        As in :func:`latent_ordinals`.

    Returns
    -------
    ndarray of bool, shape (d,)
    """
    is_ordinal = np.array([column.kind is ColumnKind.ORDINAL for column in columns], dtype=bool)
    ordinal = np.flatnonzero(is_ordinal & ((counts > 0).sum(axis=1) > 1))
    names = [columns[position].name for position in ordinal.tolist()]
    route = np.zeros(len(columns), dtype=bool)
    route[ordinal] = latent_ordinals(counts[ordinal], names, settings, events)
    return route
