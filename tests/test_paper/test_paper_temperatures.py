"""The temperature search against a straightforward loop."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from tabsoda.events import EventLog
from tabsoda.paper.temperatures import choose_temperatures, score_temperature

GRID = (0.0, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0)


def example(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    cutpoints = np.array(
        [[-1.0, -0.2, 0.4, 1.3], [-0.5, 0.9, np.inf, np.inf], [0.1] + [np.inf] * 3]
    )
    latent = rng.normal(size=(150, 3))
    truth = ((latent + rng.normal(0, [0.3, 1.0, 0.6], latent.shape))[..., None] > cutpoints).sum(-1)
    held_out = rng.random(latent.shape) < 0.4
    return (
        torch.tensor(latent),
        torch.tensor(truth),
        torch.tensor(held_out),
        torch.tensor(cutpoints),
    )


def brute_force(
    latent: np.ndarray, truth: np.ndarray, cutpoints: np.ndarray, grid: tuple[float, ...]
) -> float:
    ends = np.r_[-np.inf, cutpoints[np.isfinite(cutpoints)], np.inf]
    keys = []
    for temperature in grid:
        right = distance = loss = 0.0
        for u, x in zip(latent, truth, strict=True):
            if temperature == 0:
                p = ((ends[:-1] < u) & (u <= ends[1:])).astype(float)
            else:
                p = np.diff(norm.cdf((ends - u) / temperature))
            mode = int(np.argmax(p))
            right += mode == x
            distance += abs(mode - x)
            loss -= np.log(max(p[x], 1e-8))
        keys.append((-right, distance, round(loss, 9), abs(temperature - 1), temperature))
    return min(keys)[-1]


@pytest.mark.parametrize("seed", range(6))
def test_choice_equals_brute_force(seed: int) -> None:
    latent, truth, held_out, cutpoints = example(seed)
    found = choose_temperatures(latent, truth, held_out, cutpoints, GRID)
    for j in range(3):
        cells = held_out[:, j]
        expected = brute_force(
            latent[cells, j].numpy(), truth[cells, j].numpy(), cutpoints[j].numpy(), GRID
        )
        assert found[j] == expected


def test_cells_outside_the_held_out_ones_do_not_count() -> None:
    latent, truth, held_out, cutpoints = example(0)
    expected = choose_temperatures(latent, truth, held_out, cutpoints, GRID)
    spoiled = torch.where(held_out, latent, torch.nan)
    wrong = torch.where(held_out, truth, 4000)
    assert (choose_temperatures(spoiled, wrong, held_out, cutpoints, GRID) == expected).all()


def test_perfect_latents_ask_for_the_interval() -> None:
    cutpoints = torch.tensor(norm.ppf(np.arange(1, 9) / 9))[None]
    latent = torch.tensor(norm.ppf((np.arange(900) + 0.5) / 900))[:, None]
    truth = (latent[..., None] > cutpoints).sum(-1)
    assert choose_temperatures(latent, truth, truth >= 0, cutpoints, GRID).tolist() == [0.0]


def test_likelihood_breaks_ties_of_accuracy_and_distance() -> None:
    cutpoints = torch.tensor([[0.0]])
    latent = torch.tensor([[0.5], [-0.5], [0.4], [0.3]])
    truth = torch.tensor([[1], [0], [1], [0]])
    # Two levels: the mode is the interval at every temperature, so the likelihood decides.
    chosen = choose_temperatures(latent, truth, truth >= 0, cutpoints, GRID)
    losses = {
        t: score_temperature(latent, truth, truth >= 0, cutpoints, t).negative_log_likelihood[0]
        for t in GRID
    }
    assert chosen[0] == min(losses, key=losses.__getitem__)


def test_the_last_key_is_the_distance_from_one() -> None:
    # A latent on its only cutpoint is one half likely at every positive temperature.
    latent, cutpoints = torch.zeros(3, 1), torch.zeros(1, 1)
    truth = torch.zeros(3, 1, dtype=torch.int64)
    grid = (2.0, 1.4, 0.7, 0.5)
    assert choose_temperatures(latent, truth, truth == 0, cutpoints, grid).tolist() == [0.7]


@pytest.mark.parametrize(("grid", "expected"), [(GRID, 0.0), ((0.5, 1.0, 2.0), 1.0)])
def test_a_column_without_held_out_cells_falls_back_and_this_is_logged(
    grid: tuple[float, ...], expected: float
) -> None:
    latent, truth, held_out, cutpoints = example(1)
    held_out[:, 1] = False
    events = EventLog()
    found = choose_temperatures(
        latent, truth, held_out, cutpoints, grid, names=("a", "b", "c"), events=events
    )
    assert found[1] == expected
    assert {event.column: event.kind for event in events} == {
        "a": "temperature_chosen",
        "b": "temperature_not_tuned",
        "c": "temperature_chosen",
    }
    assert events.events[1].counts["temperature"] == expected
    counts = events.events[0].counts
    assert (counts["temperature"], counts["cells"]) == (found[0], int(held_out[:, 0].sum()))
    assert 0 <= counts["right"] <= counts["cells"]


def test_blocks_of_rows_change_nothing() -> None:
    latent, truth, held_out, cutpoints = example(2)
    many = [t.repeat(60, 1) for t in (latent, truth, held_out)]
    once = score_temperature(latent, truth, held_out, cutpoints, 0.7)
    often = score_temperature(*many, cutpoints, 0.7)
    assert (often.correct == 60 * once.correct).all()
    assert (often.distance == 60 * once.distance).all()
    np.testing.assert_allclose(
        often.negative_log_likelihood, 60 * once.negative_log_likelihood, rtol=1e-9
    )
