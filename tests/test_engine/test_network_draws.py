"""Draws from the network follow its probabilities, agree with each other, and repeat by row."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from tabsoda._internal.randomness import row_keys
from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.network.draws import draw_answers, question_groups
from tabsoda.engine.network.network import Network
from tabsoda.engine.settings import DrawSettings, EngineSettings
from tabsoda.events import EventLog
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

CPU = torch.device("cpu")
COLUMNS = (
    Column("x", ColumnKind.NOMINAL, levels=(0, 1, 2)),
    Column("number", ColumnKind.CONTINUOUS),
    Column("y", ColumnKind.NOMINAL, levels=(0, 1, 2)),
    Column("rank", ColumnKind.ORDINAL, levels=(1, 2, 3, 4)),
)
# Places of x and y among the modelled columns: levels come first, then numbers.
X, Y, NUMBER = 0, 1, 3


@pytest.fixture(scope="module")
def table():
    """Return 600 complete rows, and 5,000 of which nothing is known."""
    rng = np.random.default_rng(0)
    answered = np.column_stack(
        [
            rng.integers(0, 3, 600),
            rng.normal(size=600),
            rng.integers(0, 3, 600),
            rng.integers(0, 4, 600),
        ]
    )
    return CodedTable.from_values(COLUMNS, np.vstack([answered, np.full((5000, 4), np.nan)]))


@pytest.fixture
def network(table):
    codec = AnswerCodec.fit(table, table.states.answered, EventLog())
    return Network.untrained(codec, EngineSettings().replace(network={"width": 16}), 1, CPU)


@pytest.fixture
def empty_rows(table):
    """Return the rows of which nothing is known, and their keys."""
    keys = row_keys(table.values, table.states.states)
    return table.rows(np.arange(600, 5600)), keys[600:]


def drawn_by(network, rows, number=1, **settings):
    return draw_answers(network, *rows, number, DrawSettings(**settings), seed=1)


class Fixed(torch.nn.Module):
    """Says the same of every row."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs

    def forward(self, inputs):
        return self.outputs.expand(inputs.levels.shape[0], -1)


class Copying(torch.nn.Module):
    """Says that x and y are the same where one of them is visible; else nothing."""

    def __init__(self, heads):
        super().__init__()
        self.n_outputs = heads.n_outputs
        is_number, place = heads.owners()
        self.first = [int(np.flatnonzero((is_number == 0) & (place == c))[0]) for c in (X, Y)]

    def forward(self, inputs):
        outputs = torch.zeros(inputs.levels.shape[0], self.n_outputs)
        for known, wanted in ((X, Y), (Y, X)):
            shown = torch.nonzero(inputs.visible[:, known]).ravel()
            outputs[shown, self.first[wanted] + inputs.levels[shown, known]] = 30.0
        return outputs


def test_marginals_are_the_probabilities_of_the_heads(network, empty_rows):
    generator = torch.Generator().manual_seed(3)
    fixed = torch.randn(1, network.heads.n_outputs, generator=generator)
    network.members = [Fixed(fixed)]
    drawn = drawn_by(network, empty_rows)
    said = network.heads(fixed)
    codec = network.codec
    for place, column in enumerate(codec.categorical):
        n_levels = int(codec.n_levels[column])
        expected = said.log_probabilities[0, place, :n_levels].double().exp().numpy()
        found = np.bincount(drawn[:, column].astype(int), minlength=n_levels)
        assert chisquare(found, 5000 * expected / expected.sum()).pvalue > 1e-3, column
    expected = said.bin_log_probabilities[0, 0].double().exp().numpy()
    found = np.bincount(codec.bins.place(drawn[:, [1]])[:, 0], minlength=expected.size)
    assert chisquare(found, 5000 * expected / expected.sum()).pvalue > 1e-3
    # Columns that say nothing about each other are drawn independently.
    together = np.histogram2d(drawn[:, 0], drawn[:, 2], bins=3)[0]
    apart = np.outer(together.sum(1), together.sum(0)) / 5000
    assert ((together - apart) ** 2 / apart).sum() < 18.5


def test_what_was_drawn_is_seen_by_what_is_drawn_next(network, empty_rows):
    network.members = [Copying(network.heads)]
    for number in (1, 2, 3):
        drawn = drawn_by(network, empty_rows, number)
        assert np.array_equal(drawn[:, 0], drawn[:, 2])
        assert np.bincount(drawn[:, 0].astype(int)).min() > 1400
    # Drawn at once, neither sees the other: one in three agrees by chance.
    drawn = drawn_by(network, empty_rows, steps=1)
    assert (drawn[:, 0] == drawn[:, 2]).mean() == pytest.approx(1 / 3, abs=0.04)


