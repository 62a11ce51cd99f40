"""Events as data: plain values, equal by value, unchanged by files and copies."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.events import Event, EventLog
from tabsoda.schema.column import Reason

PLAIN = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
COUNTS = st.dictionaries(st.text(min_size=1), PLAIN | st.lists(PLAIN))


@given(st.text(min_size=1), st.none() | st.text(), COUNTS)
def test_an_event_is_the_same_after_json_copy_and_pickle(kind, column, counts):
    event = Event(kind, column, counts)
    for again in (
        Event.from_dict(json.loads(json.dumps(event.to_dict()))),
        copy.deepcopy(event),
        pickle.loads(pickle.dumps(event)),
    ):
        assert again == event
        assert hash(again) == hash(event)


def test_equal_events_count_once_whatever_the_order_of_their_values():
    events = [
        Event("a", "Q1", {"cells": 1, "names": ["x", "y"]}),
        Event("a", "Q1", {"names": ("x", "y"), "cells": np.int64(1)}),
        Event("a", "Q1", {"cells": 2, "names": ["x", "y"]}),
        Event("a", "Q2", {"cells": 1, "names": ["x", "y"]}),
    ]
    assert list(dict.fromkeys(events)) == [events[0], events[2], events[3]]


def test_values_are_plain_and_cannot_be_changed():
    event = Event("a", None, {"share": np.float64(0.5), "n": np.int32(3), "reason": Reason.SKIP})
    assert [type(value) for value in event.counts.values()] == [float, int, str]
    with pytest.raises(TypeError, match="assignment"):
        event.counts["n"] = 4
    with pytest.raises(AttributeError):
        event.kind = "b"
    with pytest.raises(TypeError, match="not dict"):
        Event("a", None, {"counts": {"x": 1}})


def test_a_log_leaves_out_what_is_none_and_keeps_zero():
    log = EventLog()
    log.add("a", column="Q1", cells=0, rules=None)
    assert dict(log.events[0].counts) == {"cells": 0}


def test_a_log_reads_what_it_wrote_with_texts_and_what_an_earlier_version_wrote():
    log = EventLog.from_dicts(
        [
            {"kind": "a", "column": None, "counts": {"n": [1, 2]}, "text": "a (1, 2)"},
            {"stage": "read", "decision": "b", "column": "Q1", "detail": "c"},
        ]
    )
    assert log.events == [
        Event("a", None, {"n": (1, 2)}),
        Event("earlier_version", "Q1", {"stage": "read", "decision": "b", "detail": "c"}),
    ]
