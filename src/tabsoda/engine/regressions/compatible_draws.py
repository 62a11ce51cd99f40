"""Draw a question from its regression, by how well it fits the questions that respond to it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.question_regression import LevelRegression, NumberRegression
from tabsoda.engine.regressions.terms import Numbers, Terms, columns_of

Regression = NumberRegression | LevelRegression

# Single precision has 24 binary digits: the first 12 choose a candidate, the others candidates.
_DIGITS = 2.0**12


def draw_question(
    position: int,
    models: Mapping[int, Regression],
    design: Design,
    terms: Mapping[int, Terms],
    responses: Mapping[int, tuple[int, ...]],
    matrix: Numbers,
    filled: Numbers,
    skipped: NDArray[np.bool_],
    rows: NDArray[np.intp],
    uniforms: Numbers,
) -> Numbers:
    """Draw the answers of some rows to one question.

    Parameters
    ----------
    position : int
        The question.
    models : mapping of int to NumberRegression or LevelRegression
    design : Design
    terms : mapping of int to Terms
    responses : mapping of int to tuple of int
        Per question, the responses by which it is drawn.
    matrix : ndarray of float64, shape (N, P)
        The design of the table.
    filled : ndarray of float64, shape (N, d)
        Its present answers.
    skipped : ndarray of bool, shape (N, d)
        A response that was skipped says nothing.
    rows : ndarray of intp, shape (n,)
        The rows to draw.
    uniforms : ndarray of float64, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    own = models[position]
    asked = terms[position].of(matrix, rows)
    deciding = [r for r in responses.get(position, ()) if r in models]
    is_number = isinstance(own, NumberRegression)
    if not deciding and not (is_number and len(terms[position].products)):
        return own.draw(asked, uniforms)
    # The last digits of a uniform number are as good as another one.
    values, probabilities = own.candidates(asked, uniforms * _DIGITS % 1.0)
    if is_number and deciding:
        # With the present value among values drawn without the responses, the right distribution
        # is left as it is, however few values there are (Andrieu et al. 2010).
        values = np.column_stack([filled[rows, position], values])
        probabilities = np.full(values.shape, 1 / values.shape[1])
    with np.errstate(divide="ignore"):
        fit = np.log(probabilities)
    if isinstance(own, LevelRegression):
        # All rows have the same levels to choose from.
        levels = own.occurring.astype(np.float64)
        blocks = np.tile(design.block(position, levels), (rows.size, 1))
    else:
        blocks = design.block(position, values.ravel())
    for r in deciding:
        own_places = design.places(position)
        linear = linear_predictors(models[r], terms[r], matrix, rows, own_places, blocks)
        answers = np.repeat(np.nan_to_num(filled[rows, r]), values.shape[1])
        likely = models[r].log_likelihood(linear, answers).reshape(values.shape)
        fit += np.where(skipped[rows, r][:, None], 0.0, likely)
    edges = np.exp(fit - fit.max(axis=1, keepdims=True)).cumsum(axis=1)
    chosen = (edges[:, :-1] <= (uniforms * edges[:, -1])[:, None]).sum(axis=1)
    return values[np.arange(len(values)), chosen]


def linear_predictors(
    model: Regression,
    terms: Terms,
    matrix: Numbers,
    rows: NDArray[np.intp],
    places: NDArray[np.intp],
    blocks: Numbers,
) -> Numbers:
    """Return a response's predictors times its coefficients, for several values of a question.

    Parameters
    ----------
    model : NumberRegression or LevelRegression
    terms : Terms
        Of the response.
    matrix : ndarray of float64, shape (N, P)
    rows : ndarray of intp, shape (n,)
    places : ndarray of int64, shape (w,)
        The columns of the question.
    blocks : ndarray of float64, shape (n * s, w)
        These columns for each row's s values.

    Returns
    -------
    ndarray of float64, shape (n * s, k)
    """
    changing = terms.involving(places)
    (same, fixed), (used, moving) = terms.part(~changing), terms.part(changing)
    count = len(blocks) // max(rows.size, 1)
    own = np.isin(places, used)
    trial = np.repeat(columns_of(matrix, used, rows), count, axis=0)
    trial[:, np.searchsorted(used, places[own])] = blocks[:, own]
    linear = fixed.of(columns_of(matrix, same, rows)) @ model.coefficients[~changing]
    return np.repeat(linear, count, axis=0) + moving.of(trial) @ model.coefficients[changing]
