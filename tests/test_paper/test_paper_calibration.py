"""Cutpoints move to where the loss is lowest; the stopping loss is what it says."""

import numpy as np
import pytest
import torch

from tabsoda._internal.randomness import row_keys
from tabsoda.coding.row_order import hold_out_cells
from tabsoda.events import EventLog
from tabsoda.paper import engine as engine_module
from tabsoda.paper.calibration import calibrate_cutpoints
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.held_out_loss import held_out_loss
from tabsoda.paper.model import Model
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.standardizer import Standardizer
from tabsoda.paper.training_batch import HIDDEN_SHARE, RoundTargets, hide_some
from tabsoda.paper.working_table import WorkingTable
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

CPU = torch.device("cpu")


class ShiftedAnswers(torch.nn.Module):
    """A denoiser that returns the state it is shown, moved by a constant."""

    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def forward(self, state, noise_level, visible, skipped):
        return state + self.shift


@pytest.fixture
def ordinal_case(tiny_settings):
    rng = np.random.default_rng(0)
    levels = np.digitize(rng.normal(size=(2000, 1)), [-0.6, 0.4]).astype(float)
    levels[::9] = np.nan
    columns = (Column("q", ColumnKind.ORDINAL, levels=(1, 2, 3)),)
    table = CodedTable.from_values(columns, levels)

    def make(shift, **training):
        calibrated = {"calibration_steps": 600, "calibration_learning_rate": 0.01}
        settings = tiny_settings("path", training=calibrated | training)
        codec = TableCodec.fit(table, table.states.answered, settings.encoding, EventLog())
        model = Model.start(codec, settings, 1, CPU)
        model.denoiser = ShiftedAnswers(shift)
        model.standardizer = Standardizer(torch.zeros(1), torch.ones(1))
        keys = row_keys(table.values, table.states.states)
        data = WorkingTable.build(table, codec, keys, CPU)
        targets = RoundTargets(data.encoded, data.encoded, torch.tensor(0.0))
        return model, data, targets

    return make


@pytest.mark.parametrize("shift", [0.0, 0.7, -1.5])
def test_cutpoints_follow_a_shift_of_the_latents(shift, ordinal_case):
    reference = ordinal_case(0.0)
    calibrate_cutpoints(*reference, 1, "after")
    shifted = ordinal_case(shift)
    before = shifted[0].cutpoints().detach().clone()
    calibrate_cutpoints(*shifted, 1, "after")
    # The same answers seen at latents moved by a constant: the best cutpoints move with them.
    moved = shifted[0].cutpoints().detach() - reference[0].cutpoints().detach()
    torch.testing.assert_close(moved, torch.full_like(before, shift), atol=0.08, rtol=0)


def test_no_steps_leave_cutpoints_alone(ordinal_case):
    case = ordinal_case(1.0, calibration_steps=0)
    before = case[0].cutpoints().detach().clone()
    calibrate_cutpoints(*case, 1, "after")
    assert torch.equal(case[0].cutpoints().detach(), before)


@pytest.mark.parametrize("steps", [4, 600])
def test_cutpoints_that_got_worse_are_not_kept(steps, ordinal_case):
    case = ordinal_case(0.0)
    calibrate_cutpoints(*case, 1, "after")
    best = {name: tensor.clone() for name, tensor in case[0].cutpoints.state_dict().items()}
    # Steps this long only lead away, before the first look or at it.
    case = ordinal_case(0.0, calibration_steps=steps, calibration_learning_rate=20.0)
    case[0].cutpoints.load_state_dict(best)
    expected = case[0].cutpoints().detach().clone()
    calibrate_cutpoints(*case, 1, "after")
    assert torch.equal(case[0].cutpoints().detach(), expected)


def test_calibration_reads_visible_answers_only(ordinal_case):
    model, data, targets = ordinal_case(0.5)
    other, other_data, other_targets = ordinal_case(0.5)
    other_data.levels[~other_data.visible_columns] = 2
    calibrate_cutpoints(model, data, targets, 1, "after")
    calibrate_cutpoints(other, other_data, other_targets, 1, "after")
    assert torch.equal(model.cutpoints(), other.cutpoints())


