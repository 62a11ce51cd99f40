"""Detect absent respondents: breakoff or a missed wave rather than a skip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.skips.screening import wilson_upper


@dataclass(frozen=True)
class Absence:
    """When a skip is withheld because the respondent was absent; see :func:`absent_cells`.

    Attributes
    ----------
    quiet_run : int
        Unexplained blanks in a row after which a respondent may have been absent.
    max_present_share : float
        Largest Wilson upper bound of the share of quiet respondents who answered.
    """

    quiet_run: int
    max_present_share: float

    def withheld(self, asked: NDArray[np.bool_], skipped: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the skipped cells of absent respondents, shape (n_rows, n_columns).

        Examples
        --------
        >>> asked = np.zeros((200, 3), dtype=bool)
        >>> skipped = np.zeros((200, 3), dtype=bool)
        >>> skipped[:100, 2] = True
        >>> Absence(quiet_run=2, max_present_share=0.05).withheld(asked, skipped).sum(axis=0)
        array([  0,   0, 100])
        """
        return absent_cells(asked, skipped, self.quiet_run, self.max_present_share) & skipped


def quiet_before(
    asked: NDArray[np.bool_], skipped: NDArray[np.bool_], run: int
) -> NDArray[np.bool_]:
    """Return the cells before which a respondent left ``run`` questions blank without a reason.

    Skipped questions in between count neither way.

    Examples
    --------
    >>> asked = np.array([[True, False, False, False, True]])
    >>> quiet_before(asked, np.zeros_like(asked), run=2).tolist()
    [[False, False, False, True, True]]
    """
    quiet = np.zeros(asked.shape, dtype=bool)
    length = np.zeros(asked.shape[0], dtype=np.int64)
    for position in range(asked.shape[1]):
        quiet[:, position] = length >= run
        unexplained = ~asked[:, position] & ~skipped[:, position]
        length = np.where(asked[:, position], 0, length + unexplained)
    return quiet


def absent_cells(
    asked: NDArray[np.bool_], skipped: NDArray[np.bool_], run: int, max_share: float
) -> NDArray[np.bool_]:
    """Return the blank cells of respondents who were absent when the question was asked.

    A respondent is quiet around a question if they left the next (or previous) few questions blank
    for no known reason. If quiet respondents practically never answered the question, it belongs
    to the part of the interview they missed, and a rule that fires on them does not explain why
    the cell is blank.

    Parameters
    ----------
    asked, skipped : ndarray of bool, shape (n_rows, n_columns)
        Cells with evidence of asking, and cells that rules explain.
    run : int
        Blanks that make a respondent quiet.
    max_share : float
        Largest Wilson upper bound of the share of quiet respondents who answered.

    Notes
    -----
    The share is taken over the rows of the table. A bound of .05 needs 73 quiet respondents of
    whom none answered, so in a small table no respondent is classified as absent.
    """
    absent = np.zeros(asked.shape, dtype=bool)
    after = quiet_before(asked[:, ::-1], skipped[:, ::-1], run)[:, ::-1]
    for quiet in (quiet_before(asked, skipped, run), after):
        could_answer = quiet & ~skipped
        upper = wilson_upper((could_answer & asked).sum(axis=0), could_answer.sum(axis=0))
        absent |= quiet & ~asked & (upper <= max_share)
    return absent
