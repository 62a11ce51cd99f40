"""Build cell states from reasons and from a skip mask."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Reason
from tabsoda.states.cell_states import CellStates, reason_code


def states_from_reasons(reasons: NDArray[np.uint8], names: tuple[str, ...]) -> CellStates:
    """Build states from reasons, 0 where a cell is answered; shape (n_rows, n_columns).

    Examples
    --------
    >>> codes = np.array([[0, reason_code(Reason.SKIP), reason_code(Reason.REFUSED)]], np.uint8)
    >>> states_from_reasons(codes, ("a", "b", "c")).states.tolist()
    [[0, 2, 1]]
    """
    reasons = np.asarray(reasons, dtype=np.uint8)
    return CellStates.from_masks(reasons == 0, reasons == reason_code(Reason.SKIP), names, reasons)


def add_mask(states: CellStates, mask: NDArray[np.bool_]) -> CellStates:
    """Add a mask's skips to those known; raise if the mask marks an answered cell."""
    return states.with_skips(states.skipped | mask)
