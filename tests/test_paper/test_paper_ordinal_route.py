"""Which ordinals get a latent, and an event for those that do not."""

import numpy as np

from tabsoda.events import Event, EventLog
from tabsoda.paper.ordinal_route import latent_ordinals
from tabsoda.paper.settings import EncodingSettings

COUNTS = np.array([[70, 30, 0], [69, 31, 0], [5, 5, 90]])


def test_the_limit_itself_goes_to_bits() -> None:
    events = EventLog()
    latent = latent_ordinals(COUNTS, ["a", "b", "c"], EncodingSettings(), events)
    assert latent.tolist() == [False, True, False]
    assert [(e.column, e.kind) for e in events] == [
        ("a", "ordinal_encoded_as_bits"),
        ("c", "ordinal_encoded_as_bits"),
    ]
    assert dict(events.events[1].counts) == {"share": 0.9, "limit": 0.7}


def test_another_limit_moves_the_border() -> None:
    settings = EncodingSettings(max_dominant_share=0.95)
    assert latent_ordinals(COUNTS, ["a", "b", "c"], settings, EventLog()).all()


def test_all_to_bits_is_one_event_and_none_without_ordinals() -> None:
    events = EventLog()
    settings = EncodingSettings(ordinal="bits")
    assert not latent_ordinals(COUNTS, ["a", "b", "c"], settings, events).any()
    assert list(events) == [Event("all_ordinals_encoded_as_bits", None, {"columns": 3})]
    silent = EventLog()
    assert latent_ordinals(COUNTS[:0], [], settings, silent).size == 0
    assert len(silent) == 0
