"""The objective as a whole: its sum, its masks, its gradients."""

import pytest
import torch

from tabsoda.paper.denoiser import build_denoiser
from tabsoda.paper.losses import (
    continuous_loss,
    entry_weights,
    nominal_loss,
    ordinal_loss,
    reconstruction_loss,
)
from tabsoda.paper.noise import noisy_state
from tabsoda.paper.objective import Objective, Targets, width_parity
from tabsoda.paper.settings import BackboneSettings, LossSettings
from tabsoda.torch_runtime.keyed_noise import torch_generator


def a_batch(layout, generator, n=20):
    """Targets of random answers; the encoded scale is the standardised one times 2, plus 0.1."""
    d, p = len(layout.n_levels), layout.n_coordinates
    states = torch.randint(3, (n, d), generator=generator)
    bounds = [max(int(k), 1) for k in layout.n_levels]
    levels = torch.stack([torch.randint(k, (n,), generator=generator) for k in bounds], dim=1)
    standardized = 0.5 * torch.randn(n, p, generator=generator)
    column_of = torch.tensor(layout.column_of)
    return Targets(
        standardized=standardized,
        encoded=encode(standardized),
        levels=levels,
        supervised=states == 0,
        to_impute=(states == 1)[:, column_of],
        applicable=(states != 2)[:, column_of],
    )


def encode(standardized):
    return 2 * standardized + 0.1


def a_step(layout, cutpoints, targets, objective, generator, ramp=0.25, conditioning="noisy"):
    """Predict with a fresh network from given noise; return the terms and all gradients."""
    denoiser = build_denoiser(
        layout.n_coordinates,
        BackboneSettings(width=16),
        0.5,
        conditioning,
        torch_generator(1, "weights"),
    )
    n, p = targets.standardized.shape
    noise = torch.rand(n, generator=generator) + 0.1
    normals = torch.randn(n, p, generator=generator)
    visible = targets.supervised[:, torch.tensor(layout.column_of)]
    state = noisy_state(targets.standardized, noise, normals, targets.applicable)
    prediction = denoiser(state, noise, visible, ~targets.applicable)
    decoded = objective.decode(encode(prediction), cutpoints)
    terms = objective(prediction, noise, decoded, targets, ramp)
    terms.total.backward()
    return terms, [weight.grad for weight in denoiser.parameters()], (prediction, noise)


def test_total_is_the_weighted_sum_of_its_parts(layout, cutpoints, generator):
    settings = LossSettings(continuous=0.3, nominal=0.7, ordinal=2.0, reduction="sum")
    objective = Objective(layout, settings, 0.5)
    targets = a_batch(layout, generator)
    terms, _, (prediction, noise) = a_step(layout, cutpoints, targets, objective, generator)
    decoded = objective.decode(encode(prediction), cutpoints)
    on = targets.supervised
    visible = on[:, torch.tensor(layout.column_of)]
    weights = entry_weights(visible, targets.to_impute, 0.25, width_parity(layout))
    parts = (
        reconstruction_loss(
            prediction, targets.standardized, noise, targets.applicable, weights, 0.5
        ),
        continuous_loss(
            encode(prediction)[:, :2], targets.encoded[:, :2], on[:, :2], reduction="sum"
        ),
        nominal_loss(decoded.nominal, targets.levels[:, 2:5], on[:, 2:5], reduction="sum"),
        ordinal_loss(
            decoded.ordinal,
            targets.levels[:, 5:],
            on[:, 5:],
            torch.tensor([3, 5, 2]),
            0.1,
            reduction="sum",
        ),
    )
    for actual, expected in zip(terms[1:], parts, strict=True):
        torch.testing.assert_close(actual, expected)
    total = parts[0] + 0.3 * parts[1] + 0.7 * parts[2] + 2.0 * parts[3]
    torch.testing.assert_close(terms.total, total)


def test_decoding_reads_each_column_where_it_lies(layout, cutpoints):
    objective = Objective(layout, LossSettings(), 0.5)
    encoded = torch.zeros(1, layout.n_coordinates)
    encoded[0, :2] = torch.tensor([3.0, 4.0])
    # Codewords of level 1 of 2, level 2 of 3 and level 4 of 5, lowest bit first.
    encoded[0, 2:8] = 30 * torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    encoded[0, 8:] = torch.tensor([9.0, 0.0, -9.0])
    decoded = objective.decode(encoded, cutpoints)
    assert decoded.continuous.tolist() == [[3.0, 4.0]]
    assert decoded.nominal.argmax(-1).tolist() == [[1, 2, 4]]
    assert decoded.ordinal.argmax(-1)[0, 0] == 2
    assert decoded.ordinal.argmax(-1)[0, 2] == 0
    torch.testing.assert_close(decoded.ordinal.sum(-1), torch.ones(1, 3))


