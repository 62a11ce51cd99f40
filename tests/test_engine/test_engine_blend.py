"""The blend finds what it should: shares of a mixture, temperatures of a distortion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.engine.blend import (
    Blend,
    HeldOutCells,
    Prediction,
    fit_blend,
    mix,
    without_abstentions,
)
from tabsoda.engine.calibrate import tempered
from tabsoda.engine.predictor import CellAnswers, UsualShares
from tabsoda.engine.regressions.regressions import Regressions
from tabsoda.engine.trees.trees import Trees
from tabsoda.events import EventLog

N_ROWS, N_COLUMNS, N_LEVELS = 4000, 4, 3
ORDERED = np.array([False, False, True, True])
NETWORK = UsualShares(1.0, 1.0, 1.0)
USUAL = {
    "network": NETWORK,
    "trees": UsualShares(nominals=0.5, ordinals=0.5, numbers=0.5),
    "regressions": UsualShares(nominals=0.3, ordinals=0.5, numbers=0.3),
}


def probabilities(seed, spread=1.5, n_rows=N_ROWS):
    logits = spread * np.random.default_rng(seed).normal(size=(n_rows, N_COLUMNS, N_LEVELS))
    raised = np.exp(logits)
    # The last column has two levels, the third is padding.
    raised[:, -1, 2] = 0.0
    return raised / raised.sum(axis=2, keepdims=True)


def sampled(given, seed):
    uniforms = np.random.default_rng(seed).random((*given.shape[:2], 1))
    return (given.cumsum(axis=2)[..., :-1] < uniforms).sum(axis=2)


def answers(given, numbers=None):
    return CellAnswers(given, np.zeros((given.shape[0], 0)) if numbers is None else numbers)


def fitted(
    said,
    levels,
    numbers=None,
    held_out=None,
    number_held_out=None,
    log=None,
    weights=None,
    names=("network", "trees", "regressions"),
):
    """Blend what predictors say of whole columns; by default every cell is held out."""
    numbers = np.zeros((levels.shape[0], 0)) if numbers is None else numbers
    held_out = np.ones(levels.shape, dtype=bool) if held_out is None else held_out
    if number_held_out is None:
        number_held_out = np.ones(numbers.shape, dtype=bool)
    weights = np.ones(levels.shape[0]) if weights is None else weights
    of_levels, of_numbers = np.nonzero(held_out), np.nonzero(number_held_out)
    truth = HeldOutCells(
        of_levels[1],
        levels[of_levels],
        weights[of_levels[0]],
        of_numbers[1],
        numbers[of_numbers],
        weights[of_numbers[0]],
    )
    cells = [Prediction(one.probabilities[of_levels], one.numbers[of_numbers]) for one in said]
    names = names[: len(said)]
    usual = [USUAL[name] for name in names]
    log = EventLog() if log is None else log
    return fit_blend(cells, names, usual, truth, ORDERED, numbers.shape[1], log)


def test_the_usual_shares_are_those_of_the_predictors():
    assert Trees.usual == USUAL["trees"]
    assert Regressions.usual == USUAL["regressions"]


@pytest.mark.parametrize("share", [0.15, 0.5, 0.8])
def test_shares_recover_a_known_mixture(share):
    network, trees = probabilities(1), probabilities(2)
    levels = sampled((1 - share) * network + share * trees, 3)
    blend = fitted([answers(network), answers(trees)], levels)
    np.testing.assert_allclose(blend.level_shares, [[share] * N_COLUMNS], atol=0.07)
    np.testing.assert_allclose(blend.temperatures, 1.0, atol=0.1)


def three_predictors(tree_share, regression_share, seed=1):
    """Return what three predictors say, and answers that follow their mixture."""
    said = [probabilities(seed + number) for number in range(3)]
    two = (1 - tree_share) * said[0] + tree_share * said[1]
    return said, sampled((1 - regression_share) * two + regression_share * said[2], 9)


@pytest.mark.parametrize("shares", [(0.5, 0.3), (0.7, 0.1), (0.4, 0.4)])
def test_shares_of_three_recover_a_known_mixture(shares):
    said, levels = three_predictors(*shares)
    each = [answers(one) for one in said]
    blend = fitted(each, levels)
    np.testing.assert_allclose(blend.level_shares[0], shares[0], atol=0.1)
    np.testing.assert_allclose(blend.level_shares[1], shares[1], atol=0.1)
    # What is mixed in the end.
    mixed = blend.apply(each).probabilities
    two = (1 - shares[0]) * said[0] + shares[0] * said[1]
    expected = (1 - shares[1]) * two + shares[1] * said[2]
    assert np.abs(mixed - expected).mean() < 0.02


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_shares_of_numbers_from_regressions_are_those_of_least_squares(share):
    rng = np.random.default_rng(0)
    network, trees, regressions = rng.normal(size=(3, N_ROWS, 2))
    two = 0.5 * (network + trees)
    numbers = (1 - share) * two + share * regressions + 0.3 * rng.normal(size=(N_ROWS, 2))
    given = probabilities(1)
    said = [answers(given, one) for one in (network, trees, regressions)]
    blend = fitted(said, sampled(given, 3), numbers)
    np.testing.assert_allclose(blend.number_shares[0], 0.5, atol=0.05)
    np.testing.assert_allclose(blend.number_shares[1], share, atol=0.05)


def test_few_held_out_cells_leave_shares_near_the_usual_ones():
    """Ten rows in which the regressions happen to know everything."""
    said, _ = three_predictors(0.5, 0.3)
    held_out = np.zeros((N_ROWS, N_COLUMNS), dtype=bool)
    held_out[:10] = True
    levels = said[2].argmax(axis=2)
    each = [answers(one) for one in said]
    few, many = fitted(each, levels, held_out=held_out), fitted(each, levels)
    usual = [USUAL[name].of_levels(ORDERED) for name in ("trees", "regressions")]
    np.testing.assert_allclose(few.level_shares[0], usual[0], atol=0.1)
    np.testing.assert_allclose(few.level_shares[1], usual[1], atol=0.15)
    # Ordinals begin with a larger share of regressions than nominals.
    assert few.level_shares[1][ORDERED].min() > few.level_shares[1][~ORDERED].max()
    assert (many.level_shares[1] > 0.9).all()


def test_regressions_are_blended_with_the_network_where_there_are_no_trees():
    given, other = probabilities(1), probabilities(2)
    log = EventLog()
    levels = sampled(0.4 * given + 0.6 * other, 3)
    blend = fitted(
        [answers(given), answers(other)], levels, log=log, names=("network", "regressions")
    )
    np.testing.assert_allclose(blend.level_shares, [[0.6] * N_COLUMNS], atol=0.07)
    [event] = log
    assert (event.kind, event.counts["predictor"]) == ("predictor_blended_in", "regressions")


def test_nominals_and_ordinals_have_shares_of_their_own():
    network, trees = probabilities(1), probabilities(2)
    truth = np.where(ORDERED[:, None], 0.1 * network + 0.9 * trees, network)
    [shares] = fitted([answers(network), answers(trees)], sampled(truth, 3)).level_shares
    assert (shares[ORDERED] > 0.8).all()
    assert (shares[~ORDERED] < 0.1).all()


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_shares_of_numbers_are_those_of_least_squares(share):
    rng = np.random.default_rng(0)
    network, trees = rng.normal(size=(2, N_ROWS, 2))
    numbers = (1 - share) * network + share * trees + 0.3 * rng.normal(size=(N_ROWS, 2))
    given = probabilities(1)
    said = [answers(given, network), answers(given, trees)]
    [shares] = fitted(said, sampled(given, 3), numbers).number_shares
    np.testing.assert_allclose(shares, share, atol=0.03)
    assert ((shares >= 0) & (shares <= 1)).all()


def test_a_predictor_that_knows_the_answers_gets_the_whole_share():
    rng = np.random.default_rng(0)
    noise = probabilities(1)
    levels = sampled(probabilities(2), 3)
    perfect = np.full(noise.shape, 1e-3)
    np.put_along_axis(perfect, levels[..., None], 1.0, axis=2)
    perfect[:, -1, 2] = 0.0
    perfect /= perfect.sum(axis=2, keepdims=True)
    numbers = rng.normal(size=(N_ROWS, 2))
    near, guessed = numbers + 0.01 * rng.normal(size=numbers.shape), rng.normal(size=numbers.shape)
    knows, guesses = answers(perfect, near), answers(noise, guessed)
    by_trees = fitted([guesses, knows], levels, numbers)
    by_network = fitted([knows, guesses], levels, numbers)
    assert (by_trees.level_shares > 0.95).all()
    assert (by_trees.number_shares > 0.99).all()
    assert (by_network.level_shares < 0.05).all()
    assert (by_network.number_shares < 0.01).all()
    blended = by_trees.apply([guesses, knows])
    assert (blended.probabilities.argmax(axis=2) == levels).all()


@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.0])
def test_temperatures_undo_a_known_distortion(temperature):
    truth = probabilities(1, spread=1.0)
    # What was sharpened by t must be flattened by t again.
    said = tempered(truth, np.full(N_COLUMNS, 1 / temperature))
    blend = fitted([answers(said)], sampled(truth, 3))
    np.testing.assert_allclose(np.log(blend.temperatures), np.log(temperature), atol=0.12)
    calibrated = blend.apply([answers(said)]).probabilities
    assert np.abs(calibrated - truth).mean() < 0.02


def test_a_network_alone_is_not_blended():
    given = probabilities(1)
    numbers = np.random.default_rng(0).normal(size=(N_ROWS, 1))
    log = EventLog()
    blend = fitted([answers(given, numbers)], sampled(given, 3), numbers, log=log)
    assert blend.level_shares.shape == (0, N_COLUMNS)
    assert blend.number_shares.shape == (0, 1)
    assert len(log) == 0
    plain = Blend.usual([], ORDERED, 1).apply([answers(given, numbers)])
    np.testing.assert_allclose(plain.probabilities, given, rtol=1e-12)
    assert np.array_equal(plain.numbers, numbers)


def test_the_shares_are_logged():
    log = EventLog()
    network, trees = probabilities(1), probabilities(2)
    blend = fitted([answers(network), answers(trees)], sampled(trees, 3), log=log)
    [event] = log
    assert event.kind == "predictor_blended_in"
    assert dict(event.counts) == {
        "predictor": "trees",
        "nominals": blend.level_shares[0][~ORDERED].mean(),
        "ordinals": blend.level_shares[0][ORDERED].mean(),
    }


def test_without_held_out_cells_shares_are_the_usual_ones():
    said = [answers(probabilities(seed), np.full((N_ROWS, 2), seed)) for seed in (1, 2, 3)]
    blend = fitted(
        said,
        sampled(said[0].probabilities, 3),
        np.zeros((N_ROWS, 2)),
        held_out=np.zeros((N_ROWS, N_COLUMNS), dtype=bool),
        number_held_out=np.zeros((N_ROWS, 2), dtype=bool),
    )
    assert (blend.level_shares[0] == 0.5).all()
    assert (blend.number_shares[0] == 0.5).all()
    assert np.array_equal(blend.level_shares[1], np.where(ORDERED, 0.5, 0.3))
    assert (blend.number_shares[1] == 0.3).all()
    assert (blend.temperatures == 1).all()


def test_a_column_without_held_out_cells_follows_its_kind():
    network, trees = probabilities(1), probabilities(2)
    held_out = np.ones((N_ROWS, N_COLUMNS), dtype=bool)
    held_out[:, 1] = False
    levels = sampled(0.3 * network + 0.7 * trees, 3)
    [shares] = fitted([answers(network), answers(trees)], levels, held_out=held_out).level_shares
    assert shares[1] == pytest.approx(shares[0], abs=0.03)
    assert shares[1] == pytest.approx(0.7, abs=0.1)


def test_a_number_without_held_out_cells_follows_the_other_numbers():
    rng = np.random.default_rng(0)
    network, trees = rng.normal(size=(2, N_ROWS, 2))
    numbers = 0.2 * network + 0.8 * trees
    given, held_out = probabilities(1), np.ones((N_ROWS, 2), dtype=bool)
    held_out[:, 1] = False
    said = [answers(given, network), answers(given, trees)]
    blend = fitted(said, sampled(given, 3), numbers, number_held_out=held_out)
    assert blend.number_shares[0, 0] == pytest.approx(0.8, abs=0.02)
    assert blend.number_shares[0, 1] == pytest.approx(0.8, abs=0.02)


def test_rows_count_by_their_weight():
    network, trees = probabilities(1), probabilities(2)
    half = np.arange(N_ROWS) < N_ROWS // 2
    numbers = np.random.default_rng(0).normal(size=(2, N_ROWS, 1))
    truth = np.where(half[:, None, None], network, trees)

    def fit_weighted(weights):
        return fitted(
            [answers(network, numbers[0]), answers(trees, numbers[1])],
            sampled(truth, 3),
            np.where(half[:, None], *numbers),
            weights=weights,
        )

    first, second = fit_weighted(2.0 * half), fit_weighted(2.0 * ~half)
    assert max(first.level_shares.max(), first.number_shares.max()) < 0.1
    assert min(second.level_shares.min(), second.number_shares.min()) > 0.9
    assert fit_weighted(None).number_shares[0, 0] == pytest.approx(0.5, abs=0.05)


def test_the_temperature_of_few_cells_is_near_that_of_all_columns():
    truth = probabilities(1, spread=1.0)
    said = tempered(truth, np.full(N_COLUMNS, 0.5))
    held_out = np.ones((N_ROWS, N_COLUMNS), dtype=bool)
    held_out[5:, 0] = False
    levels = sampled(truth, 3)
    # Five answers that all contradict what was said would ask for the highest temperature.
    levels[:5, 0] = said[:5, 0].argmin(axis=1)
    blend = fitted([answers(said)], levels, held_out=held_out)
    assert np.log(blend.temperatures[0]) == pytest.approx(np.log(2.0), abs=0.15)


@given(st.integers(0, 1000), st.floats(0.25, 4.0), st.floats(0.0, 1.0))
def test_a_blend_gives_probabilities_and_none_in_the_padding(seed, temperature, share):
    blend = Blend(np.full((1, N_COLUMNS), share), np.zeros((1, 0)), np.full(N_COLUMNS, temperature))
    network, trees = probabilities(seed, n_rows=20), probabilities(seed + 1, n_rows=20)
    found = blend.apply([answers(network), answers(trees)]).probabilities
    np.testing.assert_allclose(found.sum(axis=2), 1.0, rtol=1e-9)
    assert (found[:, -1, 2] == 0).all()
    mixed = (1 - share) * network + share * trees
    assert (found.argmax(axis=2) == mixed.argmax(axis=2)).all()


def test_a_chain_of_mixes_is_what_is_applied():
    said = [
        answers(probabilities(seed, n_rows=9), np.full((9, 2), float(seed))) for seed in (1, 2, 3)
    ]
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]])
    number_shares = np.array([[0.25, 0.5], [0.75, 1.0]])
    blend = Blend(shares, number_shares, np.ones(N_COLUMNS))
    two = mix(said[0], said[1], shares[0], number_shares[0])
    three = mix(two, said[2], shares[1], number_shares[1])
    found = blend.apply(said)
    np.testing.assert_allclose(found.probabilities, three.probabilities, rtol=1e-12)
    np.testing.assert_allclose(found.numbers, three.numbers)
    np.testing.assert_allclose(found.numbers[0], [2.5625, 3.0])


def test_the_next_predictor_answers_where_the_first_abstains():
    one, other = (answers(probabilities(seed, n_rows=5), np.full((5, 1), seed)) for seed in (1, 2))
    abstains = np.zeros((5, N_COLUMNS + 1), dtype=bool)
    abstains[1, 2] = abstains[3, 4] = True
    bins = np.zeros((5, 1, 20))
    first = one._replace(abstains=abstains, bins=bins)
    spoken_for, second = without_abstentions([first, other])
    assert second is other
    for row in range(5):
        for column in range(N_COLUMNS):
            expected = other if (row, column) == (1, 2) else one
            assert np.array_equal(
                spoken_for.probabilities[row, column], expected.probabilities[row, column]
            )
    assert spoken_for.numbers[:, 0].tolist() == [1, 1, 1, 2, 1]
    assert spoken_for.bins is bins
    assert without_abstentions([first])[0] is first
