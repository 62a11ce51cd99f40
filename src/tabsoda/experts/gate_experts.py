"""Experts for gates whose followers are unresolved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.experts.tree_experts import TreeExperts
from tabsoda.states.cell_states import CellStates


@dataclass(frozen=True, eq=False)
class GateExperts:
    """Experts that see nothing of what a gate decides, neither answers nor skips.

    Where a gate is visible, a blank follower was asked for sure; where the gate is missing, nobody
    knows. Whoever learned from the first takes a blank for a sign that the gate led there.

    Attributes
    ----------
    experts : TreeExperts
        Of the gates.
    followers : ndarray of bool, shape (d, d)
        True at (gate, follower), for the gates that have an expert.
    """

    experts: TreeExperts
    followers: NDArray[np.bool_]

    @classmethod
    def of(cls, experts: TreeExperts, followers: NDArray[np.bool_]) -> GateExperts:
        """Keep the followers of the gates that have an expert."""
        fitted = np.isin(np.arange(len(followers)), list(experts.models))
        return cls(experts, followers & fitted[:, None])

    def unresolved(self, states: CellStates) -> NDArray[np.bool_]:
        """Return the missing gates of whose followers nothing is known, shape (n, d).

        Examples
        --------
        >>> answered = np.array([[True, False], [False, True], [False, False]])
        >>> states = CellStates.from_masks(answered, np.zeros((3, 2), dtype=bool), ("a", "b"))
        >>> followers = np.array([[False, True], [False, False]])
        >>> GateExperts(None, followers).unresolved(states)[:, 0].tolist()
        [False, False, True]
        """
        settled = (states.answered | states.skipped).astype(np.float32)
        known = settled @ self.followers.T.astype(np.float32) > 0
        return states.missing & ~known & self.followers.any(axis=1)
