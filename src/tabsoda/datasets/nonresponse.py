"""Generate item nonresponse and breakoff."""

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
    """Draw unanswered items; their probability depends on answers never missing (MAR).

    Parameters
    ----------
    questions : tuple of Question
    drivers : ndarray, shape (n_rows, n_drivers)
        Standardised answers that are never missing.
    rate : float
        Approximate share of unanswered items.
    """
    mask = np.zeros((drivers.shape[0], len(questions)), dtype=bool)
    for position, question in enumerate(questions):
        slopes = structure.normal(scale=0.5, size=drivers.shape[1])
        chance = rate * question.sensitivity * structure.uniform(0.5, 1.5)
        if chance > 0:
            # The slopes widen the spread of probabilities; the shift keeps their mean about right.
            level = logit(min(chance, 0.9)) - 0.5 * float(np.sum(slopes**2))
            mask[:, position] = noise.random(drivers.shape[0]) < expit(level + drivers @ slopes)
    return mask


def breakoff(
    shape: tuple[int, int], first: int, rate: float, rng: np.random.Generator
) -> BoolArray:
    """Draw who breaks off, and at which column (``first`` or later)."""
    n_rows, n_columns = shape
    leaves = rng.random(n_rows) < rate
    stop = np.where(leaves, rng.integers(first, n_columns, size=n_rows), n_columns)
    return np.arange(n_columns)[None, :] >= stop[:, None]


def reasons_given(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw the reason of each unanswered item: don't know, refused, or blank."""
    choices = [reason_code(r) for r in (Reason.DONT_KNOW, Reason.REFUSED, Reason.BLANK)]
    # About a third of 256 each: bytes are much faster to draw than weighted choices.
    draws = rng.integers(0, 256, size=shape, dtype=np.uint8)
    return np.array(choices, dtype=np.uint8)[np.minimum(draws // 86, 2)]
