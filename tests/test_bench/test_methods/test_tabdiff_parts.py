"""TabDiff's schedules, losses and sampler against closed forms."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.bench.methods import tabdiff
from tabsoda.bench.methods.noise_schedules import MaskSchedule, NumberSchedule, power_mean
from tabsoda.bench.methods.tabdiff import (
    Cells,
    MixedSampler,
    diffusion_losses,
    moments_of,
    more_masked,
    relaxed_mask,
)

LOW, HIGH = 0.002, 80.0
TIMES = torch.linspace(0, 1, 101)[:, None]


class ExactNetwork:
    """The best denoiser of Gaussian numbers with a covariance, and of categories with shares."""

    def __init__(self, covariance, shares=((0.2, 0.3, 0.5),)) -> None:
        self.covariance = torch.tensor(covariance)
        self.logits = torch.tensor(shares).log()
        self.mask_level = self.logits.shape[1]
        self.number_schedule = NumberSchedule(len(self.covariance), LOW, HIGH)
        self.mask_schedule = MaskSchedule(len(self.logits))

    def __call__(self, noisy, time, level, mask=None):
        noise = level[0].detach().diag() ** 2
        weights = torch.linalg.solve(self.covariance + noise, self.covariance)
        rows = noisy.numbers.shape[0]
        return noisy.numbers @ weights, self.logits.expand(rows, -1, -1)


def sampler(network, n_times=30, cycles=1, seed=1):
    return MixedSampler(network, n_times, cycles, torch.Generator().manual_seed(seed))


def nothing_known(n_rows, network):
    shape = (n_rows, len(network.logits))
    clean = Cells(torch.zeros(n_rows, len(network.covariance)), torch.zeros(shape).long())
    return clean, Cells(torch.zeros_like(clean.numbers).bool(), torch.zeros(shape).bool())


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=4))
def test_learned_schedules_rise_from_end_to_end_whatever_their_parameters(raw):
    numbers, masks = NumberSchedule(len(raw), LOW, HIGH), MaskSchedule(len(raw))
    for schedule, first, last in ((numbers, LOW, HIGH), (masks, 1e-5, 1 - 1e-3)):
        schedule.raw.data = torch.tensor(raw)
        values = schedule(TIMES).detach()
        assert torch.allclose(values[0], torch.tensor(first), rtol=1e-3)
        assert torch.allclose(values[-1], torch.tensor(last), rtol=1e-3)
        assert (values.diff(dim=0) >= 0).all()
    assert (numbers.exponent() >= 5).all()
    assert (masks.exponent() >= 1).all()


def test_schedules_start_as_released():
    assert NumberSchedule(1, LOW, HIGH).exponent().item() == pytest.approx(12.0009, abs=1e-3)
    assert MaskSchedule(1).exponent().item() == pytest.approx(1.00248, abs=1e-4)


def test_the_time_of_a_level_inverts_the_schedule():
    schedule = NumberSchedule(2, LOW, HIGH)
    schedule.raw.data = torch.tensor([-3.0, 6.0])
    assert torch.allclose(schedule.time_of(schedule(TIMES)), TIMES.expand(-1, 2), atol=1e-4)


def test_the_weight_of_a_masked_cell_is_the_slope_of_the_log_share():
    schedule = MaskSchedule(2)
    schedule.raw.data = torch.tensor([0.5, 2.0])
    time = torch.tensor([[0.3], [0.8]], dtype=torch.float64, requires_grad=True)
    for column in range(2):
        share = schedule(time)[:, column].log().sum()
        (slope,) = torch.autograd.grad(share, time)
        assert torch.allclose(slope[:, 0], schedule.weight(time)[:, column], rtol=1e-6)


def test_relaxed_masks_have_the_share_asked_for_and_pass_a_gradient():
    raw = torch.tensor([-1.0, 0.5], requires_grad=True)
    share = raw.sigmoid().expand(20_000, 2)
    mask = relaxed_mask(share, torch.Generator().manual_seed(1))
    assert set(mask.detach().unique().tolist()) == {0.0, 1.0}
    assert torch.allclose(mask.mean(dim=0), raw.sigmoid(), atol=0.01)
    (gradient,) = torch.autograd.grad(mask.mean(dim=0).sum(), raw)
    # The relaxed mask's mean is nearly the share, whose slope in raw is s (1 - s).
    expected = raw.sigmoid() * (1 - raw.sigmoid())
    assert torch.allclose(gradient, expected, rtol=0.25)


def test_losses_reach_both_schedules_and_leave_out_missing_cells():
    class Linear(ExactNetwork):
        def __call__(self, noisy, time, level, mask=None):
            predicted = noisy.numbers / (1 + level**2)
            # Worse predictions the more is masked, so that the masks matter.
            return predicted, self.logits - mask[:, :, None] * torch.tensor([0.0, 0.1, 0.3])

    network = Linear([[1.0]])
    clean = Cells(torch.tensor([[0.4], [1e6]]), torch.tensor([[1], [2]]))
    known = Cells(torch.tensor([[True], [False]]), torch.tensor([[True], [False]]))

    def losses(cells):
        return diffusion_losses(network, cells, known, torch.Generator().manual_seed(4))

    number_loss, level_loss = losses(clean)
    other = Cells(torch.tensor([[0.4], [7.0]]), torch.tensor([[1], [0]]))
    assert [loss.item() for loss in losses(other)] == [number_loss.item(), level_loss.item()]
    number_loss.backward(retain_graph=True)
    assert network.number_schedule.raw.grad.abs().sum() > 0
    total = sum(
        diffusion_losses(network, clean, known, torch.Generator().manual_seed(s))[1]
        for s in range(20)
    )
    total.backward()
    assert network.mask_schedule.raw.grad.abs().sum() > 0


def test_a_step_is_heuns_on_the_linear_equation_of_gaussian_numbers(monkeypatch):
    monkeypatch.setattr(tabdiff, "_CHURN", 0.0)
    network = ExactNetwork([[0.25]])
    steps = sampler(network, 12)
    now, later = steps.moments[4:6]
    start = torch.tensor([[3.0], [-1.0]])
    levels = torch.full((2, 1), network.mask_level)
    moved, _, _ = steps._step(Cells(start, levels), now, later)
    high, low = now.level.item(), later.level.item()

    def rate(level):
        return level / (0.25 + level**2)

    # dx / ds = rate(s) x: Euler's guess with the slope here, then the mean of both slopes.
    guess = 1 + (low - high) * rate(high)
    factor = 1 + (low - high) * (rate(high) + rate(low) * guess) / 2
    assert torch.allclose(moved.numbers, start * factor, rtol=1e-5)


def test_the_sampler_is_of_second_order(monkeypatch):
    monkeypatch.setattr(tabdiff, "_CHURN", 0.0)
    network = ExactNetwork([[1.0]])
    clean, known = nothing_known(1, network)
    errors = []
    for n_times in (20, 40, 80):
        start = torch.randn(1, 1, generator=torch.Generator().manual_seed(1))
        drawn, _ = sampler(network, n_times).draw(clean, known)
        exact = HIGH * start / (1 + HIGH**2) ** 0.5
        errors.append(abs((drawn.numbers / exact).item() - 1))
    # Halving the steps divides the error by four; Euler's would be halved.
    assert errors[0] / errors[1] > 3
    assert errors[1] / errors[2] > 3


def test_draws_have_the_distribution_of_the_data():
    network = ExactNetwork([[1.0, 0.8], [0.8, 1.0]])
    drawn, drawn_from = sampler(network, 160).draw(*nothing_known(4000, network))
    assert torch.allclose(torch.cov(drawn.numbers.T), network.covariance, atol=0.07)
    shares = torch.bincount(drawn.levels[:, 0], minlength=3) / 4000
    assert torch.allclose(shares, torch.tensor([0.2, 0.3, 0.5]), atol=0.03)
    assert torch.allclose(drawn_from, network.logits.exp().expand(4000, -1, -1))


def test_known_cells_stay_and_condition_the_others():
    network = ExactNetwork([[1.0, 0.8], [0.8, 1.0]])
    n_rows = 3000
    clean, known = nothing_known(n_rows, network)
    seen = torch.randn(n_rows, generator=torch.Generator().manual_seed(3))
    clean.numbers[:, 0] = seen
    known.numbers[:, 0] = True
    clean.levels[:1500] = 2
    known.levels[:1500] = True
    slopes = []
    for cycles in (1, 4, 30):
        drawn, _ = sampler(network, 20, cycles=cycles).draw(clean, known)
        assert torch.equal(drawn.numbers[:, 0], seen)
        assert (drawn.levels[:1500] == 2).all()
        slopes.append((drawn.numbers[:, 1] @ seen / (seen @ seen)).item())
    # Mixing alone conditions too weakly: cycles lead to the regression.
    assert slopes[0] < slopes[1] < slopes[2]
    assert slopes[2] == pytest.approx(0.8, abs=0.06)
    spread = (drawn.numbers[:, 1] - slopes[2] * seen).std().item()
    assert spread == pytest.approx(0.6, abs=0.06)


def test_going_back_up_restores_noise_and_masks():
    network = ExactNetwork([[1.0]])
    steps = sampler(network, 12)
    now, later = steps.moments[3:5]
    clean = Cells(torch.zeros(8000, 1), torch.zeros(8000, 1).long())
    again = steps._back_up(steps._noised(clean, later), later, now)
    assert again.numbers.std().item() == pytest.approx(now.level.item(), rel=0.04)
    masked = (again.levels == network.mask_level).float().mean().item()
    assert masked == pytest.approx(now.share.item(), abs=0.02)
    share = torch.tensor([[0.2]])
    assert more_masked(share, torch.tensor([[0.6]])).item() == pytest.approx(0.5)


def test_times_are_churned_equally_and_never_beyond_the_last_time():
    network = ExactNetwork([[1.0, 0.0], [0.0, 1.0]])
    network.number_schedule.raw.data = torch.tensor([1.0, 9.0])
    first, *others = moments_of(network, 10, torch.device("cpu"))
    assert first.churned_time.item() == 1.0
    assert torch.equal(first.churned_level, first.level)
    for moment in others:
        assert torch.allclose(moment.churned_level, 1.1 * moment.level)
        times = network.number_schedule.time_of(moment.churned_level)
        assert moment.churned_time.item() == pytest.approx(times.min().item())
        assert moment.time < moment.churned_time
    assert others[-1].level.tolist() == [[pytest.approx(LOW), pytest.approx(LOW)]]


def test_the_power_mean_is_linear_for_exponent_one():
    assert power_mean(torch.tensor(0.25), 1.0, 2.0, 6.0).item() == pytest.approx(3.0)
