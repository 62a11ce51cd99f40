"""What tests of the default engine share: comparisons bit by bit."""

import json

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