def test_the_stopping_loss_is_the_loss_of_hidden_answers(mixed_table, tiny_settings):
    settings = tiny_settings("small", loss={"nominal": 0.0, "ordinal": 0.0, "continuous": 2.0})
    table = mixed_table()
    columns = np.ones(8, dtype=bool)
    held = hold_out_cells(table.states.answered, columns, 0.2, seed=3)
    visible = table.states.answered & ~held
    codec = TableCodec.fit(table, visible, settings.encoding, EventLog())
    model = Model.start(codec, settings, 1, CPU)
    keys = row_keys(table.values, table.states.states)
    data = WorkingTable.build(table, codec, keys, CPU, held)
    model.standardizer = Standardizer.fit(data.encoded, data.visible)
    parameters = [torch.zeros_like(p) for p in model.denoiser.parameters()]
    # With all weights 0 the preconditioned output at noise 20 is 0.25 / 400.25 of the state, so
    # the prediction is the column's mean up to the noise's small remainder.
    found = held_out_loss(model, data, parameters)
    expected = 0.0
    for column, coordinate in zip(
        codec.layout.continuous_columns, codec.layout.continuous_coordinates, strict=True
    ):
        truth = data.held_out_encoded[held[:, column], coordinate].numpy()
        assert truth.size > 10
        expected += np.square(truth - model.standardizer.mean[coordinate].item()).mean() / 2
    assert found == pytest.approx(2.0 * expected, rel=0.05)


@pytest.mark.parametrize("ordinal", ["latent", "bits"])
def test_only_latents_give_cells_for_the_temperatures(
    ordinal, mixed_table, tiny_settings, monkeypatch
):
    held = []
    inner = engine_module.WorkingTable.build

    def watched(table, codec, keys, device, held_out=None, weights=None):
        held.append((held_out, codec))
        return inner(table, codec, keys, device, held_out, weights)

    monkeypatch.setattr(engine_module.WorkingTable, "build", watched)
    settings = tiny_settings("path", encoding={"ordinal": ordinal}, em={"rounds": 1})
    PaperEngine.fit(mixed_table(), settings, seed=1, device="cpu")
    [(cells, codec)] = held
    # "rarely" is ordinal too, but 80 % of its answers are one level.
    latents = ["likes", "agrees"] if ordinal == "latent" else []
    assert [codec.names[p] for p in np.flatnonzero(cells.any(axis=0))] == latents
    assert [codec.names[p] for p in codec.layout.ordinal_columns] == latents


def test_holding_out_does_not_change_the_route(tiny_settings):
    # 69 % of the answers are one level; of what stays visible it may be more than 70 %.
    rng = np.random.default_rng(0)
    values = np.column_stack([np.repeat([0.0, 1.0, 2.0], [69, 20, 11]), rng.normal(size=100)])
    columns = (
        Column("q", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("x", ColumnKind.CONTINUOUS),
    )
    table = CodedTable.from_values(columns, values)
    settings = tiny_settings("path", temperature={"held_out_share": 0.5}, em={"rounds": 1})
    shares = []
    for seed in range(6):
        codec = PaperEngine.fit(table, settings, seed=seed, device="cpu").model.codec
        assert codec.layout.ordinal_columns.tolist() == [0]
        shares.append(codec.level_counts[0].max() / codec.level_counts[0].sum())
    assert max(shares) > 0.7


def test_cells_are_hidden_among_visible_ones_at_shares_from_few_to_most():
    visible = torch.rand(4000, 30, generator=torch.Generator().manual_seed(1)) < 0.7
    keys = torch.arange(4000)
    hidden = hide_some(visible, keys, torch.tensor(11), torch.tensor(12))
    assert not (hidden & ~visible).any()
    share = hidden.sum(1) / visible.sum(1).clamp(min=1)
    assert share.mean().item() == pytest.approx(sum(HIDDEN_SHARE) / 2, abs=0.02)
    # Uniform between the two ends: as many rows in each quarter.
    quarters = torch.histc(share, bins=4, min=0.05, max=0.95)
    assert (quarters / quarters.sum() > 0.2).all()


@pytest.mark.slow
def test_one_pass_and_draws_find_the_regression():
    """With clean conditioning one pass at the highest noise is the conditional mean."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 1))
    values = np.hstack([x, 0.8 * x + 0.6 * rng.normal(size=(600, 1))])
    values[::3, 1] = np.nan
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in "xy")
    table = CodedTable.from_values(columns, values)
    engine = PaperEngine.fit(table, PaperSettings.preset("small"), seed=1, device="cpu")
    cells = engine.impute(table, n_draws=30)
    mean = 0.8 * x[cells.rows, 0]

    def distance(one, other):
        return np.sqrt(np.square(one - other).mean())

    assert distance(cells.mode, mean) < 0.15
    # 30 draws of variance .36 have a standard error of .11; the rest is the network's error.
    assert distance(cells.draws.mean(0), mean) < 0.2
    assert distance(cells.draws.mean(0), cells.mode) < 0.25
    assert cells.draws.std(0).mean() == pytest.approx(0.6, abs=0.12)
