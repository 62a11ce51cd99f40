"""Tree models as arrays and JSON, and back; nothing is executed when they are read.

Input: the coding and the models. Output: named arrays, and content for JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.trees.boosted_trees import BoostedTrees
from tabsoda.engine.trees.predictor_codes import PredictorCodes
from tabsoda.engine.trees.question_model import LevelModel, NumberModel
from tabsoda.engine.trees.settings import MOST_CODES
from tabsoda.errors import InputError
from tabsoda.schema.column import ColumnKind

Arrays = dict[str, NDArray[Any]]
Models = dict[int, LevelModel | NumberModel]

_FORMAT = 1
_TREE_FIELDS = tuple(f.name for f in fields(BoostedTrees))


def to_state(coding: PredictorCodes, models: Models) -> tuple[Arrays, dict[str, Any]]:
    """Return the arguments of :func:`from_state`."""
    arrays: Arrays = {
        "native": coding.native,
        "n_edges": np.array([edges.size for edges in coding.edges], dtype=np.int64),
        "edges": np.concatenate([*coding.edges, np.empty(0)]),
    }
    for position, model in models.items():
        own = ("spread", "fixed") if isinstance(model, LevelModel) else ("span",)
        arrays |= {f"{position}.{name}": getattr(model, name) for name in own}
        arrays |= {f"{position}.{name}": getattr(model.trees, name) for name in _TREE_FIELDS}
    content = {
        "format": _FORMAT,
        "names": list(coding.names),
        "kinds": [kind.value for kind in coding.kinds],
        "n_levels": coding.n_levels.tolist(),
        "fitted": sorted(models),
    }
    return arrays, content


def from_state(
    arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]
) -> tuple[PredictorCodes, Models]:
    """Rebuild the coding and the models; :class:`InputError` if they are inconsistent."""
    if not isinstance(content, Mapping) or content.get("format") != _FORMAT:
        raise InputError(
            "The saved trees have a different format version",
            expected=f"format {_FORMAT}",
            next_step="Fit the model again with this version",
        )
    try:
        coding = _coding(arrays, content)
        models = {int(p): _model(arrays, coding, int(p)) for p in content["fitted"]}
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from error
    return coding, models


def _coding(arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]) -> PredictorCodes:
    names, kinds = tuple(content["names"]), tuple(ColumnKind(k) for k in content["kinds"])
    n_levels = np.array(content["n_levels"], dtype=np.int64)
    native, sizes, joined = arrays["native"], arrays["n_edges"], arrays["edges"]
    whole = (
        len(names) == len(kinds) == n_levels.size == native.size == sizes.size
        and native.dtype == bool
        and sizes.dtype == np.int64
        and bool((sizes >= 0).all() and (sizes < MOST_CODES).all())
        and joined.shape == (sizes.sum(),)
        and joined.dtype == np.float64
        and bool((n_levels >= 0).all() and (n_levels[native] < MOST_CODES).all())
    )
    if not whole:
        raise _damaged("the description of the questions")
    edges = tuple(np.split(joined, np.cumsum(sizes)[:-1]))
    for name, group in zip(names, edges, strict=True):
        if not np.isfinite(group).all() or (np.diff(group) <= 0).any():
            raise _damaged(f"the groups of {name}")
    return PredictorCodes(names, kinds, n_levels, native, edges)


def _model(
    arrays: Mapping[str, NDArray[Any]], coding: PredictorCodes, position: int
) -> LevelModel | NumberModel:
    trees = BoostedTrees(**{name: arrays[f"{position}.{name}"] for name in _TREE_FIELDS})
    trees.check(len(coding.names))
    n_outputs = trees.start.size
    if coding.kinds[position] is ColumnKind.CONTINUOUS:
        span = arrays[f"{position}.span"]
        if n_outputs != 1 or not _is_float(span, (2,)) or not span[0] <= span[1]:
            raise _damaged(f"the trees of {coding.names[position]}")
        return NumberModel(trees, span)
    spread, fixed = arrays[f"{position}.spread"], arrays[f"{position}.fixed"]
    n_levels = int(coding.n_levels[position])
    whole = (
        _is_float(fixed, (n_levels,))
        # Two classes share one output.
        and (_is_float(spread, (n_outputs, n_levels)) or _is_float(spread, (2, n_levels)))
        and (n_outputs == 1 or len(spread) == n_outputs)
        and bool((spread >= 0).all() and (fixed >= 0).all())
        and bool(np.allclose(spread.sum(axis=1) + fixed.sum(), 1.0))
    )
    if not whole:
        raise _damaged(f"the trees of {coding.names[position]}")
    return LevelModel(trees, spread, fixed)


def _is_float(array: NDArray[Any], shape: tuple[int, ...]) -> bool:
    return array.dtype == np.float64 and array.shape == shape


def _damaged(what: str) -> InputError:
    return InputError("The saved trees are damaged", found=what, next_step="Fit the model again")
