"""Rules are applied gates first, in an order as near to the file's as it can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.skips.rule_order import gates_first

NAMES = [f"q{number}" for number in range(8)]


@given(st.permutations(NAMES), st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))))
def test_gates_come_before_their_targets(hidden_order, pairs):
    """Dependencies along some hidden order have no circle, whatever the order of the file."""
    rank = {name: place for place, name in enumerate(hidden_order)}
    needed = [(a, b) for a, b in pairs if rank[a] < rank[b]]
    found = gates_first(NAMES, needed)
    assert sorted(found) == NAMES
    assert all(found.index(gate) < found.index(target) for gate, target in needed)
    if all(NAMES.index(gate) < NAMES.index(target) for gate, target in needed):
        assert list(found) == NAMES


def test_only_what_has_to_move_moves():
    assert gates_first(NAMES, [("q5", "q2")]) == ("q0", "q1", "q5", "q2", "q3", "q4", "q6", "q7")


def test_a_circle_is_refused_by_name():
    with pytest.raises(InputError, match=r"cycle.*q2, q5"):
        gates_first(NAMES, [("q5", "q2"), ("q2", "q5")])
