"""One draw on its own is the draw that imputing makes."""

import numpy as np
import pytest

from tabsoda._internal.randomness import row_keys
from tabsoda.datasets import make_survey
from tabsoda.em.engine import Engine
from tabsoda.settings import Settings

PRESETS = pytest.mark.parametrize("preset", ["balanced", "best"])


def engine_of(preset, table):
    settings = Settings.preset(preset).replace(training={"max_steps": 10}, backbone={"width": 16})
    settings = settings.replace(experts={"trees": "none"})
    return Engine.fit(table, settings, seed=1, device="cpu")


@PRESETS
def test_a_single_draw_equals_the_same_draw_of_impute(preset):
    table = make_survey(150, n_columns=12, seed=3).true_table
    engine = engine_of(preset, table)
    cells = engine.impute(table, n_draws=2)
    drawn = engine.draw(table, 2)
    np.testing.assert_array_equal(drawn[cells.rows, cells.positions], cells.draws[1])
    answered = table.states.answered
    np.testing.assert_array_equal(drawn[answered], table.values[answered])
    assert np.isnan(drawn[table.states.skipped]).all()


@PRESETS
def test_a_row_keeps_its_noise_by_its_key(preset):
    table = make_survey(150, n_columns=12, seed=3).true_table
    engine = engine_of(preset, table)
    keys = row_keys(table.values, table.states.states)
    np.testing.assert_array_equal(engine.draw(table, 1, keys), engine.draw(table, 1))
    assert not np.array_equal(engine.draw(table, 1, keys + 1), engine.draw(table, 1))
