"""Small counts are withheld everywhere, and cannot be computed from what is shown."""

import json
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.event_texts import CATALOGUE, detail
from tabsoda.events import Event
from tabsoda.report.comparison import compare_answers
from tabsoda.report.decisions import group_events
from tabsoda.report.routing import _counts as rule_counts
from tabsoda.report.state_map import binned_counts
from tabsoda.report.summary import summarise_result
from tabsoda.report.suppression import plain, withhold, withhold_in_text
from tabsoda.report.variables import describe_variables
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.rules import Condition, Evidence, SkipRule
from tabsoda.table import CodedTable
from template_fields import all_fields


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(0, 20))
def test_no_small_count_is_shown_or_can_be_computed(counts, below):
    shown = withhold(counts, below)
    assert all(one is None or one == count for one, count in zip(shown, counts, strict=True))
    assert not [one for one in shown if one is not None and 0 < one < below]
    hidden = [count for one, count in zip(shown, counts, strict=True) if one is None]
    alone = len([count for count in counts if count]) == 1
    assert len(hidden) != 1 or alone
    # Nothing is withheld without need.
    assert not hidden or any(0 < count < below for count in counts)


def test_texts_written_before_lose_their_small_counts_only():
    text = "3 of 1,200 cells (0.3 %), rule r007, temperature 0.5, 12 rows, 9"
    assert withhold_in_text(text, 10) == (
        "fewer than 10 of 1,200 cells (0.3 %), rule r007, temperature 0.5, 12 rows, fewer than 10"
    )
    assert withhold_in_text(text, 0) == text


COUNTED = st.integers(0, 60)


@given(st.data(), st.sampled_from(sorted(CATALOGUE)), st.integers(2, 20))
def test_no_small_count_of_an_event_is_shown(data, kind, below):
    """Every value of every sentence may be small; decimals, such as means over draws, are kept."""
    template = CATALOGUE[kind].detail
    pairs = {name for pair in re.findall(r"{(\w+):with (\w+)", template) for name in pair}
    counts = {
        name: data.draw(st.lists(COUNTED, min_size=2, max_size=2) if name in pairs else COUNTED)
        for name in sorted(all_fields(template))
    }
    [group] = group_events([Event(kind, None, counts)], below)
    [case] = group["cases"]
    shown = case["text"].replace(f"fewer than {below}", "")
    # The one number that is part of a template, not a value of an event.
    shown = shown.replace("1 to ", "", kind == "texts_written_as_numbers")
    assert not [n for n in map(int, re.findall(r"\d+", shown)) if 0 < n < below]
    listed = [entry for value in case["counts"].values() for entry in np.atleast_1d(value)]
    assert not [n for n in listed if isinstance(n, int | np.integer) and 0 < n < below]


@given(COUNTED, st.integers(0, 60), st.integers(0, 20))
def test_an_event_keeps_what_is_not_small(cells, of_cells, below):
    event = Event("answers_hidden", None, {"cells": cells, "of_cells": of_cells})
    [group] = group_events([event], below)
    expected = {
        name: f"fewer than {below}" if 0 < count < below else count
        for name, count in event.counts.items()
    }
    assert group["cases"][0]["counts"] == expected
    if below == 0:
        assert group["cases"][0]["text"] == detail(event)


def test_sentences_within_events_lose_their_small_counts_and_names_stay():
    old = Event.from_dict(
        {"stage": "states", "decision": "d", "column": "Q1", "detail": "3 of 1,200 cells"}
    )
    note = Event("role_guessed", "Q2", {"role": "id", "note": "4 different numbers"})
    named = Event("mined_rule_dropped", "Q3", {"rule": "Q3 if Q2 is 2", "blank": 4, "asked": 90})
    texts = [group["cases"][0]["text"] for group in group_events([old, note, named], 10)]
    assert texts == [
        "fewer than 10 of 1,200 cells",
        "id: fewer than 10 different numbers",
        "Q3 if Q2 is 2: fewer than 10 blank and 90 asked once all rules are applied",
    ]


def test_a_summary_shows_no_small_count(hostile):
    below = 30
    summary = summarise_result(hostile, strata=["=cmd()"], suppress_below=below)
    small = []

    def look(value, where):
        if isinstance(value, dict):
            for key, entry in value.items():
                look(entry, key)
        elif isinstance(value, list):
            for entry in value:
                look(entry, where)
        elif where in ("count", "answered", "missing", "skipped", "imputed") and type(value) is int:
            small.extend([value] * (0 < value < below))

    look({key: summary[key] for key in ("counts", "variables")}, "")
    assert small == []
    everything = json.dumps(summarise_result(hostile, strata=["=cmd()"])["variables"])
    assert '"strata"' in everything


