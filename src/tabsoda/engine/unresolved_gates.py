"""Missing gates of whose followers nothing is known either."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabsoda.states.cell_states import CellStates


def unresolved_gates(followers: NDArray[np.bool_], states: CellStates) -> NDArray[np.bool_]:
    """Return the missing gates whose followers are all missing, shape (n, d).

    Where a gate is answered, a missing follower was asked; where the gate is missing, nobody
    knows. A model that learned from the first takes a missing follower for a sign that the gate led
    to it.

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
