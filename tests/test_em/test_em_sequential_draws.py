"""Draws follow the heads' probabilities, go together, and leave other rows alone."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from tabsoda._internal.randomness import row_keys
from tabsoda.em import sequential_draws
from tabsoda.em.engine import Engine
from tabsoda.em.model import Model
from tabsoda.em.sequential_draws import column_groups, draw_values
from tabsoda.em.working_table import WorkingTable
from tabsoda.encoding.answer_codec import AnswerCodec
from tabsoda.encoding.table_codec import TableCodec
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
def parts(table, tiny_settings):
    """Return a maker of a model that was never trained, and its table."""

    def make(**changes):
        settings = tiny_settings("balanced", **changes).resolve(4, 1)
        answered = table.states.answered
        codec = TableCodec.fit(table, answered, settings.encoding, EventLog())
        answers = AnswerCodec.fit(table, answered, codec)
        model = Model.start(codec, settings, 1, CPU, answers)
        keys = row_keys(table.values, table.states.states)
        return model, WorkingTable.build(table, codec, keys, CPU, bins=answers.bins)

    return make


def blank_rows(data):
    return torch.arange(600, data.n_rows)


def test_marginals_are_the_probabilities_of_the_heads(parts, monkeypatch):
    model, data = parts()
    fixed = torch.randn(1, model.heads.n_outputs, generator=torch.Generator().manual_seed(3))
    monkeypatch.setattr(
        sequential_draws,
        "answer_outputs",
        lambda model, data, rows, **_: fixed.expand(rows.numel(), -1),
    )
    drawn = draw_values(model, data, blank_rows(data), 1)
    said = model.heads(fixed)
    for place, column in enumerate(model.codec.categorical_columns):
        n_levels = int(model.codec.layout.n_levels[column])
        expected = said.log_probabilities[0, place, :n_levels].double().exp().numpy()
        found = np.bincount(drawn[:, column].astype(int), minlength=n_levels)
        assert chisquare(found, 5000 * expected / expected.sum()).pvalue > 1e-3, column
    bins = model.answer_codec.bins
    expected = said.bin_log_probabilities[0, 0].double().exp().numpy()
    found = np.bincount(bins.place(drawn[:, [1]])[:, 0], minlength=expected.size)
    assert chisquare(found, 5000 * expected / expected.sum()).pvalue > 1e-3
    # Columns that do not hear of each other are drawn apart from each other.
    together = np.histogram2d(drawn[:, 0], drawn[:, 2], bins=3)[0]
    apart = np.outer(together.sum(1), together.sum(0)) / 5000
    assert ((together - apart) ** 2 / apart).sum() < 18.5


def copying(model, data, rows, *, visible, levels, **_):
    """Say that x and y are the same, where one of them is known; else nothing."""
    outputs = torch.zeros(rows.numel(), model.heads.n_outputs)
    layout = model.codec.layout
    place = {int(c): p for p, c in enumerate(model.codec.categorical_columns)}
    for known, wanted in ((0, 2), (2, 0)):
        coordinate = int(np.flatnonzero(layout.column_of == known)[0])
        kind, owner = model.heads.owners()
        first = int(np.flatnonzero((kind == 0) & (owner == place[wanted]))[0])
        chosen = first + levels[:, known]
        shown = torch.nonzero(visible[:, coordinate]).ravel()
        outputs[shown, chosen[shown]] = 30.0
    return outputs


def test_what_was_drawn_is_seen_by_what_is_drawn_next(parts, monkeypatch):
    monkeypatch.setattr(sequential_draws, "answer_outputs", copying)
    model, data = parts()
    for number in (1, 2, 3):
        drawn = draw_values(model, data, blank_rows(data), number)
        assert np.array_equal(drawn[:, 0], drawn[:, 2])
        assert np.bincount(drawn[:, 0].astype(int)).min() > 1400
    # Drawn in one go, neither sees the other: one in three agrees by chance.
    model, data = parts(sampler={"draw_steps": 1})
    drawn = draw_values(model, data, blank_rows(data), 1)
    assert (drawn[:, 0] == drawn[:, 2]).mean() == pytest.approx(1 / 3, abs=0.04)


def test_only_missing_cells_are_drawn(parts, monkeypatch):
    monkeypatch.setattr(sequential_draws, "answer_outputs", copying)
    model, data = parts()
    drawn = draw_values(model, data, torch.arange(590, 610), 1)
    assert np.isnan(drawn[:10]).all()
    assert not np.isnan(drawn[10:]).any()
    before = data.levels.clone(), data.visible.clone(), data.encoded.clone()
    draw_values(model, data, blank_rows(data), 1)
    # The table itself is not drawn into.
    assert torch.equal(data.levels, before[0])
    assert torch.equal(data.visible, before[1])
    assert torch.equal(data.encoded, before[2])


@pytest.mark.parametrize("block_rows", [7, 4096])
def test_the_draw_of_a_row_hangs_on_that_row_alone(block_rows, parts):
    model, data = parts()
    model.denoiser.eval()
    rows = blank_rows(data)
    all_rows = draw_values(model, data, rows, 1)
    model.settings = model.settings.replace(sampler={"block_rows": block_rows})
    few = torch.tensor([5, 3000, 17])
    alone = draw_values(model, data, rows[few], 1)
    assert np.array_equal(alone, all_rows[few.numpy()])
    assert not np.array_equal(alone, draw_values(model, data, rows[few], 2))


def test_columns_come_in_groups_in_an_order_of_each_draw(parts):
    model, _ = parts()
    orders = [np.concatenate(column_groups(model, number)).tolist() for number in range(1, 9)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert len({tuple(order) for order in orders}) > 3
    assert [g.size for g in column_groups(model, 1)] == [1, 1, 1, 1]
    model, _ = parts(sampler={"draw_steps": 3})
    assert [g.size for g in column_groups(model, 1)] == [2, 1, 1]
    assert np.concatenate(column_groups(model, 1)).tolist() == orders[0]


def test_no_rows_give_no_draws(parts):
    model, data = parts()
    assert draw_values(model, data, torch.zeros(0, dtype=torch.int64), 1).shape == (0, 4)


@pytest.mark.parametrize("quality", ["balanced", pytest.param("best", marks=pytest.mark.slow)])
def test_a_copy_that_is_missing_with_its_original_stays_a_copy(quality, tiny_settings):
    """Two columns missing together: each draw must keep what they have to do with each other."""
    rng = np.random.default_rng(0)
    x = rng.choice(3, 500, p=[0.5, 0.3, 0.2]).astype(float)
    values = np.column_stack([x, rng.normal(size=500), x, rng.integers(0, 4, 500)])
    values[::4, [0, 2]] = np.nan
    table = CodedTable.from_values(COLUMNS, values)
    settings = tiny_settings(
        quality,
        backbone={"width": 32},
        training={
            "max_steps": 150,
            "min_epoch_steps": 50,
            "batch_size": 256,
            "learning_rate": 6e-3,
        },
        em={"rounds": 1},
        experts={"trees": "none"},
    )
    engine = Engine.fit(table, settings, seed=1, device="cpu")
    drawn = np.stack([engine.draw(table, number)[::4] for number in range(1, 9)])
    assert (drawn[..., 0] == drawn[..., 2]).mean() > 0.9
    shares = np.bincount(drawn[..., 0].astype(int).ravel(), minlength=3) / drawn[..., 0].size
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.12)
