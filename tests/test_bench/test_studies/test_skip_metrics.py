"""Skip metrics equal scikit-learn's, and say None where there is nothing to divide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from tabsoda.bench.metrics.skip_metrics import skip_metrics
from tabsoda.errors import InputError

masks = st.tuples(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**32 - 1))


def _expected(mined, reference):
    tn, fp, fn, tp = sk.confusion_matrix(reference, mined, labels=[False, True]).ravel()
    undefined = {"zero_division": np.nan}
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "precision": sk.precision_score(reference, mined, **undefined),
        "recall": sk.recall_score(reference, mined, **undefined),
        "f1": sk.f1_score(reference, mined, **undefined),
        "fpr": 1 - sk.recall_score(~reference, ~mined, **undefined),
        "accuracy": sk.accuracy_score(reference, mined) if mined.size else np.nan,
    }


@given(masks)
def test_equal_to_scikit_learn_over_all_cells_and_over_blanks(drawn):
    rows, columns, seed = drawn
    random = np.random.default_rng(seed)
    blank = random.random((rows, columns)) < 0.7
    mined, reference = (blank & (random.random((rows, columns)) < 0.5) for _ in range(2))
    result = skip_metrics(mined, reference, blank)
    assert list(result) == ["all_cells", "blanks"]
    for part, cells in (("all_cells", np.ones_like(blank)), ("blanks", blank)):
        if not cells.any():
            continue
        expected = _expected(mined[cells], reference[cells])
        found = {k: np.nan if v is None else v for k, v in result[part].items()}
        assert found == pytest.approx(expected, nan_ok=True)


def test_undefined_is_none():
    nothing = np.zeros((2, 2), dtype=bool)
    result = skip_metrics(nothing, nothing, nothing)
    assert [result["all_cells"][k] for k in ("precision", "recall", "f1")] == [None] * 3
    assert (result["all_cells"]["fpr"], result["all_cells"]["accuracy"]) == (0, 1)
    assert set(list(result["blanks"].values())[4:]) == {None}


def test_shapes_must_agree():
    with pytest.raises(InputError, match="different shapes"):
        skip_metrics(np.zeros((2, 2)), np.zeros((2, 3)), np.zeros((2, 2)))
