"""What both engines do with weights, other tables and values that must not be looked at."""

import numpy as np
import pytest
import torch

from tabsoda.engines import fit_engine, load_engine
from tabsoda.errors import DeviceError, InputError
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

BEST = pytest.param("best", marks=pytest.mark.slow)
ONE_EACH = pytest.mark.parametrize("name", ["balanced", "small"])


def fit(table, settings, **options):
    return fit_engine(table, settings, **({"seed": 1, "device": "cpu"} | options))


@pytest.mark.parametrize("where", ["skipped", "missing"])
@pytest.mark.parametrize("name", ["balanced", BEST, "small", "path", "nsduh"])
def test_garbage_in_the_array_handed_in_changes_nothing(
    name, where, mixed_table, settings_of, differing, same_cells
):
    table, settings = mixed_table(), settings_of(name)
    cells = getattr(table.states, where)
    values = table.values.copy()
    values[cells] = np.random.default_rng(3).choice([0.0, 1.0, 7e9, np.inf], cells.sum())
    spoilt = CodedTable(table.columns, values, table.states)
    one, other = fit(table, settings), fit(spoilt, settings)
    assert differing(one, other) == set()
    assert same_cells(one.impute(table, 2), other.impute(spoilt, 2))


@pytest.mark.parametrize("name", ["balanced", BEST, "small"])
def test_most_rows_may_weigh_nothing(name, mixed_table, settings_of):
    # Batches without a single row that counts must not divide by zero.
    weights = np.zeros(120)
    weights[5] = 1
    table, settings = mixed_table(), settings_of(name, training={"batch_size": 8})
    cells = fit(table, settings, row_weights=weights).impute(table, 1)
    assert np.isfinite(cells.draws).all()
    assert np.isfinite(cells.mode).all()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("balanced", {"training": {"max_steps": 200, "epoch_steps": 50, "patience": 1000}}),
        (
            "small",
            {
                "training": {"max_steps": 200, "min_epoch_steps": 50, "patience": 1000},
                "em": {"rounds": 1},
            },
        ),
    ],
)
def test_weights_move_the_estimate(name, changes, settings_of):
    # Two groups that no other column distinguishes; only their weights differ.
    values = np.repeat([0.0, 10.0], 60)[:, None]
    values[::6] = np.nan
    table = CodedTable.from_values((Column("y", ColumnKind.CONTINUOUS),), values)
    settings = settings_of(name, **changes)

    def mean(weights):
        return fit(table, settings, row_weights=weights).impute(table).mode.mean()

    heavy = np.repeat([1.0, 9.0], 60)
    assert mean(None) == pytest.approx(5.0, abs=1.5)
    assert mean(heavy) == pytest.approx(9.0, abs=1.5)
    assert mean(heavy[::-1].copy()) == pytest.approx(1.0, abs=1.5)


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        (np.ones(119), "shape"),
        (np.ones((120, 1)), "shape"),
        (-np.ones(120), "negative"),
        (np.zeros(120), "only zeros"),
        (np.r_[np.ones(119), np.nan], "not a number"),
        (np.r_[np.ones(119), np.inf], "not a number"),
    ],
)
@ONE_EACH
def test_unusable_weights_are_refused(name, weights, found, mixed_table, settings_of):
    with pytest.raises(InputError, match="sample weights") as caught:
        fit(mixed_table(), settings_of(name), row_weights=weights)
    assert found in caught.value.found


@ONE_EACH
def test_other_columns_are_refused(name, mixed_table, settings_of):
    table = mixed_table()
    engine = fit(table, settings_of(name))
    fewer = CodedTable(
        table.columns[:-1], table.values[:, :-1].copy(), table.states.select(table.names[:-1])
    )
    with pytest.raises(InputError, match=r"the same number of columns.*Found: 7\. Expected: 8"):
        engine.impute(fewer)
    swapped = table.columns[::-1]
    states = table.states.select(tuple(c.name for c in swapped))
    reversed_table = CodedTable(swapped, table.values[:, ::-1].copy(), states)
    for act in (engine.impute, engine.level_probabilities, lambda other: engine.draw(other, 1)):
        with pytest.raises(InputError, match="'pregnant' differs from the column"):
            act(reversed_table)


@ONE_EACH
def test_an_absent_device_is_not_blamed_on_the_file(name, mixed_table, settings_of, tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    fit(mixed_table(), settings_of(name)).save(tmp_path / "model")
    with pytest.raises(DeviceError, match="cuda"):
        load_engine(tmp_path / "model", "cuda")
