"""Missing gates whose followers are missing as well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.states.cell_states import CellStates


def unresolved_gates(followers: NDArray[np.bool_], states: CellStates) -> NDArray[np.bool_]:
    """Return the missing gates whose followers are all missing, shape (n, d).

    If a gate is answered, a missing follower was asked; if the gate is missing, it is unknown
    whether the follower was asked. A model fitted to the first kind of rows would read a missing
    follower as a sign that the gate leads to it.

    Parameters
    ----------
    followers : ndarray of bool, shape (d, d)
        True at (gate, follower).
    states : CellStates

    Examples
    --------
    >>> answered = np.array([[True, False], [False, True], [False, False]])
    >>> states = CellStates.from_masks(answered, np.zeros((3, 2), dtype=bool), ("a", "b"))
    >>> unresolved_gates(np.array([[False, True], [False, False]]), states)[:, 0].tolist()
    [False, False, True]
    """
    known = (states.answered | states.skipped).astype(np.float32)
    resolved = known @ followers.T.astype(np.float32) > 0
    return states.missing & ~resolved & followers.any(axis=1)
