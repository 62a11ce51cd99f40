"""The standardiser: exact scale, exact inverse, skips at 0."""

import numpy as np
import pytest
import torch

from tabsoda.events import EventLog
from tabsoda.paper.standardizer import Standardizer, moment_entries


def example() -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(7)
    encoded = torch.tensor(rng.normal([0, 50, -3], [1, 20, 0.1], (400, 3)), dtype=torch.float32)
    return encoded, torch.tensor(rng.random((400, 3)) < 0.7)


@pytest.mark.parametrize("data_scale", [0.5, 1.0])
def test_counted_entries_get_mean_zero_and_the_data_scale(data_scale: float) -> None:
    encoded, counted = example()
    z = Standardizer.fit(encoded, counted, data_scale).apply(encoded, counted)
    for j in range(3):
        seen = z[counted[:, j], j].double()
        assert seen.mean().item() == pytest.approx(0, abs=1e-5)
        assert seen.std(unbiased=False).item() == pytest.approx(data_scale, rel=1e-5)


def test_default_is_two_standard_deviations() -> None:
    encoded, counted = example()
    seen = encoded[counted[:, 1], 1].double()
    scale = Standardizer.fit(encoded, counted).scale[1].item()
    assert scale == pytest.approx(2 * seen.std(unbiased=False).item(), rel=1e-6)


def test_inverse_is_exact_to_rounding() -> None:
    encoded, counted = example()
    standardizer = Standardizer.fit(encoded, counted)
    everywhere = torch.ones_like(counted)
    back = standardizer.invert(standardizer.apply(encoded, everywhere))
    torch.testing.assert_close(back, encoded, rtol=1e-6, atol=1e-5)


def test_garbage_in_skips_changes_nothing_and_skips_are_zero() -> None:
    encoded, applicable = example()
    standardizer = Standardizer.fit(encoded, applicable)
    for garbage in (torch.nan, torch.inf, 1e30):
        spoiled = torch.where(applicable, encoded, garbage)
        other = Standardizer.fit(spoiled, applicable)
        assert torch.equal(other.mean, standardizer.mean)
        assert torch.equal(other.scale, standardizer.scale)
        z = standardizer.apply(spoiled, applicable)
        assert (z[~applicable] == 0).all()
        assert torch.equal(z, standardizer.apply(encoded, applicable))


def test_weights_count_like_repetitions() -> None:
    encoded = torch.tensor([[0.0], [1.0], [5.0]])
    weights = torch.tensor([[2.0], [1.0], [3.0]])
    repeated = encoded.repeat_interleave(weights.ravel().long(), dim=0)
    weighted = Standardizer.fit(encoded, weights)
    plain = Standardizer.fit(repeated, torch.ones_like(repeated, dtype=torch.bool))
    torch.testing.assert_close(weighted.mean, plain.mean)
    torch.testing.assert_close(weighted.scale, plain.scale)


def test_constant_coordinates_keep_scale_one_and_are_logged() -> None:
    encoded = torch.tensor([[1.0, 0.0, 3.0], [1.0, 2.0, 4.0]])
    counted = torch.tensor([[True, True, False], [True, True, False]])
    events = EventLog()
    standardizer = Standardizer.fit(encoded, counted, names=("q1", "q2", "q3"), events=events)
    assert standardizer.scale.tolist()[0] == 1.0
    assert standardizer.scale.tolist()[2] == 1.0
    assert [event.column for event in events] == ["q1", "q3"]
    assert standardizer.apply(encoded, counted)[:, 0].tolist() == [0.0, 0.0]


def test_refresh_policies_count_other_entries() -> None:
    visible = torch.tensor([[True, False]])
    applicable = torch.tensor([[True, True]])
    assert moment_entries("once", visible, applicable) is visible
    assert moment_entries("each_round", visible, applicable) is applicable
