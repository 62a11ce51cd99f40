"""What goes wrong in the field: items left unanswered, and people who break off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tabsoda.datasets.questions import Question
from tabsoda.schema.column import Reason
from tabsoda.states.cell_states import reason_code

BoolArray = NDArray[np.bool_]


def item_nonresponse(
    questions: tuple[Question, ...],
    drivers: NDArray[np.float64],
    rate: float,
    structure: np.random.Generator,
    noise: np.random.Generator,
) -> BoolArray:
    """Draw unanswered items; their chance depends on answers that are never missing (MAR).

    Parameters
    ----------
    questions : tuple of Question
    drivers : ndarray, shape (n_rows, n_drivers)
        Standardised answers everybody gave.
    rate : float
        About the share of unanswered items.
    """
    mask = np.zeros((drivers.shape[0], len(questions)), dtype=bool)
    for position, question in enumerate(questions):
        slopes = structure.normal(scale=0.5, size=drivers.shape[1])
        chance = rate * question.sensitivity * structure.uniform(0.5, 1.5)
        if chance > 0:
            # The slopes widen the spread of chances; the shift keeps their mean about right.
            level = logit(min(chance, 0.9)) - 0.5 * float(np.sum(slopes**2))
            mask[:, position] = noise.random(drivers.shape[0]) < expit(level + drivers @ slopes)
    return mask


def breakoff(
    shape: tuple[int, int], first: int, rate: float, rng: np.random.Generator
) -> BoolArray:
    """Draw who stops, and where (at column ``first`` or later); nothing is answered from there."""
    n_rows, n_columns = shape
    leaves = rng.random(n_rows) < rate
    stop = np.where(leaves, rng.integers(first, n_columns, size=n_rows), n_columns)
    return np.arange(n_columns)[None, :] >= stop[:, None]


def reasons_given(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw what an unanswered item would say of itself: don't know, refused, or nothing."""
    choices = [reason_code(r) for r in (Reason.DONT_KNOW, Reason.REFUSED, Reason.BLANK)]
    # A third of 256 each, near enough: bytes are much faster to draw than weighted choices.
    draws = rng.integers(0, 256, size=shape, dtype=np.uint8)
    return np.array(choices, dtype=np.uint8)[np.minimum(draws // 86, 2)]
