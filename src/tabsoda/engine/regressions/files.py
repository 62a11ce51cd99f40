"""Regressions as arrays and JSON, and back; nothing is executed when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.question_regression import LevelRegression, NumberRegression
from tabsoda.errors import InputError

Arrays = dict[str, NDArray[Any]]
Regression = NumberRegression | LevelRegression
Sets = tuple[dict[int, Regression], ...]

_FORMAT = 1
_NUMBER = ("slopes", "donors_predicted", "donors_answers")
_LEVELS = ("occurring", "slopes", "intercepts")


def to_state(
    design: Design, predictors: dict[int, NDArray[np.int64]], sets: Sets
) -> tuple[Arrays, dict[str, Any]]:
    """Return what :func:`from_state` needs: arrays, and content for JSON."""
    arrays: Arrays = {
        name: getattr(design, name) for name in ("has_skips", "column_of", "middle", "spread")
    }
    arrays |= {f"weights.{p}": weights for p, weights in enumerate(design.weights)}
    arrays |= {f"predictors.{p}": places for p, places in predictors.items()}
    n_levels = {}
    for number, models in enumerate(sets):
        for p, model in models.items():
            names = _LEVELS if isinstance(model, LevelRegression) else _NUMBER
            arrays |= {f"{number}.{p}.{name}": getattr(model, name) for name in names}
            if isinstance(model, LevelRegression):
                n_levels[str(p)] = model.n_levels
    content = {
        "format": _FORMAT,
        "n_questions": len(design.weights),
        "orders": [list(models) for models in sets],
        "n_levels": n_levels,
    }
    return arrays, content


def from_state(
    arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]
) -> tuple[Design, dict[int, NDArray[np.int64]], Sets]:
    """Rebuild saved regressions; :class:`InputError` if the parts are inconsistent."""
    if not isinstance(content, Mapping) or content.get("format") != _FORMAT:
        raise InputError(
            "The saved regressions have another format version",
            expected=f"format {_FORMAT}",
            next_step="Fit the model again with this version",
        )
    try:
        weights = tuple(arrays[f"weights.{p}"] for p in range(content["n_questions"]))
        design = Design(
            weights,
            arrays["has_skips"],
            arrays["column_of"],
            arrays["middle"],
            arrays["spread"],
        )
        orders = [[int(p) for p in order] for order in content["orders"]]
        predictors = {p: arrays[f"predictors.{p}"] for p in sorted(set().union(*orders))}
        sets = tuple(
            {p: _model(arrays, content["n_levels"], number, p) for p in order}
            for number, order in enumerate(orders)
        )
        _check(design, predictors, sets)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from error
    return design, predictors, sets


def _model(
    arrays: Mapping[str, NDArray[Any]], n_levels: Mapping[str, int], number: int, p: int
) -> Regression:
    if str(p) in n_levels:
        occurring, slopes, intercepts = (arrays[f"{number}.{p}.{name}"] for name in _LEVELS)
        return LevelRegression(occurring, slopes, intercepts, int(n_levels[str(p)]))
    return NumberRegression(*(arrays[f"{number}.{p}.{name}"] for name in _NUMBER))


def _check(design: Design, predictors: dict[int, NDArray[np.int64]], sets: Sets) -> None:
    """Raise if shapes are inconsistent."""
    widths = [weights.shape[1] for weights in design.weights]
    expected = np.repeat(np.arange(len(widths)), np.add(widths, design.has_skips))
    fits = (
        np.array_equal(design.column_of, expected)
        and design.middle.shape == design.spread.shape == expected.shape
        and bool((design.spread > 0).all())
        and len(sets) > 0
        and all(models.keys() == predictors.keys() for models in sets)
    )
    if not fits:
        raise _damaged("the description of the predictors")
    for models in sets:
        for p, model in models.items():
            n_levels = getattr(model, "n_levels", 0)
            fits = n_levels == len(design.weights[p])
            if not (fits and _fits(model, predictors[p], expected.size)):
                raise _damaged(f"the regression of question {p + 1}")


def _fits(model: Regression, places: NDArray[np.int64], n_predictors: int) -> bool:
    if places.size and not (places.min() >= 0 and places.max() < n_predictors):
        return False
    if isinstance(model, NumberRegression):
        return (
            model.slopes.shape == (places.size + 1,)
            and model.donors_predicted.shape == model.donors_answers.shape
            and model.donors_predicted.size > 0
        )
    k = model.occurring.size
    ordered = model.intercepts.shape == (k - 1,) and model.slopes.shape == (places.size, 1)
    unordered = model.intercepts.shape == (k,) and model.slopes.shape == (places.size, k)
    known = np.isin(model.occurring, np.arange(model.n_levels)).all()
    return k > 0 and bool(known) and (ordered or unordered)


def _damaged(what: str) -> InputError:
    return InputError(
        "The saved regressions are damaged", found=what, next_step="Fit the model again"
    )
