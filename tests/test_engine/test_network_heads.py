"""Heads give probabilities, and their loss is what the textbooks say."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.metrics import log_loss

from tabsoda.engine.network.heads import AnswerHeads, level_scores
from tabsoda.engine.network.loss import MAX_DEVIATION, AnswerTargets, answer_loss
from tabsoda.engine.number_bins import MAX_BINS

N_LEVELS = np.array([2, 5, 3, 4])
ORDERED = np.array([True, True, False, True])
COUNTS = np.array([[30, 10, 0, 0, 0], [5, 5, 9, 1, 0], [7, 7, 7, 0, 0], [1, 2, 3, 4, 0]])


def heads(bin_counts=(3, MAX_BINS)):
    return AnswerHeads(COUNTS, N_LEVELS, ORDERED, np.array(bin_counts))


def outputs_of(made, n_rows=6, spread=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(n_rows, made.n_outputs, generator=generator)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 30.0, 1e4]))
def test_probabilities_sum_to_one_and_padding_has_none(seed, spread):
    made = heads()
    answers = made(outputs_of(made, spread=spread, seed=seed))
    for log_probabilities, n_options in (
        (answers.log_probabilities, N_LEVELS),
        (answers.bin_log_probabilities, np.array([3, MAX_BINS])),
    ):
        probabilities = log_probabilities.double().exp()
        total = probabilities.sum(dim=2)
        torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-5)
        for place, count in enumerate(n_options):
            assert (probabilities[:, place, count:] == 0).all()


def test_without_outputs_the_heads_say_what_is_common():
    made = heads()
    answers = made(torch.zeros(2, made.n_outputs))
    for place, count in enumerate(N_LEVELS):
        shares = (COUNTS[place, :count] + 0.5) / (COUNTS[place, :count] + 0.5).sum()
        found = answers.log_probabilities[0, place, :count].exp().numpy()
        np.testing.assert_allclose(found, shares, rtol=1e-5)
    np.testing.assert_allclose(answers.bin_log_probabilities[0, 0, :3].exp(), 1 / 3, rtol=1e-5)


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_the_ordered_part_is_a_discretised_normal(location, spread):
    made = heads()
    outputs = torch.zeros(1, made.n_outputs)
    outputs[0, made.n_logits] = location
    outputs[0, made.n_logits + made.n_ordered] = spread
    answers = made(outputs)
    # The first column with an ordered part has five levels: two levels need none.
    assert made.ordered_places.tolist() == [1, 3]
    share = COUNTS[1] + 0.5
    scores = level_scores(COUNTS[1])
    logits = np.log(share / share.sum()) + location * scores + spread * (scores**2 - 1) / 2
    np.testing.assert_allclose(
        answers.log_probabilities[0, 1].exp().numpy(), softmax(logits), rtol=1e-4, atol=1e-6
    )
    # The other columns do not hear of it.
    plain = made(torch.zeros(1, made.n_outputs))
    for place in (0, 2, 3):
        assert torch.equal(answers.log_probabilities[0, place], plain.log_probabilities[0, place])


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=12))
def test_scores_rise_with_the_level_at_mean_zero_and_unit_variance(counts):
    counts = np.array(counts)
    scores = level_scores(counts)
    share = (counts + 0.5) / (counts + 0.5).sum()
    assert (np.diff(scores) > 0).all()
    assert (share * scores).sum() == pytest.approx(0, abs=1e-9)
    assert (share * scores**2).sum() == pytest.approx(1, abs=1e-9)


def test_the_owner_of_an_output_is_the_column_that_it_moves():
    made = heads()
    kind, place = made.owners()
    assert kind.size == place.size == made.n_outputs
    usual = made(outputs_of(made, 1))
    for output in range(made.n_outputs):
        changed = outputs_of(made, 1)
        changed[0, output] += 1.5
        answers = made(changed)
        levels = (answers.log_probabilities != usual.log_probabilities).any(dim=2)[0]
        numbers = (answers.numbers != usual.numbers)[0]
        bins = (answers.bin_log_probabilities != usual.bin_log_probabilities).any(dim=2)[0]
        moved = [levels, numbers | bins][kind[output]]
        other = [numbers | bins, levels][kind[output]]
        assert not other.any()
        # Bins beyond a number's own move nothing; everything else moves its owner alone.
        assert moved.nonzero().ravel().tolist() in ([place[output]], [])
        if not moved.any():
            assert kind[output] == 1
            assert place[output] == 0


@pytest.mark.parametrize(
    ("levels", "numbers"), [(True, False), (False, True)], ids=["no numbers", "numbers only"]
)
def test_a_kind_may_be_absent(levels, numbers):
    made = AnswerHeads(
        COUNTS if levels else COUNTS[:0],
        N_LEVELS if levels else N_LEVELS[:0],
        ORDERED if levels else ORDERED[:0],
        np.array([4]) if numbers else np.array([], dtype=np.int64),
    )
    answers = made(outputs_of(made))
    assert answers.log_probabilities.shape[:2] == (6, 4 if levels else 0)
    assert answers.numbers.shape == (6, 1 if numbers else 0)
    assert answers.bin_log_probabilities.shape[:2] == (6, 1 if numbers else 0)


def targets_of(n_rows, seed=1):
    rng = np.random.default_rng(seed)
    levels = np.column_stack([rng.integers(0, k, n_rows) for k in N_LEVELS])
    numbers = rng.normal(size=(n_rows, 2)) * np.array([1.0, 9.0])
    bins = np.column_stack([rng.integers(0, 3, n_rows), rng.integers(0, MAX_BINS, n_rows)])
    weights = rng.uniform(0, 2, (n_rows, 6)) * (rng.random((n_rows, 6)) < 0.6)
    return AnswerTargets(
        torch.as_tensor(levels),
        torch.as_tensor(numbers, dtype=torch.float32),
        torch.as_tensor(bins),
        torch.as_tensor(weights[:, :4], dtype=torch.float32),
        torch.as_tensor(weights[:, 4:], dtype=torch.float32),
    )


def ranked_probability_score(probabilities, level):
    reached = np.arange(probabilities.size) >= level
    return np.square(np.cumsum(probabilities) - reached).sum()


def huber(error):
    size = abs(error)
    if size <= MAX_DEVIATION:
        return size**2
    return 2 * MAX_DEVIATION * size - MAX_DEVIATION**2


@pytest.mark.parametrize(("ranked", "bins"), [(0.0, 0.0), (0.5, 0.3), (2.0, 1.0)])
def test_the_loss_is_log_score_ranked_score_and_bounded_squares(ranked, bins):
    made = heads()
    outputs, targets = outputs_of(made, 40), targets_of(40)
    answers, loss = made(outputs), answer_loss(made, outputs, targets, ranked, bins)
    total_weight = float(targets.level_weight.sum() + targets.number_weight.sum())
    levels = numbers = 0.0
    for place, count in enumerate(N_LEVELS):
        weight = targets.level_weight[:, place].numpy()
        given = answers.log_probabilities[:, place, :count].double().exp().numpy()
        given /= given.sum(axis=1, keepdims=True)
        truth = targets.levels[:, place].numpy()
        levels += weight.sum() * log_loss(truth, given, sample_weight=weight, labels=range(count))
        if place in made.ordered_places:
            scores = [ranked_probability_score(p, k) for p, k in zip(given, truth, strict=True)]
            levels += ranked * (weight * scores).sum()
    for place, count in enumerate((3, MAX_BINS)):
        weight = targets.number_weight[:, place].numpy()
        errors = (answers.numbers - targets.numbers)[:, place].tolist()
        numbers += sum(w * huber(e) for w, e in zip(weight, errors, strict=True))
        given = answers.bin_log_probabilities[:, place, :count].double().exp().numpy()
        given /= given.sum(axis=1, keepdims=True)
        truth = targets.bins[:, place].numpy()
        numbers += (
            bins * weight.sum() * log_loss(truth, given, sample_weight=weight, labels=range(count))
        )
    assert float(loss.levels) == pytest.approx(levels / total_weight, rel=1e-4)
    assert float(loss.numbers) == pytest.approx(numbers / total_weight, rel=1e-4)
    assert float(loss.total) == pytest.approx((levels + numbers) / total_weight, rel=1e-4)


def test_answers_that_do_not_count_change_neither_loss_nor_gradient():
    made = heads()
    targets = targets_of(40)
    spoilt = targets._replace(
        levels=torch.where(targets.level_weight > 0, targets.levels, 1),
        numbers=torch.where(targets.number_weight > 0, targets.numbers, 1e6),
        bins=torch.where(targets.number_weight > 0, targets.bins, 2),
    )
    found = []
    for truth in (targets, spoilt):
        outputs = outputs_of(made, 40).requires_grad_()
        loss = answer_loss(made, outputs, truth, 0.5, 0.3).total
        loss.backward()
        found.append((loss.detach(), outputs.grad))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_a_batch_without_answers_has_no_loss():
    made = heads()
    targets = targets_of(5)
    nothing = targets._replace(level_weight=torch.zeros(5, 4), number_weight=torch.zeros(5, 2))
    loss = answer_loss(made, outputs_of(made, 5), nothing, 0.5, 0.3)
    assert [float(part) for part in loss] == [0.0, 0.0, 0.0]


def test_one_absurd_number_pulls_no_harder_than_a_bounded_one():
    made = AnswerHeads(COUNTS[:0], N_LEVELS[:0], ORDERED[:0], np.array([1]))
    outputs = torch.zeros(2, made.n_outputs, requires_grad=True)
    truth = AnswerTargets(
        torch.zeros(2, 0, dtype=torch.int64),
        torch.tensor([[MAX_DEVIATION], [1e6]]),
        torch.zeros(2, 1, dtype=torch.int64),
        torch.zeros(2, 0),
        torch.ones(2, 1),
    )
    answer_loss(made, outputs, truth, 0.0, 0.0).total.backward()
    # The expectation is the first output, the bins come after it.
    assert outputs.grad[:, 0].tolist() == [-MAX_DEVIATION, -MAX_DEVIATION]


def test_columns_of_many_levels_stand_apart_and_are_read_in_their_order():
    n_levels = np.array([3, 40, 2, 9, 4])
    counts = np.arange(40)[None] < n_levels[:, None]
    made = AnswerHeads(
        counts.astype(np.int64), n_levels, np.array([1, 1, 0, 1, 0], dtype=bool), np.array([3])
    )
    assert [group.width for group in made.groups] == [4, 9, 40]
    outputs = outputs_of(made, 7)
    answers = made(outputs)
    first = np.cumsum(n_levels) - n_levels
    for place, count in enumerate(n_levels):
        logits = outputs[:, first[place] : first[place] + count].double().numpy()
        if place in made.ordered_places:
            which = made.ordered_places.tolist().index(place)
            location = outputs[:, made.n_logits + which, None].numpy()
            spread = outputs[:, made.n_logits + made.n_ordered + which, None].numpy()
            scores = level_scores(counts[place, :count].astype(np.int64))
            logits = logits + location * scores + spread * (scores**2 - 1) / 2
        found = answers.log_probabilities[:, place].exp().numpy()
        np.testing.assert_allclose(found[:, :count], softmax(logits, axis=1), rtol=1e-4, atol=1e-7)
        assert (found[:, count:] == 0).all()
