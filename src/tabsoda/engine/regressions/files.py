"""Regressions as arrays and JSON, and back; nothing is executed when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.question_regression import LevelRegression, NumberRegression
from tabsoda.engine.regressions.relations import Relation
from tabsoda.engine.regressions.terms import Terms
from tabsoda.errors import InputError

Arrays = dict[str, NDArray[Any]]
Regression = NumberRegression | LevelRegression
Sets = tuple[dict[int, Regression], ...]

_FORMAT = 2
_NUMBER = ("slopes", "donors_predicted", "donors_answers")
_LEVELS = ("occurring", "slopes", "intercepts")


def to_state(
    design: Design,
    terms: dict[int, Terms],
    responses: dict[int, tuple[int, ...]],
    relations: tuple[Relation, ...],
    sets: Sets,
) -> tuple[Arrays, dict[str, Any]]:
    """Return what :func:`from_state` needs: arrays, and content for JSON."""
    arrays: Arrays = {
        name: getattr(design, name) for name in ("has_skips", "column_of", "middle", "spread")
    }
    arrays |= {f"weights.{p}": weights for p, weights in enumerate(design.weights)}
    arrays |= {f"predictors.{p}": own.places for p, own in terms.items()}
    arrays |= {f"products.{p}": own.products for p, own in terms.items() if len(own.products)}
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
        "responses": [[p, list(own)] for p, own in responses.items() if own],
        "relations": [asdict(one) for one in relations],
    }
    return arrays, content


def from_state(
    arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]
) -> tuple[Design, dict[int, Terms], dict[int, tuple[int, ...]], tuple[Relation, ...], Sets]:
    """Rebuild saved regressions; :class:`InputError` if the parts are inconsistent."""
    if not isinstance(content, Mapping) or content.get("format") != _FORMAT:
        raise InputError(
            "The saved regressions have a different format version",
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
        terms = {p: _terms(arrays, p) for p in sorted(set().union(*orders))}
        responses = {int(p): tuple(map(int, own)) for p, own in content["responses"]}
        relations = tuple(_relation(one) for one in content["relations"])
        sets = tuple(
            {p: _model(arrays, content["n_levels"], number, p) for p in order}
            for number, order in enumerate(orders)
        )
        _check(design, terms, responses, sets)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from error
    return design, terms, responses, relations, sets


def _terms(arrays: Mapping[str, NDArray[Any]], p: int) -> Terms:
    plain = Terms.plain(arrays[f"predictors.{p}"])
    return Terms(plain.places, arrays.get(f"products.{p}", plain.products))


def _relation(content: Mapping[str, Any]) -> Relation:
    return Relation(
        int(content["response"]),
        tuple(map(int, content["sources"])),
        tuple(tuple(map(int, one)) for one in content["products"]),
        float(content["statistic"]),
    )


def _model(
    arrays: Mapping[str, NDArray[Any]], n_levels: Mapping[str, int], number: int, p: int
) -> Regression:
    if str(p) in n_levels:
        occurring, slopes, intercepts = (arrays[f"{number}.{p}.{name}"] for name in _LEVELS)
        return LevelRegression(occurring, slopes, intercepts, int(n_levels[str(p)]))
    return NumberRegression(*(arrays[f"{number}.{p}.{name}"] for name in _NUMBER))


def _check(
    design: Design,
    terms: dict[int, Terms],
    responses: dict[int, tuple[int, ...]],
    sets: Sets,
) -> None:
    """Raise if shapes are inconsistent."""
    widths = [weights.shape[1] for weights in design.weights]
    expected = np.repeat(np.arange(len(widths)), np.add(widths, design.has_skips))
    fits = (
        np.array_equal(design.column_of, expected)
        and design.middle.shape == design.spread.shape == expected.shape
        and bool((design.spread > 0).all())
        and len(sets) > 0
        and all(models.keys() == terms.keys() for models in sets)
        and all(set(own) <= terms.keys() for own in responses.values())
    )
    if not fits:
        raise _damaged("the description of the predictors")
    for models in sets:
        for p, model in models.items():
            n_levels = getattr(model, "n_levels", 0)
            fits = n_levels == len(design.weights[p])
            if not (fits and _fits(model, terms[p], expected.size)):
                raise _damaged(f"the regression of question {p + 1}")


def _fits(model: Regression, terms: Terms, n_predictors: int) -> bool:
    places, products = terms.places, terms.products
    used = np.concatenate([places, products[:, :2].ravel()])
    if used.size and not (
        used.min() >= 0 and max(used.max(), products.max(initial=-1)) < n_predictors
    ):
        return False
    if isinstance(model, NumberRegression):
        return (
            model.slopes.shape == (terms.size + 1,)
            and model.donors_predicted.shape == model.donors_answers.shape
            and model.donors_predicted.size > 0
        )
    k = model.occurring.size
    ordered = model.intercepts.shape == (k - 1,) and model.slopes.shape == (terms.size, 1)
    unordered = model.intercepts.shape == (k,) and model.slopes.shape == (terms.size, k)
    known = np.isin(model.occurring, np.arange(model.n_levels)).all()
    return k > 0 and bool(known) and (ordered or unordered)


def _damaged(what: str) -> InputError:
    return InputError(
        "The saved regressions are damaged", found=what, next_step="Fit the model again"
    )
