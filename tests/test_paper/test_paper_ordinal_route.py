"""Which ordinals get a latent, and that leaving the latent route is told."""

import numpy as np

from tabsoda.events import EventLog
from tabsoda.paper.ordinal_route import latent_ordinals
from tabsoda.paper.settings import EncodingSettings

COUNTS = np.array([[70, 30, 0], [69, 31, 0], [5, 5, 90]])


def test_the_limit_itself_goes_to_bits() -> None:
    events = EventLog()
    latent = latent_ordinals(COUNTS, ["a", "b", "c"], EncodingSettings(), events)
    assert latent.tolist() == [False, True, False]
    assert [(e.column, e.decision) for e in events] == [
        ("a", "ordinal encoded as bits"),
        ("c", "ordinal encoded as bits"),
    ]
    assert "90.0%" in events.events[1].detail


def test_another_limit_moves_the_border() -> None:
    settings = EncodingSettings(max_dominant_share=0.95)
    assert latent_ordinals(COUNTS, ["a", "b", "c"], settings, EventLog()).all()


def test_all_to_bits_is_one_event_and_none_without_ordinals() -> None:
    events = EventLog()
    settings = EncodingSettings(ordinal="bits")
    assert not latent_ordinals(COUNTS, ["a", "b", "c"], settings, events).any()
    assert [e.decision for e in events] == ["all ordinals encoded as bits"]
    silent = EventLog()
    assert latent_ordinals(COUNTS[:0], [], settings, silent).size == 0
    assert len(silent) == 0