def test_a_pixel_does_not_show_the_few(hostile):
    states = hostile.table.states
    missing, skipped, sizes = binned_counts(states, 25)
    for count in (missing, skipped):
        assert not ((count > 0) & (count < 25)).any()
        rest = sizes - count
        assert not ((rest > 0) & (rest < 25)).any()
    missing, skipped, _ = binned_counts(states)
    assert missing.sum() == states.missing.sum()
    assert skipped.sum() == states.skipped.sum()


def test_plain_values_are_json_without_nan():
    found = plain({"a": np.float64("nan"), "b": [np.int64(3), float("inf")], 4: np.bool_(True)})
    assert json.dumps(found, allow_nan=False) == '{"a": null, "b": [3, null], "4": true}'


def test_the_ends_of_a_distribution_are_withheld_with_the_few_at_them():
    values = np.arange(100.0)
    column = Column("x", ColumnKind.CONTINUOUS)
    drawn = values[None, :60]
    found = compare_answers(column, values, drawn, suppress_below=10)["numbers"]
    assert found["observed"]["p5"] is None
    assert found["observed"]["p25"] == 24.75
    assert found["density"]["x"][-1] <= 95
    open_one = compare_answers(column, values, drawn)["numbers"]
    assert open_one["observed"]["p5"] == 4.95
    assert open_one["density"]["x"][-1] > 98


def published(columns, skipped=None, below=10):
    """Return the summary of a result whose missing cells were imputed by their first level."""
    values = np.column_stack(columns)
    described = tuple(
        Column(f"q{number}", ColumnKind.NOMINAL, (1, 2)) for number in range(values.shape[1])
    )
    table = CodedTable.from_values(described, values, skipped)
    rows, positions = np.nonzero(table.states.missing)
    draws = np.zeros((2, rows.size))
    result = Imputations(table, ImputedCells(rows, positions, draws, draws[0], draws[0]))
    return summarise_result(result, suppress_below=below), result


def test_the_few_missing_are_not_told_by_what_remains():
    """197 and 133 of 333 answers, or their shares, would say that 3 are missing."""
    answers = np.r_[np.zeros(197), np.ones(133), np.full(3, np.nan)]
    summary, _ = published([answers])
    [question] = summary["variables"]
    assert question["states"] == {"answered": None, "missing": None, "skipped": 0}
    assert question["imputed"] is None
    assert set(question["reasons"].values()) == {None}
    assert [row["count"] for row in question["shares"]] == [None, None]
    assert [row["observed"] for row in question["shares"]] == [0.6, 0.4]
    counts = summary["counts"]
    assert (counts["answered"], counts["missing"], counts["imputed"]) == (None, None, None)
    assert (counts["rows"], counts["questions"], counts["complete_rows"]) == (333, 1, None)


def test_the_few_skipped_are_not_told_by_the_imputed():
    answers = np.r_[np.zeros(318), np.full(15, np.nan)]
    skipped = np.zeros((333, 1), dtype=bool)
    skipped[-3:] = True
    summary, _ = published([answers], skipped)
    [question] = summary["variables"]
    assert question["states"] == {"answered": 318, "missing": None, "skipped": None}
    assert question["imputed"] is None
    assert set(question["reasons"].values()) == {None}


def test_the_few_of_a_group_are_not_told_by_the_other_groups():
    answers = np.r_[np.zeros(3), np.ones(97), np.zeros(100), np.ones(60), np.full(40, np.nan)]
    group = np.r_[np.zeros(100), np.ones(160), np.tile([0.0, 1.0], 20)]
    _, result = published([answers, group])
    strata = {"q1": {"1": group == 0, "2": group == 1}}
    question = describe_variables(result, strata, 10)[0]
    assert [row["count"] for row in question["shares"]] == [103, 157]
    assert {row["count"] for one in question["strata"] for row in one["shares"]} == {None}
    everything = describe_variables(result, strata, 0)[0]["strata"]
    assert [row["count"] for row in everything[0]["shares"]] == [3, 97]


def test_a_rules_counts_add_up_to_all_rows():
    rule = SkipRule(
        "r",
        "b",
        ((Condition("a", (2,)),),),
        Evidence(151, 0, 42, 207, 0.1, 0.1, 0.1, 0.0, 0.0, 0.9),
    )
    assert rule_counts(rule, 43) == {
        "fired_blank": None,
        "fired_answered": 0,
        "silent_blank": None,
        "silent_answered": 207,
    }
