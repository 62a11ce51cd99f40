"""Results and models whose events an earlier version saved as texts."""

import json

import polars as pl
import pytest

from tabsoda.cli.rule_text import events_text
from tabsoda.event_texts import sentence
from tabsoda.reading import read_survey
from tabsoda.report.decisions import gate_conflicts, group_events
from tabsoda.results.record import read_record, write_record
from tabsoda.results.rehearsal import trial_result

EARLIER = [
    {
        "stage": "encode",
        "decision": "ordinal encoded as bits",
        "column": "q",
        "detail": "91.0% of its visible answers are one level; the limit is 70%",
    },
    {"stage": "skips", "decision": "rules mined", "column": None, "detail": "4 rules"},
    {"stage": "skips", "decision": "rules mined", "column": None, "detail": "5 rules"},
    {"stage": "routing", "decision": "left missing", "column": "q", "detail": "12 cells"},
]


@pytest.fixture
def folder(tmp_path):
    """Return the record of a result with the events of an earlier version."""
    survey = read_survey(pl.DataFrame({"q": [1, 2, None, 2] * 5, "r": [1.5, None, 2.5, 3.0] * 5}))
    write_record(trial_result(survey), tmp_path)
    content = json.loads((tmp_path / "record.json").read_text())
    content["events"] = content["survey_events"] = EARLIER
    (tmp_path / "record.json").write_text(json.dumps(content))
    return tmp_path


def test_a_result_of_an_earlier_version_is_read_and_its_decisions_are_shown(folder, tmp_path):
    result = read_record(folder)
    assert [sentence(event) for event in result.events] == [
        "q: ordinal encoded as bits (91.0% of its visible answers are one level; the limit is 70%)",
        "rules mined (4 rules)",
        "rules mined (5 rules)",
        "q: left missing (12 cells)",
    ]
    groups = group_events(result.events)
    assert [(one["stage"], one["heading"], one["times"]) for one in groups] == [
        ("encode", "ordinal encoded as bits", 1),
        ("skips", "rules mined", 2),
        ("routing", "left missing", 1),
    ]
    conflicts = gate_conflicts(result.events, None, None)
    assert [one["heading"] for one in conflicts["events"]] == ["left missing"]
    assert next(iter(events_text(result.events, 80))) == "  2 x rules mined"
    assert [event.column for event in result.survey.without_rules().events] == ["q", "q"]


def test_it_is_the_same_when_it_is_saved_again(folder, tmp_path):
    result = read_record(folder)
    again = tmp_path / "again"
    again.mkdir()
    write_record(result, again)
    assert read_record(again).events == result.events
    assert read_record(again).survey.events == result.survey.events
