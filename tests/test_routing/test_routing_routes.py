"""The routes of a gate: every answer has one, and all answers of a route fulfil the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.routing.routes import GateRoutes, gate_routes, sorted_descendants
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule
from tabsoda.states.cell_states import CellState
from tabsoda.table import CodedTable

_NUMBER = Column("n", ColumnKind.CONTINUOUS)


@st.composite
def _intervals(draw: st.DrawFn) -> Condition:
    above, up_to = draw(st.tuples(*[st.one_of(st.none(), st.integers(-5, 5))] * 2))
    if above is not None and up_to is not None and above >= up_to:
        up_to = above + 1
    return Condition("n", above=above, up_to=up_to)


@given(
    st.lists(_intervals().filter(lambda c: c.asks_for_answer), min_size=1, max_size=4),
    st.lists(st.floats(-8, 8), min_size=2, max_size=30),
)
def test_numbers_on_one_route_fulfil_the_same_conditions(conditions, answers):
    routes = GateRoutes.of(_NUMBER, conditions)
    values = np.array([*answers, *routes.examples])
    states = np.full(values.size, CellState.ANSWERED, dtype=np.uint8)
    held = np.column_stack(
        [c.holds_for(_NUMBER, values, states, np.zeros_like(states)) for c in conditions]
    )
    taken = routes.of_values(values)
    for route in np.unique(taken):
        assert len(np.unique(held[taken == route], axis=0)) == 1
    assert taken[len(answers) :].tolist() == list(range(routes.n_routes))


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=4, unique=True),
    st.floats(-9, 9),
    st.data(),
)
def test_the_nearest_number_lies_on_the_route_and_answers_on_it_stay(edges, value, data):
    routes = GateRoutes.of(_NUMBER, [Condition("n", up_to=edge) for edge in edges])
    wanted = data.draw(st.integers(0, routes.n_routes - 1))
    given = np.array(data.draw(st.lists(st.floats(-9, 9), max_size=8)))
    observed = routes.observed(given)
    found = routes.nearest(np.array([value]), np.array([wanted]), observed)
    assert routes.of_values(found)[0] == wanted
    if routes.of_values(np.array([value]))[0] == wanted:
        assert found[0] == value
        return
    on_route = given[routes.of_values(given) == wanted]
    # Nothing beyond what was observed is made up where something was.
    if on_route.size:
        assert abs(found[0] - value) == np.abs(on_route - value).min()


def test_levels_are_grouped_by_what_they_fulfil_whatever_the_order_of_the_rules():
    column = Column("g", ColumnKind.NOMINAL, ("a", "b", "c", "d"))
    conditions = [Condition("g", ("b", "c")), Condition("g", ("c",))]
    forward, backward = GateRoutes.of(column, conditions), GateRoutes.of(column, conditions[::-1])
    assert forward.route_of_level.tolist() == backward.route_of_level.tolist() == [0, 1, 2, 0]
    assert forward.of_values(np.array([3.0, np.nan])).tolist() == [0, -1]
    only = forward.only_answer()
    assert np.isnan(only[0])
    assert only[1:].tolist() == [1.0, 2.0]


def test_what_hangs_on_a_gate_is_found_to_the_end_and_rejected_rules_are_not_followed():
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abcd")
    rules = RuleSet(
        (
            SkipRule("1", "b", ((Condition("a", (2,)),),)),
            SkipRule("2", "c", ((Condition("b", (2,), or_skipped=True),),)),
            SkipRule("3", "d", ((Condition("c", (2,)),),), status=RuleStatus.REJECTED),
        ),
        columns,
    )
    table = CodedTable.from_values(columns, np.zeros((1, 4)))
    assert sorted_descendants(rules, table) == {0: [1, 2], 1: [2]}
    assert sorted(gate_routes(rules, table)) == [0, 1]


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_gate_that_rules_ask_nothing_about_but_its_state_has_no_routes(level):
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "ab")
    rules = RuleSet((SkipRule("1", "b", ((Condition("a", or_skipped=True),),)),), columns)
    assert gate_routes(rules, CodedTable.from_values(columns, np.full((1, 2), level))) == {}


@pytest.mark.parametrize("bound", [2.0**53, 1.6e18, -1.6e18, 1e300, 0.5])
def test_numbers_that_are_further_apart_than_one_have_a_route_above_a_bound(bound):
    edges = [bound, np.nextafter(bound, np.inf)]
    routes = GateRoutes.of(_NUMBER, [Condition("n", above=edge) for edge in edges])
    assert routes.of_values(routes.examples).tolist() == [0, 1, 2]
    wanted = np.array([0, 1, 2])
    nobody = np.full((3, 2), np.nan)
    assert routes.of_values(routes.nearest(edges[0] * np.ones(3), wanted, nobody)).tolist() == [
        *wanted
    ]
