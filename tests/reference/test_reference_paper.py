"""The paper's presets give the imputations of the stored reference, seed for seed."""

import json

import numpy as np
import pytest
from paper_reference import COLUMNS, PRESETS, STORED, generated_table, imputed

CATEGORICAL = np.array([column["type"] != "continuous" for column in COLUMNS])
# The age in years and the wave are whole numbers, which are rounded.
WHOLE = np.array([column["name"] in ("age", "wave") for column in COLUMNS])


@pytest.fixture(scope="module")
def stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


def test_the_stored_table_has_every_kind_of_cell(stored):
    table = stored["table"]
    assert table == generated_table()
    values = np.array(table["values"], dtype=float)
    missing = np.isnan(values)
    assert missing.any(axis=0).all()
    assert 10 < len(table["skipped_rows"]) < len(values)
    assert np.unique(values[~missing[:, 6], 6]).tolist() == [3.0]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_imputes_as_stored(stored, preset):
    now, before = imputed(stored["table"], preset), stored[preset]
    assert (now["rows"], now["positions"]) == (before["rows"], before["positions"])
    exact = (CATEGORICAL | WHOLE)[before["positions"]]
    for name in ("mode", "median", "draws"):
        found, wanted = np.array(now[name]), np.array(before[name])
        assert np.array_equal(found[..., exact], wanted[..., exact]), name
        # Other processors sum in another order.
        np.testing.assert_allclose(
            found[..., ~exact], wanted[..., ~exact], rtol=1e-5, atol=1e-6, err_msg=name
        )
