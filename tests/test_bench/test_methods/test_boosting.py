import numpy as np

from tabsoda.bench.methods.boosting import Boosting
from tabsoda.bench.methods.contract import SkipView
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


def test_rare_levels_keep_their_share_and_the_others_are_modelled():
    rng = np.random.default_rng(1)
    helper = rng.normal(size=400)
    target = (helper > 0).astype(float)
    target[:4] = 2.0
    target[300:] = np.nan
    columns = (
        Column("helper", ColumnKind.CONTINUOUS),
        Column("target", ColumnKind.NOMINAL, levels=("a", "b", "rare", "never")),
    )
    table = CodedTable.from_values(columns, np.column_stack([helper, target]))
    estimates = Boosting().impute(table, 1, SkipView.BLIND)
    rows = estimates.probabilities[1][300:]
    assert np.allclose(rows[:, 2], 4 / 300)
    assert np.allclose(rows[:, 3], 0.0)
    assert np.allclose(rows.sum(axis=1), 1.0)
    assert (estimates.mode[300:, 1] == (helper[300:] > 0)).mean() > 0.97


def test_nominal_predictors_have_no_order():
    rng = np.random.default_rng(2)
    group = rng.integers(0, 20, size=1500).astype(float)
    effect = rng.permutation(20).astype(float)
    values = np.column_stack([group, effect[group.astype(int)]])
    values[1000:, 1] = np.nan
    columns = (
        Column("group", ColumnKind.NOMINAL, levels=tuple(range(20))),
        Column("number", ColumnKind.CONTINUOUS),
    )
    table = CodedTable.from_values(columns, values)
    truth = effect[group[1000:].astype(int)]

    def error(**options):
        # Two leaves a tree: only a predictor without order can gather any set of groups at once.
        filled = Boosting(max_leaves=2, max_rounds=10, **options).impute(table, 1, SkipView.BLIND)
        return np.sqrt(np.mean((filled.mode[1000:, 1] - truth) ** 2))

    assert error() < 0.8 * error(max_native_levels=5)