class Watching(torch.nn.Module):
    """Remembers what it was shown."""

    def __init__(self, n_outputs):
        super().__init__()
        self.n_outputs, self.seen = n_outputs, []

    def forward(self, inputs):
        self.seen.append((inputs.levels.clone(), inputs.scores.clone(), inputs.visible.clone()))
        return torch.zeros(inputs.levels.shape[0], self.n_outputs)


def test_drawn_levels_and_scores_are_shown_as_answers_are(network, empty_rows):
    network.members = [watching] = [Watching(network.heads.n_outputs)]
    table, keys = empty_rows
    drawn = drawn_by(network, (table.rows(np.arange(20)), keys[:20]))
    groups = question_groups(4, 1, 64, seed=1)
    scores = network.codec.scores.encode(drawn[:, [1]])[:, 0]
    shown = np.zeros(4, dtype=bool)
    for group, (levels, numbers, visible) in zip(groups, watching.seen, strict=True):
        assert np.array_equal(visible.numpy(), np.tile(shown, (20, 1)))
        for place, column in ((X, 0), (Y, 2), (2, 3)):
            if shown[place]:
                assert np.array_equal(levels[:, place], drawn[:, column])
        if shown[NUMBER]:
            np.testing.assert_allclose(numbers[:, 0], scores, rtol=1e-6)
        shown[group] = True


def test_only_missing_cells_are_drawn(network, table):
    keys = row_keys(table.values, table.states.states)
    before = table.values.copy()
    drawn = drawn_by(network, (table.rows(np.arange(590, 610)), keys[590:610]))
    assert np.isnan(drawn[:10]).all()
    assert not np.isnan(drawn[10:]).any()
    assert np.array_equal(table.values, before, equal_nan=True)


@pytest.mark.parametrize("block_rows", [2, 4096])
def test_the_draw_of_a_row_depends_on_that_row_alone(block_rows, network, empty_rows):
    table, keys = empty_rows
    every = drawn_by(network, empty_rows)
    few = np.array([5, 3000, 17])
    part = table.rows(few), keys[few]
    alone = drawn_by(network, part, block_rows=block_rows)
    assert np.array_equal(alone, every[few])
    assert not np.array_equal(alone, drawn_by(network, part, 2))
    assert not np.array_equal(alone, drawn_by(network, (part[0], part[1] + 1)))


def test_questions_come_in_groups_in_an_order_of_each_draw():
    orders = [np.concatenate(question_groups(4, n, 64, seed=1)).tolist() for n in range(1, 9)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert len({tuple(order) for order in orders}) > 3
    assert [group.size for group in question_groups(4, 1, 64, seed=1)] == [1, 1, 1, 1]
    assert [group.size for group in question_groups(4, 1, 3, seed=1)] == [2, 1, 1]
    assert np.concatenate(question_groups(4, 1, 3, seed=1)).tolist() == orders[0]


def test_no_rows_give_no_draws(network, empty_rows):
    table, keys = empty_rows
    none = np.zeros(0, dtype=np.int64)
    assert drawn_by(network, (table.rows(none), keys[none])).shape == (0, 4)


@pytest.mark.parametrize("quality", ["balanced", pytest.param("best", marks=pytest.mark.slow)])
def test_a_copy_that_is_missing_with_its_original_stays_a_copy(quality, quick_settings):
    """Two columns missing together: a draw must keep how they depend on each other."""
    rng = np.random.default_rng(0)
    x = rng.choice(3, 500, p=[0.5, 0.3, 0.2]).astype(float)
    values = np.column_stack([x, rng.normal(size=500), x, rng.integers(0, 4, 500)])
    values[::4, [0, 2]] = np.nan
    table = CodedTable.from_values(COLUMNS, values)
    settings = quick_settings(
        quality,
        network={"width": 32},
        training={
            "max_steps": 150,
            "epoch_steps": 50,
            "batch_size": 256,
            "learning_rate": 6e-3,
        },
        trees={"effort": "none"},
    )
    for method in ("sequential", "refitted"):
        chosen = settings.replace(draws={"method": method})
        engine = DefaultEngine.fit(table, chosen, seed=1, device="cpu")
        drawn = np.stack([engine.draw(table, number)[::4] for number in range(1, 9)])
        assert (drawn[..., 0] == drawn[..., 2]).mean() > 0.9
        shares = np.bincount(drawn[..., 0].astype(int).ravel(), minlength=3) / drawn[..., 0].size
        np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.12)
