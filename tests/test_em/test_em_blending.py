"""The blend finds what it should: shares of a mixture, temperatures of a distortion."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.em.blending import USUAL_SHARES, Blend, CellAnswers, fit_blend
from tabsoda.em.temperatures import tempered
from tabsoda.events import EventLog

N_ROWS, N_COLUMNS, N_LEVELS = 4000, 4, 3
ORDERED = np.array([False, False, True, True])


def probabilities(seed, spread=1.5, n_rows=N_ROWS):
    logits = spread * np.random.default_rng(seed).normal(size=(n_rows, N_COLUMNS, N_LEVELS))
    raised = np.exp(logits)
    # The last column has two levels, the third is padding.
    raised[:, -1, 2] = 0.0
    return raised / raised.sum(axis=2, keepdims=True)


def sampled(given, seed):
    uniforms = np.random.default_rng(seed).random((*given.shape[:2], 1))
    return (given.cumsum(axis=2)[..., :-1] < uniforms).sum(axis=2)


def fitted(
    network,
    experts,
    levels,
    numbers=None,
    held_out=None,
    number_held_out=None,
    log=None,
    regressions=None,
):
    numbers = np.zeros((levels.shape[0], 0)) if numbers is None else numbers
    held_out = np.ones(levels.shape, dtype=bool) if held_out is None else held_out
    if number_held_out is None:
        number_held_out = np.ones(numbers.shape, dtype=bool)
    log = EventLog() if log is None else log
    said = (network, experts, regressions)
    return fit_blend(*said, levels, held_out, numbers, number_held_out, ORDERED, log)


def answers(given, numbers=None):
    return CellAnswers(given, np.zeros((given.shape[0], 0)) if numbers is None else numbers)


@pytest.mark.parametrize("share", [0.15, 0.5, 0.8])
def test_shares_recover_a_known_mixture(share):
    network, experts = probabilities(1), probabilities(2)
    levels = sampled((1 - share) * network + share * experts, 3)
    blend = fitted(answers(network), answers(experts), levels)
    np.testing.assert_allclose(blend.level_share, share, atol=0.07)
    np.testing.assert_allclose(blend.temperatures, 1.0, atol=0.1)


def three_voices(expert_share, regression_share, seed=1):
    """Return what three say, and answers that follow their mixture."""
    said = [probabilities(seed + number) for number in range(3)]
    two = (1 - expert_share) * said[0] + expert_share * said[1]
    return said, sampled((1 - regression_share) * two + regression_share * said[2], 9)


@pytest.mark.parametrize("shares", [(0.5, 0.3), (0.7, 0.1), (0.4, 0.4)])
def test_shares_of_three_recover_a_known_mixture(shares):
    said, levels = three_voices(*shares)
    network, experts, regressions = map(answers, said)
    blend = fitted(network, experts, levels, regressions=regressions)
    np.testing.assert_allclose(blend.level_share, shares[0], atol=0.1)
    np.testing.assert_allclose(blend.regression_level_share, shares[1], atol=0.1)
    # What goes in of each in the end.
    mixed = blend.apply(network, experts, regressions).probabilities
    two = (1 - shares[0]) * said[0] + shares[0] * said[1]
    expected = (1 - shares[1]) * two + shares[1] * said[2]
    assert np.abs(mixed - expected).mean() < 0.02


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_shares_of_numbers_from_regressions_are_those_of_least_squares(share):
    rng = np.random.default_rng(0)
    network, experts, regressions = rng.normal(size=(3, N_ROWS, 2))
    two = 0.5 * (network + experts)
    numbers = (1 - share) * two + share * regressions + 0.3 * rng.normal(size=(N_ROWS, 2))
    given = probabilities(1)
    blend = fitted(
        answers(given, network),
        answers(given, experts),
        sampled(given, 3),
        numbers,
        regressions=answers(given, regressions),
    )
    np.testing.assert_allclose(blend.number_share, 0.5, atol=0.05)
    np.testing.assert_allclose(blend.regression_number_share, share, atol=0.05)


def test_few_held_out_cells_leave_shares_near_the_usual_ones():
    """Ten rows in which the regressions happen to know everything."""
    said, _ = three_voices(0.5, 0.3)
    held_out = np.zeros((N_ROWS, N_COLUMNS), dtype=bool)
    held_out[:10] = True
    levels = said[2].argmax(axis=2)
    few = fitted(*map(answers, said[:2]), levels, held_out=held_out, regressions=answers(said[2]))
    many = fitted(*map(answers, said[:2]), levels, regressions=answers(said[2]))
    usual = [USUAL_SHARES[name].of_levels(ORDERED) for name in ("tree experts", "regressions")]
    np.testing.assert_allclose(few.level_share, usual[0], atol=0.1)
    np.testing.assert_allclose(few.regression_level_share, usual[1], atol=0.15)
    # Ordinals begin with a larger share of regressions than nominals.
    assert few.regression_level_share[ORDERED].min() > few.regression_level_share[~ORDERED].max()
    assert (many.regression_level_share > 0.9).all()


def test_regressions_alone_are_blended_without_experts():
    given, other = probabilities(1), probabilities(2)
    log = EventLog()
    levels = sampled(0.4 * given + 0.6 * other, 3)
    blend = fitted(answers(given), None, levels, log=log, regressions=answers(other))
    assert not blend.level_share.any()
    np.testing.assert_allclose(blend.regression_level_share, 0.6, atol=0.07)
    [event] = log
    assert event.decision == "regressions blended in"


def test_nominals_and_ordinals_have_shares_of_their_own():
    network, experts = probabilities(1), probabilities(2)
    truth = np.where(ORDERED[:, None], 0.1 * network + 0.9 * experts, network)
    blend = fitted(answers(network), answers(experts), sampled(truth, 3))
    assert (blend.level_share[ORDERED] > 0.8).all()
    assert (blend.level_share[~ORDERED] < 0.1).all()


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_shares_of_numbers_are_those_of_least_squares(share):
    rng = np.random.default_rng(0)
    network, experts = rng.normal(size=(2, N_ROWS, 2))
    numbers = (1 - share) * network + share * experts + 0.3 * rng.normal(size=(N_ROWS, 2))
    given = probabilities(1)
    blend = fitted(answers(given, network), answers(given, experts), sampled(given, 3), numbers)
    np.testing.assert_allclose(blend.number_share, share, atol=0.03)
    assert ((blend.number_share >= 0) & (blend.number_share <= 1)).all()


def test_the_blend_takes_the_one_who_knows():
    rng = np.random.default_rng(0)
    noise = probabilities(1)
    levels = sampled(probabilities(2), 3)
    perfect = np.full(noise.shape, 1e-3)
    np.put_along_axis(perfect, levels[..., None], 1.0, axis=2)
    perfect[:, -1, 2] = 0.0
    perfect /= perfect.sum(axis=2, keepdims=True)
    numbers = rng.normal(size=(N_ROWS, 2))
    told, guessed = numbers + 0.01 * rng.normal(size=numbers.shape), rng.normal(size=numbers.shape)
    knows, guesses = answers(perfect, told), answers(noise, guessed)
    by_experts = fitted(guesses, knows, levels, numbers)
    by_network = fitted(knows, guesses, levels, numbers)
    assert (by_experts.level_share > 0.95).all()
    assert (by_experts.number_share > 0.99).all()
    assert (by_network.level_share < 0.05).all()
    assert (by_network.number_share < 0.01).all()
    blended = by_experts.apply(guesses, knows)
    assert (blended.probabilities.argmax(axis=2) == levels).all()


@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.0])
def test_temperatures_undo_a_known_distortion(temperature):
    truth = probabilities(1, spread=1.0)
    # What was sharpened by t must be flattened by t again.
    said = tempered(truth, np.full(N_COLUMNS, 1 / temperature))
    blend = fitted(answers(said), None, sampled(truth, 3))
    np.testing.assert_allclose(np.log(blend.temperatures), np.log(temperature), atol=0.12)
    calibrated = blend.apply(answers(said), None).probabilities
    assert np.abs(calibrated - truth).mean() < 0.02


def test_without_experts_nothing_is_blended():
    given = probabilities(1)
    numbers = np.random.default_rng(0).normal(size=(N_ROWS, 1))
    log = EventLog()
    blend = fitted(answers(given, numbers), None, sampled(given, 3), numbers, log=log)
    assert not blend.level_share.any()
    assert not blend.number_share.any()
    assert len(log) == 0
    plain = Blend.usual(ORDERED, 1, experts=False, regressions=False)
    plain = plain.apply(answers(given, numbers), None)
    np.testing.assert_allclose(plain.probabilities, given, rtol=1e-12)
    assert np.array_equal(plain.numbers, numbers)


def test_the_shares_are_told():
    log = EventLog()
    network, experts = probabilities(1), probabilities(2)
    blend = fitted(answers(network), answers(experts), sampled(experts, 3), log=log)
    [event] = log
    assert event.decision == "tree experts blended in"
    assert f"{blend.level_share[ORDERED].mean():.2f} of ordinals" in event.detail
    assert "numbers" not in event.detail


def test_without_held_out_cells_both_count_the_same():
    network, experts = probabilities(1), probabilities(2)
    numbers = np.zeros((N_ROWS, 2))
    nothing = np.zeros((N_ROWS, N_COLUMNS), dtype=bool)
    blend = fitted(
        answers(network, numbers),
        answers(experts, numbers),
        sampled(network, 3),
        numbers,
        held_out=nothing,
        number_held_out=np.zeros(numbers.shape, dtype=bool),
    )
    assert (blend.level_share == 0.5).all()
    assert (blend.number_share == 0.5).all()
    assert (blend.temperatures == 1).all()


def test_without_held_out_cells_shares_are_the_usual_ones():
    said = [answers(probabilities(seed), np.full((N_ROWS, 2), seed)) for seed in (1, 2, 3)]
    blend = fitted(
        *said[:2],
        sampled(said[0].probabilities, 3),
        np.zeros((N_ROWS, 2)),
        held_out=np.zeros((N_ROWS, N_COLUMNS), dtype=bool),
        number_held_out=np.zeros((N_ROWS, 2), dtype=bool),
        regressions=said[2],
    )
    for found in (blend.level_share, blend.number_share):
        assert (found == 0.5).all()
    assert np.array_equal(blend.regression_level_share, np.where(ORDERED, 0.5, 0.3))
    assert (blend.regression_number_share == 0.3).all()


def test_a_column_without_held_out_cells_follows_its_kind():
    network, experts = probabilities(1), probabilities(2)
    held_out = np.ones((N_ROWS, N_COLUMNS), dtype=bool)
    held_out[:, 1] = False
    truth = 0.3 * network + 0.7 * experts
    blend = fitted(answers(network), answers(experts), sampled(truth, 3), held_out=held_out)
    assert blend.level_share[1] == pytest.approx(blend.level_share[0], abs=0.03)
    assert blend.level_share[1] == pytest.approx(0.7, abs=0.1)


def test_only_held_out_answers_are_read():
    network, experts = probabilities(1), probabilities(2)
    rng = np.random.default_rng(0)
    held_out = rng.random((N_ROWS, N_COLUMNS)) < 0.3
    numbers = rng.normal(size=(N_ROWS, 2))
    number_held_out = rng.random(numbers.shape) < 0.3
    levels = sampled(network, 3)
    said = answers(network, 0.5 * numbers), answers(experts, numbers + 1)
    third = answers(probabilities(5), numbers - 1)
    one = fitted(*said, levels, numbers, held_out, number_held_out, regressions=third)
    other = fitted(
        *said,
        np.where(held_out, levels, 0),
        np.where(number_held_out, numbers, 1e9),
        held_out,
        number_held_out,
        regressions=third,
    )
    for name in (field.name for field in fields(Blend)):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_rows_count_by_their_weight():
    network, experts = probabilities(1), probabilities(2)
    half = np.arange(N_ROWS) < N_ROWS // 2
    numbers = np.random.default_rng(0).normal(size=(2, N_ROWS, 1))
    truth = np.where(half[:, None, None], network, experts)
    held_out = np.ones((N_ROWS, N_COLUMNS), dtype=bool)

    def fit_weighted(weights):
        return fit_blend(
            answers(network, numbers[0]),
            answers(experts, numbers[1]),
            None,
            sampled(truth, 3),
            held_out,
            np.where(half[:, None], *numbers),
            np.ones((N_ROWS, 1), dtype=bool),
            ORDERED,
            EventLog(),
            weights,
        )

    first, second = fit_weighted(2.0 * half), fit_weighted(2.0 * ~half)
    assert max(first.level_share.max(), first.number_share.max()) < 0.1
    assert min(second.level_share.min(), second.number_share.min()) > 0.9
    assert fit_weighted(None).number_share[0] == pytest.approx(0.5, abs=0.05)


def test_few_cells_are_drawn_towards_what_all_columns_say():
    truth = probabilities(1, spread=1.0)
    said = tempered(truth, np.full(N_COLUMNS, 0.5))
    held_out = np.ones((N_ROWS, N_COLUMNS), dtype=bool)
    held_out[5:, 0] = False
    levels = sampled(truth, 3)
    # Five answers that all contradict what was said would ask for the flattest of all.
    levels[:5, 0] = said[:5, 0].argmin(axis=1)
    blend = fitted(answers(said), None, levels, held_out=held_out)
    assert np.log(blend.temperatures[0]) == pytest.approx(np.log(2.0), abs=0.15)


@given(st.integers(0, 1000), st.floats(0.25, 4.0), st.floats(0.0, 1.0))
def test_what_comes_out_are_probabilities_without_padding(seed, temperature, share):
    plain = Blend.usual(ORDERED, 0, experts=False, regressions=False)
    blend = replace(
        plain,
        level_share=np.full(N_COLUMNS, share),
        temperatures=np.full(N_COLUMNS, temperature),
    )
    network, experts = probabilities(seed, n_rows=20), probabilities(seed + 1, n_rows=20)
    found = blend.apply(answers(network), answers(experts)).probabilities
    np.testing.assert_allclose(found.sum(axis=2), 1.0, rtol=1e-9)
    assert (found[:, -1, 2] == 0).all()
    mixed = (1 - share) * network + share * experts
    assert (found.argmax(axis=2) == mixed.argmax(axis=2)).all()
