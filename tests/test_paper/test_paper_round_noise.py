"""The noise of the chains: fresh in every EM round, and the last round's after the fit."""

import numpy as np
import pytest
import torch

from tabsoda._internal.randomness import row_keys
from tabsoda.events import EventLog
from tabsoda.paper import em
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.working_table import WorkingTable

PRESETS = pytest.mark.parametrize("preset", ["path", "nsduh", "small"])


def expected_in(engine, table, round_number):
    keys = row_keys(table.values, table.states.states)
    data = WorkingTable.build(table, engine.model.codec, keys, engine.model.device)
    return Sampler(engine.model, EventLog(), round_number).expect(data)[1]


@PRESETS
def test_every_round_has_noise_of_its_own(preset, mixed_table, tiny_settings, monkeypatch):
    rounds, started = [], Sampler.start_round

    def watched(self, number):
        rounds.append(number)
        started(self, number)

    monkeypatch.setattr(em.Sampler, "start_round", watched)
    table = mixed_table()
    fresh = PaperEngine.fit(
        table, tiny_settings(preset, em={"rounds": 3, "min_rounds": 1}), device="cpu"
    )
    assert rounds == [1, 2, 3]
    # The same weights, so that only the noise differs.
    one, two = (expected_in(fresh, table, number) for number in (1, 2))
    assert not torch.equal(one, two)
    fresh.model.settings = fresh.model.settings.replace(sampler={"fresh_noise": False})
    one, two = (expected_in(fresh, table, number) for number in (1, 2))
    assert torch.equal(one, two)


@PRESETS
def test_the_imputations_of_the_fitted_table_are_those_of_the_last_round(
    preset, mixed_table, tiny_settings, monkeypatch
):
    last, complete = [], em._complete

    def watched(model, data, before, rows, expected):
        last.append((data.row_keys[rows], expected))
        return complete(model, data, before, rows, expected)

    monkeypatch.setattr(em, "_complete", watched)
    table = mixed_table()
    # Nothing is held out, so that the table imputed is the table fitted.
    settings = tiny_settings(
        preset, em={"rounds": 2, "min_rounds": 1}, temperature={"held_out_share": 0.0}
    )
    engine = PaperEngine.fit(table, settings, device="cpu")
    keys, expected = last[-1]
    place = {key: number for number, key in enumerate(keys.tolist())}
    found = expected_in(engine, table, engine.history[-1]["round"])
    own = row_keys(table.values, table.states.states)
    order = [place[key] for key in own.tolist() if key in place]
    np.testing.assert_allclose(found.numpy(), expected[order].numpy(), atol=1e-5)
    assert not np.allclose(expected_in(engine, table, 1).numpy(), found.numpy(), atol=1e-5)
    points = engine.model.codec.decode_point(found, rule="mode")
    numbers = engine.model.codec.layout.continuous_columns
    cells = engine.impute(table)
    row = {number: position for position, number in enumerate(np.flatnonzero(np.isin(own, keys)))}
    for where, column, value in zip(cells.rows, cells.positions, cells.mode, strict=True):
        if column in numbers and where in row:
            np.testing.assert_allclose(value, points[row[where], column], rtol=1e-5)
