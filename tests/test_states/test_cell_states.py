import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tabsoda.errors import InputError
from tabsoda.reading.skip_masks import load_mask
from tabsoda.schema import Reason
from tabsoda.states import REASONS, CellStates, reason_code

shapes = st.tuples(st.integers(1, 6), st.integers(1, 5))
reasons = shapes.flatmap(
    lambda shape: hnp.arrays(np.uint8, shape, elements=st.integers(0, len(REASONS)))
)


def names(array):
    return tuple(f"q{i}" for i in range(array.shape[1]))


@given(reasons)
def test_every_cell_has_one_state_and_keeps_its_reason(codes):
    states = CellStates.from_reasons(codes, names(codes))
    total = states.answered.astype(int) + states.missing + states.skipped
    assert (total == 1).all()
    np.testing.assert_array_equal(states.reasons, codes)
    np.testing.assert_array_equal(states.skipped, codes == reason_code(Reason.SKIP))


@given(reasons, st.data())
def test_a_mask_adds_skips_and_touches_nothing_else(codes, data):
    states = CellStates.from_reasons(codes, names(codes))
    mask = data.draw(hnp.arrays(bool, codes.shape)) & ~states.answered
    after = states.with_skips(states.skipped | mask)
    np.testing.assert_array_equal(after.skipped, states.skipped | mask)
    np.testing.assert_array_equal(after.answered, states.answered)
    untouched = ~mask
    np.testing.assert_array_equal(after.reasons[untouched], states.reasons[untouched])


def test_a_mask_may_not_mark_answers():
    states = CellStates.from_masks(np.ones((3, 2), bool), np.zeros((3, 2), bool), ("a", "b"))
    mask = np.array([[False, False], [False, True], [False, True]])
    with pytest.raises(InputError, match=r"Column 'b'.*2 such cells, the first in row 2"):
        states.with_skips(states.skipped | mask)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_mask_files_are_read_by_name(tmp_path, ending):
    frame = pl.DataFrame({"b": [True, False], "a": [False, False], "weight": [False, False]})
    path = tmp_path / f"skip{ending}"
    frame.write_parquet(path) if ending == ".parquet" else frame.write_csv(path)
    mask = load_mask(path, ("a", "b"), 2, all_names=("a", "b", "weight"))
    assert mask.tolist() == [[False, True], [False, False]]


def test_masks_of_zeros_and_ones():
    frame = pl.DataFrame({"a": [0, 1]})
    assert load_mask(frame, ("a",), 2).tolist() == [[False], [True]]
    assert load_mask(np.array([[0], [1]]), ("a",), 2).tolist() == [[False], [True]]
    with pytest.raises(InputError, match="values other than"):
        load_mask(np.array([[0], [2]]), ("a",), 2)
    with pytest.raises(InputError, match=r"Column 'a'.*Found: 2"):
        load_mask(pl.DataFrame({"a": [0, 2]}), ("a",), 2)