def test_width_parity_is_the_number_of_bits(layout, layout_maker):
    assert width_parity(layout).tolist() == [1.0] * 8 + [2.0, 3.0, 1.0]
    assert width_parity(layout_maker(1, (), ())).tolist() == [1.0]
    off = Objective(layout, LossSettings(width_parity=False), 0.5)
    assert off.width_parity is None


@pytest.mark.parametrize("garbage", [torch.nan, 1e30])
def test_garbage_in_skipped_cells_changes_no_loss_and_no_gradient(
    layout, cutpoints, garbage, generator
):
    objective = Objective(layout, LossSettings(), 0.5)
    targets = a_batch(layout, generator)
    answered = targets.applicable[:, targets_first_coordinate(layout)]
    spoilt = targets._replace(
        standardized=torch.where(targets.applicable, targets.standardized, garbage),
        encoded=torch.where(targets.applicable, targets.encoded, garbage),
        levels=torch.where(answered, targets.levels, 10**6),
    )
    state = generator.get_state()
    terms, gradients, _ = a_step(layout, cutpoints, targets, objective, generator)
    generator.set_state(state)
    other_terms, other_gradients, _ = a_step(layout, cutpoints, spoilt, objective, generator)
    assert all(torch.equal(a, b) for a, b in zip(terms, other_terms, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(gradients, other_gradients, strict=True))
    assert all(gradient.isfinite().all() for gradient in gradients)


def targets_first_coordinate(layout):
    """The first coordinate of every column."""
    column_of = torch.tensor(layout.column_of)
    return torch.tensor([int((column_of == j).nonzero()[0]) for j in range(len(layout.n_levels))])


def test_garbage_in_hidden_answers_changes_no_term_at_ramp_zero(layout, cutpoints, generator):
    objective = Objective(layout, LossSettings(), 0.5)
    targets = a_batch(layout, generator)
    prediction = 0.5 * torch.randn(20, layout.n_coordinates, generator=generator)
    visible = targets.supervised[:, torch.tensor(layout.column_of)]
    spoilt = targets._replace(
        standardized=torch.where(visible, targets.standardized, torch.nan),
        encoded=torch.where(visible, targets.encoded, torch.nan),
        levels=torch.where(targets.supervised, targets.levels, -5),
    )
    decoded = objective.decode(encode(prediction), cutpoints)
    noise = torch.ones(20)
    for a, b in zip(
        objective(prediction, noise, decoded, targets),
        objective(prediction, noise, decoded, spoilt),
        strict=True,
    ):
        assert torch.equal(a, b)


def test_cutpoints_get_a_gradient_and_padding_none(layout, cutpoints, generator):
    objective = Objective(layout, LossSettings(), 0.5)
    targets = a_batch(layout, generator)
    leaf = cutpoints.clone().requires_grad_()
    objective.ordinal(objective.decode(targets.encoded, leaf), targets).backward()
    finite = cutpoints.isfinite()
    assert (leaf.grad[finite] != 0).all()
    assert (leaf.grad[~finite] == 0).all()


@pytest.mark.parametrize(
    "kinds", [(2, (), ()), (0, (3,), ()), (0, (), (4,))], ids=["continuous", "bits", "latents"]
)
def test_a_table_of_one_kind_has_the_other_terms_at_zero(kinds, layout_maker, generator):
    layout = layout_maker(*kinds)
    objective = Objective(layout, LossSettings(), 0.5)
    targets = a_batch(layout, generator)
    cutpoints = torch.tensor([[-1.0, 0.0, 1.0]])[: len(kinds[2])]
    terms, gradients, _ = a_step(layout, cutpoints, targets, objective, generator)
    present = [terms.continuous > 0, terms.nominal > 0, terms.ordinal > 0]
    assert [bool(flag) for flag in present] == [bool(kind) for kind in kinds]
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_the_objective_is_traced_as_a_whole(layout, cutpoints, generator):
    # A read back to the host or a shape that depends on data would break the trace.
    objective = Objective(layout, LossSettings(), 0.5)
    targets = a_batch(layout, generator)
    prediction = 0.5 * torch.randn(20, layout.n_coordinates, generator=generator)

    def total(prediction, targets):
        decoded = objective.decode(encode(prediction), cutpoints)
        return objective(prediction, torch.ones(20), decoded, targets, 0.5).total

    traced = torch.compile(total, fullgraph=True, dynamic=False, backend="eager")
    torch.testing.assert_close(traced(prediction, targets), total(prediction, targets))


def test_class_balance_needs_counts(layout):
    with pytest.raises(ValueError, match="level_counts"):
        Objective(layout, LossSettings(class_balanced=True), 0.5)
