"""What tests of the default engine share: comparisons bit by bit."""

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

from tabsoda.engine.files import engine_from_state, engine_state


@pytest.fixture(scope="session")
def reloaded():
    """Return a function that saves an engine to bytes and JSON, and rebuilds it from them."""

    def rebuild(engine):
        arrays, content = engine_state(engine)
        return engine_from_state(
            load(save(arrays)),
            json.loads(json.dumps(content)),
            engine.columns,
            engine.settings,
            engine.seed,
            torch.device("cpu"),
            engine.history,
            engine.events,
        )

    return rebuild


@pytest.fixture(scope="session")
def differing():
    """Return the names of the fitted arrays in which two engines differ."""

    def compare(one, other):
        left, right = engine_state(one)[0], engine_state(other)[0]
        both = left.keys() & right.keys()
        different = {k for k in both if not np.array_equal(left[k], right[k], equal_nan=True)}
        # Products of predictors are saved where a regression has some.
        return different | (left.keys() ^ right.keys())

    return compare


@pytest.fixture(scope="session")
def same_cells():
    """Return whether two results agree in every cell and every draw."""

    def compare(one, other):
        names = ("rows", "positions", "draws", "mode", "median")
        return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)

    return compare
