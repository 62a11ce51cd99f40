"""Every loss term against a plain loop over cells."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from tabsoda.paper.bits import prototype_log_probabilities
from tabsoda.paper.latents import level_probabilities
from tabsoda.paper.losses import (
    column_mean,
    continuous_loss,
    entry_weights,
    inverse_frequency_weights,
    negative_log_likelihood,
    nominal_loss,
    ordinal_loss,
    ranked_probability_score,
    reconstruction_loss,
)

REDUCTIONS = pytest.mark.parametrize("reduction", ["mean", "sum"])


def reconstruction_batch(generator, n=9, p=5):
    kind = torch.randint(3, (n, p), generator=generator)
    kind[0] = 2  # a row that was skipped through
    prediction, target = torch.randn(2, n, p, generator=generator)
    noise = torch.rand(n, generator=generator) + 0.1
    return prediction, target, noise, kind == 0, kind == 1, kind != 2


@pytest.mark.parametrize("weighted", [False, True])
def test_reconstruction_equals_a_loop(weighted, generator):
    prediction, target, noise, visible, to_impute, applicable = reconstruction_batch(generator)
    parity = torch.tensor([1.0, 1.0, 3.0, 1.0, 2.0])
    row_weight = torch.rand(9, generator=generator) if weighted else None
    loss = reconstruction_loss(
        prediction,
        target,
        noise,
        applicable,
        entry_weights(visible, to_impute, 0.25, parity),
        0.5,
        row_weight,
    )
    rows = []
    for i in range(9):
        s = noise[i].item()
        omega = (s**2 + 0.25) / (s * 0.5) ** 2
        total = 0.0
        for m in range(5):
            weight = 1.0 if visible[i, m] else 0.25 if to_impute[i, m] else 0.0
            total += weight * parity[m] * omega * (prediction[i, m] - target[i, m]).item() ** 2
        rows.append(total / max(int(applicable[i].sum()), 1))
    expected = np.average(rows, weights=row_weight)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_reconstruction_at_ramp_zero_ignores_imputed_and_skipped_entries(generator):
    prediction, target, noise, visible, to_impute, applicable = reconstruction_batch(generator)

    def loss_and_gradient(target, ramp):
        leaf = prediction.clone().requires_grad_()
        weights = entry_weights(visible, to_impute, ramp)
        loss = reconstruction_loss(leaf, target, noise, applicable, weights, 0.5)
        loss.backward()
        return loss.detach(), leaf.grad

    loss, gradient = loss_and_gradient(target, 0.0)
    assert (gradient[~visible] == 0).all()
    assert (gradient[visible] != 0).all()
    spoilt = torch.where(visible, target, torch.nan)
    spoilt_loss, spoilt_gradient = loss_and_gradient(spoilt, 0.0)
    assert torch.equal(loss, spoilt_loss)
    assert torch.equal(gradient, spoilt_gradient)
    _, ramped = loss_and_gradient(target, 0.5)
    assert (ramped[to_impute] != 0).all()
    assert (ramped[~applicable] == 0).all()


def test_skipped_entries_do_not_count_whatever_their_weight(generator):
    prediction, target, noise, _, _, applicable = reconstruction_batch(generator)
    everywhere = torch.ones_like(target)
    spoilt = torch.where(applicable, target, torch.nan)
    loss = reconstruction_loss(prediction, spoilt, noise, applicable, everywhere, 0.5)
    within = applicable.float()
    assert loss == reconstruction_loss(prediction, target, noise, applicable, within, 0.5)


def test_rows_of_weight_zero_do_not_count(generator):
    prediction, target, noise, visible, to_impute, applicable = reconstruction_batch(generator)
    weights = entry_weights(visible, to_impute, 1.0)
    kept = torch.arange(9) < 6
    padded = reconstruction_loss(prediction, target, noise, applicable, weights, 0.5, kept.float())
    alone = reconstruction_loss(
        *(part[:6] for part in (prediction, target, noise, applicable, weights)), 0.5
    )
    torch.testing.assert_close(padded, alone)


@REDUCTIONS
@pytest.mark.parametrize("weighted", [False, True])
def test_column_mean_equals_a_loop(reduction, weighted, generator):
    cell_loss = torch.rand(7, 4, generator=generator)
    supervised = torch.rand(7, 4, generator=generator) < 0.6
    supervised[:, 2] = False
    row_weight = torch.rand(7, generator=generator) if weighted else None
    expected = 0.0
    for j in range(4):
        rows = supervised[:, j].nonzero()[:, 0]
        if len(rows):
            weights = None if row_weight is None else row_weight[rows]
            expected += np.average(cell_loss[rows, j], weights=weights)
    expected /= 4 if reduction == "mean" else 1
    actual = column_mean(cell_loss, supervised, row_weight, reduction)
    assert actual.item() == pytest.approx(expected, rel=1e-5)


@REDUCTIONS
def test_terms_without_columns_or_cells_are_zero(reduction):
    assert column_mean(torch.zeros(3, 0), torch.zeros(3, 0).bool(), None, reduction) == 0
    leaf = torch.ones(3, 2, requires_grad=True)
    nothing = torch.full((3, 2), torch.nan)
    loss = continuous_loss(leaf, nothing, torch.zeros(3, 2).bool(), None, reduction)
    loss.backward()
    assert loss == 0
    assert (leaf.grad == 0).all()


@REDUCTIONS
def test_continuous_loss_is_the_squared_error(reduction):
    prediction = torch.tensor([[1.0, 0.0], [3.0, 0.0]])
    target = torch.tensor([[0.0, torch.nan], [1.0, 2.0]])
    supervised = torch.tensor([[True, False], [True, True]])
    loss = continuous_loss(prediction, target, supervised, None, reduction)
    columns = [(1.0 + 4.0) / 2, 4.0]
    assert loss.item() == pytest.approx(sum(columns) / (2 if reduction == "mean" else 1))


def test_nominal_loss_equals_a_loop(layout, generator):
    bits = torch.randn(6, 3, layout.codewords.shape[2], generator=generator)
    n_levels = layout.n_levels[layout.bit_columns]
    levels = torch.stack([torch.randint(k, (6,), generator=generator) for k in n_levels], dim=1)
    supervised = torch.rand(6, 3, generator=generator) < 0.7
    words, bit_valid, level_valid = map(
        torch.tensor, (layout.codewords, layout.bit_valid, layout.level_valid)
    )
    log_probabilities = prototype_log_probabilities(bits, words, bit_valid, level_valid)
    # Whatever stands in cells without an answer must not even be looked up.
    loss = nominal_loss(
        log_probabilities, torch.where(supervised, levels, -99), supervised, None, "sum"
    )
    expected = 0.0
    for j, k in enumerate(n_levels):
        used = layout.bit_valid[j]
        cells = []
        for i in range(6):
            if supervised[i, j]:
                point = bits[i, j].double().numpy()[used]
                words_j = layout.codewords[j, :k][:, used]
                near = np.exp(-((point - words_j) ** 2).sum(1))
                cells.append(-math.log(near[levels[i, j]] / near.sum()))
        expected += np.mean(cells)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def ordinal_loop(latent, levels, cutpoints, weight):
    """Negative log likelihood plus weighted ranked probability score of every cell."""
    n, d = latent.shape
    out = np.zeros((n, d))
    for i in range(n):
        for j in range(d):
            cuts = cutpoints[j][np.isfinite(cutpoints[j])]
            cumulative = norm.cdf(np.concatenate([[-np.inf], cuts, [np.inf]]) - latent[i, j])
            p = np.diff(cumulative)[levels[i, j]]
            rps = sum(
                (cumulative[k] - (levels[i, j] < k)) ** 2 for k in range(1, len(cuts) + 1)
            ) / len(cuts)
            out[i, j] = -math.log(max(p, 1e-8)) + weight * rps
    return out


def ordinal_batch(cutpoints, generator, n=8):
    latent = 2 * torch.randn(n, 3, generator=generator)
    levels = torch.stack([torch.randint(k, (n,), generator=generator) for k in (3, 5, 2)], dim=1)
    latent[0, 1], levels[0, 1] = 9.0, 0  # far beyond the floor of the probability
    supervised = torch.rand(n, 3, generator=generator) < 0.7
    supervised[0, 1] = True
    return latent, levels, supervised, torch.tensor([3, 5, 2])


@REDUCTIONS
@pytest.mark.parametrize("ranked_probability", [0.0, 0.1, 2.0])
def test_ordinal_loss_equals_a_loop(ranked_probability, reduction, cutpoints, generator):
    latent, levels, supervised, n_levels = ordinal_batch(cutpoints, generator)
    loss = ordinal_loss(
        level_probabilities(latent, cutpoints),
        torch.where(supervised, levels, 77),
        supervised,
        n_levels,
        ranked_probability,
        reduction=reduction,
    )
    cells = ordinal_loop(latent.numpy(), levels.numpy(), cutpoints.numpy(), ranked_probability)
    columns = [cells[supervised[:, j], j].mean() for j in range(3)]
    expected = np.mean(columns) if reduction == "mean" else np.sum(columns)
    assert loss.item() == pytest.approx(expected, rel=1e-4)


def test_class_balanced_loss_weighs_levels_by_inverse_frequency(cutpoints, generator):
    latent, levels, supervised, n_levels = ordinal_batch(cutpoints, generator)
    counts = torch.tensor([[10.0, 30, 60, 0, 0], [1, 2, 3, 4, 10], [50, 50, 0, 0, 0]])
    loss = ordinal_loss(
        level_probabilities(latent, cutpoints),
        levels,
        supervised,
        n_levels,
        0.1,
        inverse_frequency_weights(counts),
        reduction="sum",
    )
    cells = ordinal_loop(latent.numpy(), levels.numpy(), cutpoints.numpy(), 0.1)
    expected = 0.0
    for j, k in enumerate((3, 5, 2)):
        weight = (counts[j].sum() / k / counts[j]).numpy()[levels[:, j]]
        expected += (weight * cells[:, j])[supervised[:, j]].mean()
    assert loss.item() == pytest.approx(expected, rel=1e-4)


def test_inverse_frequency_weights_average_to_one_over_answers():
    counts = torch.tensor([[7.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    weights = inverse_frequency_weights(counts)
    assert (counts * weights).sum(1)[0].item() == pytest.approx(10.0)
    assert (weights[0, 0] * 7).item() == pytest.approx((weights[0, 2] * 3).item())
    assert (weights[1] == 0).all()


def test_likelihood_has_a_floor_and_scores_their_bounds():
    certain = torch.tensor([[[1.0, 0.0, 0.0]]])
    right, wrong = torch.tensor([[0]]), torch.tensor([[2]])
    assert negative_log_likelihood(certain, right).item() == 0
    assert negative_log_likelihood(certain, wrong).item() == pytest.approx(-math.log(1e-8))
    n_levels = torch.tensor([3])
    assert ranked_probability_score(certain, right, n_levels).item() == 0
    assert ranked_probability_score(certain, wrong, n_levels).item() == 1
