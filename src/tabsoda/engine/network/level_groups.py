"""Columns grouped by their number of levels, so that each group is a small padded array.

Otherwise one column with forty levels would pad every binary column to forty. Arrays have levels
first and rows last: torch computes a softmax over few levels many times faster along the first
axis than along the last.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

IMPOSSIBLE = -1e30
# Largest number of levels per group; columns with more are in the last group.
_WIDTHS = (4, 16)


class LevelGroup(nn.Module):
    """Converts outputs to log probabilities of some columns; has no trainable weights.

    Parameters
    ----------
    places : ndarray of int64, shape (k,)
        The group's columns among the categorical ones.
    index : ndarray of int64, shape (k, width)
        Position of each level's output; arbitrary in the padding.
    n_levels : ndarray of int64, shape (k,)
    prior : ndarray of float64, shape (k, width)
        Logits added to the network's outputs.
    ordered : ndarray of int64, shape (n_ordered,)
        The group's ordinals among its columns.
    ordered_outputs : ndarray of int64, shape (n_ordered,)
        The same among all ordinals.
    scores : ndarray of float64, shape (n_ordered, width)
        Scores of the ordinals' levels.
    """

    places: torch.Tensor
    index: torch.Tensor
    padding: torch.Tensor
    prior: torch.Tensor
    ordered: torch.Tensor
    ordered_outputs: torch.Tensor
    scores: torch.Tensor
    bends: torch.Tensor

    def __init__(
        self,
        places: NDArray[np.int64],
        index: NDArray[np.int64],
        n_levels: NDArray[np.int64],
        prior: NDArray[np.float64],
        ordered: NDArray[np.int64],
        ordered_outputs: NDArray[np.int64],
        scores: NDArray[np.float64],
    ) -> None:
        super().__init__()
        self.width, self.n_ordered = index.shape[1], ordered.size
        for name, array in (
            ("places", places),
            ("index", index.T.ravel()),
            ("padding", (np.arange(index.shape[1]) >= n_levels[:, None]).T[..., None]),
            ("prior", prior.astype(np.float32).T[..., None]),
            ("ordered", ordered),
            ("ordered_outputs", ordered_outputs),
            ("scores", scores.astype(np.float32).T[..., None]),
            ("bends", 0.5 * (scores**2 - 1.0).astype(np.float32).T[..., None]),
        ):
            kept = torch.as_tensor(np.ascontiguousarray(array))
            self.register_buffer(name, kept, persistent=False)

    def forward(
        self, logits: torch.Tensor, location: torch.Tensor, spread: torch.Tensor
    ) -> torch.Tensor:
        """Return log probabilities, shape (width, k, B), very low in the padding.

        Parameters
        ----------
        logits : float32 tensor, shape (n_logits, B)
            Outputs of all categorical columns.
        location, spread : float32 tensor, shape (n_ordered of all groups, B)
        """
        padded = logits.index_select(0, self.index).unflatten(0, (self.width, -1)) + self.prior
        if self.n_ordered:
            # The logits of a discretised normal: levels next to a likely one are likely too.
            at = location.index_select(0, self.ordered_outputs)
            bent = spread.index_select(0, self.ordered_outputs)
            padded = padded.index_add(1, self.ordered, at * self.scores + bent * self.bends)
        return padded.masked_fill(self.padding, IMPOSSIBLE).log_softmax(dim=0)


def group_of(n_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group of each column, shape (n_categorical,); not all groups need occur.

    Examples
    --------
    >>> group_of(np.array([2, 4, 5, 16, 40])).tolist()
    [0, 0, 1, 1, 2]
    """
    return np.searchsorted(_WIDTHS, n_levels)
