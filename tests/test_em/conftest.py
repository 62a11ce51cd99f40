"""What a fitted engine consists of, so that two can be compared bit by bit."""

import numpy as np
import pytest


@pytest.fixture
def parts():
    """Return everything fitted, by name."""

    def collect(engine):
        model = engine.model
        arrays, _ = model.codec.to_state()
        found = {f"codec.{name}": array for name, array in arrays.items()}
        for name, module in (("denoiser", model.denoiser), ("cutpoints", model.cutpoints)):
            found |= {f"{name}.{k}": v.numpy() for k, v in module.state_dict().items()}
        found["mean"], found["scale"] = model.standardizer.mean, model.standardizer.scale
        found["temperatures"] = model.temperatures
        for number, member in enumerate(model.members):
            found |= {f"member{number}.{k}": v.numpy() for k, v in member.state_dict().items()}
        if engine.estimator is not None:
            arrays, _ = engine.estimator.to_state()
            found |= {f"estimator.{name}": array for name, array in arrays.items()}
        return {name: np.asarray(value) for name, value in found.items()}

    return collect


@pytest.fixture
def differing(parts):
    """Return the names of what differs between two fitted engines."""

    def compare(one, other):
        left, right = parts(one), parts(other)
        assert left.keys() == right.keys()
        return {k for k in left if not np.array_equal(left[k], right[k], equal_nan=True)}

    return compare


@pytest.fixture
def same_cells():
    """Return whether two results agree in every cell and every draw."""

    def compare(one, other):
        names = ("rows", "positions", "draws", "mode", "median")
        return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)

    return compare
