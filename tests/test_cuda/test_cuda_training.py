"""A captured training step equals the eager one, at every rate, and redraws dropout masks."""

import torch
from cuda_parts import (
    CapturedFloat32Steps,
    CompiledFloat32Steps,
    EagerFloat32Steps,
    EagerSteps,
    Training,
    settings_of,
)
from marks import cases, cuda

from tabsoda.torch_runtime.optimizer_steps import OptimizerSteps
from tabsoda.torch_runtime.training import cosine_rate

NETWORKS = cases("network", ["mlp", "noisy mlp", "embedding", "tokens"])
WAYS = {"captured": CapturedFloat32Steps, "compiled": CompiledFloat32Steps}
# Only the paper's trainings are long enough to compile a step.
WAY_OF_NETWORK = [
    *((way, network) for way in WAYS for network in ("mlp", "noisy mlp")),
    *(("captured", network) for network in ("embedding", "tokens")),
]


def apart(one: torch.Tensor, other: torch.Tensor, start: torch.Tensor) -> float:
    """Return how far two trainings are apart, as a share of how far they went."""
    return float((one - other).norm() / (other - start).norm())


@cuda
@cases("way_of_network", WAY_OF_NETWORK)
def test_a_captured_step_equals_the_eager_one(way_of_network):
    way, network = way_of_network
    settings = settings_of(network)
    eager, captured = (Training(k, settings) for k in (EagerFloat32Steps, WAYS[way]))
    assert captured.is_captured, captured.events.to_dicts()
    assert not eager.is_captured
    # The warm-up before a capture leaves no trace.
    assert torch.equal(captured.start, eager.start)
    assert torch.equal(captured.averaged(), eager.start)
    for number in (1, 2, 3):
        one, other = captured.epoch(number), eager.epoch(number)
        assert abs(one - other) < 1e-3 * abs(other), (number, one, other)
    # Adam turns the rounding of tiny gradients into whole steps, so a few weights wander.
    assert apart(captured.weights(), eager.weights(), eager.start) < 0.03
    assert apart(captured.averaged(), eager.averaged(), eager.start) < 0.03
    assert not [e for e in captured.events if e.kind == "training_step_not_captured"]


@cuda
@NETWORKS
def test_bfloat16_stays_near_float32(network):
    settings = settings_of(network)
    exact, usual = Training(EagerFloat32Steps, settings), Training(OptimizerSteps, settings)
    assert usual.is_captured
    for number in (1, 2, 3):
        one, other = usual.epoch(number), exact.epoch(number)
        # bfloat16 keeps 8 bits: products are right to 0.4 %, and errors average out.
        assert abs(one - other) < 0.01 * abs(other), (number, one, other)
    assert apart(usual.weights(), exact.weights(), exact.start) < 0.2


@cuda
@NETWORKS
def test_a_captured_step_sees_the_cosine_rate(network):
    training = Training(OptimizerSteps, settings_of(network))
    assert training.is_captured
    training.epoch(1)
    moved = []
    for rate in (1e-3, 1e-5, 0.0):
        before = training.weights()
        training.steps.adam.learning_rate = rate
        training.epoch(2)
        moved.append(float((training.weights() - before).norm()))
    # Adam's steps are as long as the rate says.
    assert 30 < moved[0] / moved[1] < 300, moved
    assert moved[2] == 0.0
    last = cosine_rate(1e-3, 20, 20)
    training.steps.adam.learning_rate = last
    before = training.weights()
    training.epoch(3)
    assert 0 < float((training.weights() - before).abs().max()) < 20 * last


@cuda
@NETWORKS
def test_a_captured_step_sees_the_rate_of_a_plateau(network):
    training = Training(OptimizerSteps, settings_of(network))
    assert training.is_captured
    training.epoch(1)
    assert not torch.equal(training.weights(), training.start)
    training.steps.adam.lower_rate(0.0)
    before = training.weights()
    training.epoch(2)
    assert torch.equal(training.weights(), before)


@cuda
@cases("network", ["mlp", "embedding", "tokens"])
def test_captured_dropout_draws_from_its_own_generator(network):
    settings = settings_of(network, dropout=0.5)
    before = torch.cuda.get_rng_state()

    def losses() -> list[float]:
        training = Training(OptimizerSteps, settings)
        assert training.is_captured, training.events.to_dicts()
        training.steps.adam.learning_rate = 0.0
        return [training.epoch(1) for _ in range(3)]

    first, again = losses(), losses()
    # The same batches and weights: only dropout can make a difference between replays.
    assert len(set(first)) == 3, first
    for one, other in zip(first, again, strict=True):
        assert abs(one - other) < 1e-3 * abs(other), (first, again)
    assert torch.equal(before, torch.cuda.get_rng_state())


@cuda
@cases("network", ["embedding", "tokens"])
def test_dropout_drops_the_same_share_captured_and_eager(network):
    settings = settings_of(network, dropout=0.5)
    means = []
    for kind in (OptimizerSteps, EagerSteps):
        training = Training(kind, settings)
        training.steps.adam.learning_rate = 0.0
        means.append(sum(training.epoch(1) for _ in range(60)) / 60)
    assert abs(means[0] - means[1]) < 0.02 * abs(means[1]), means
