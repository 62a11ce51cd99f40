"""How sentences of events read."""

import pytest

from tabsoda.event_texts import (
    FIRST_OF_SHARDS,
    detail,
    heading,
    sentence,
    stage,
    to_dicts_with_text,
)
from tabsoda.event_texts.template import render
from tabsoda.events import Event
from tabsoda.scale.manifest import merged_events


@pytest.mark.parametrize(
    ("kind", "counts", "expected"),
    [
        (
            "ordinal_encoded_as_bits",
            {"share": 0.9, "limit": 0.9},
            "90.0% of its visible answers are one level; the limit is 90%",
        ),
        (
            "candidate_rules_rejected",
            {"purity": 3, "association": 1200},
            "3 by purity, 1,200 by association",
        ),
        ("candidate_rules_rejected", {"support": 2}, "2 by support"),
        (
            "column_guessed",
            {"taken_as": "nominal", "confidence": "likely", "note": "2 texts"},
            "nominal, likely: 2 texts",
        ),
        ("column_guessed", {"role": "id", "taken_as": "nominal"}, "id, nominal"),
        (
            "cells_left_missing",
            {"cells": 1, "rules": ["r001", "r002"]},
            "1 cell: any answer would break r001, r002",
        ),
        (
            "cells_left_missing",
            {"cells": 2, "n_rules": 7},
            "2 cells: any answer would break one of 7 rules",
        ),
        (
            "predictor_blended_in",
            {"predictor": "trees", "ordinals": 0.256},
            "average share of the trees, 0.26 in ordinals",
        ),
        (
            "unlisted_values_taken_as_missing",
            {"values": ["x", "y"], "cells": [1, 2], "different": 8},
            "x (1 cell), y (2 cells), 8 different in all",
        ),
        (
            "states_kept_despite_drawn_gates",
            {"gates": 1, "followers": 1},
            "1 missing gate and 1 dependent cell, all imputed",
        ),
        ("delimiter_found", {"delimiter": "\t"}, r"'\t' instead of a comma"),
        ("text_among_numbers", {"texts": ["n/a", "-"]}, "'n/a', '-'; list as a code"),
        ("whole_numbers_kept_whole", {}, ""),
    ],
)
def test_details(kind, counts, expected):
    written = detail(Event(kind, "Q7", counts))
    assert written.startswith(expected)
    assert bool(written) == bool(expected)


def test_a_value_may_look_like_a_part_of_a_template():
    assert render("{a}[, {b}]", {"a": "{b}[x]", "b": "}"}) == "{b}[x], }"


def test_events_of_an_earlier_version_keep_their_texts():
    saved = {
        "stage": "train",
        "decision": "temperature chosen",
        "column": "Q7",
        "detail": "1: 3 of 4 held-out answers right",
    }
    event = Event.from_dict(saved)
    assert (stage(event), heading(event), detail(event)) == (
        "train",
        "temperature chosen",
        "1: 3 of 4 held-out answers right",
    )
    assert Event.from_dict(event.to_dict()) == event


def test_a_kind_that_is_not_known_is_still_shown_with_its_values():
    event = Event("seen_by_a_later_version", None, {"cells": 1200, "names": ["a", "b"]})
    assert sentence(event) == "seen by a later version (cells: 1,200, names: a, b)"
    assert stage(event) == "other"


def test_a_known_kind_without_its_values_lists_those_it_has():
    assert detail(Event("empty_lines_dropped", None, {"cells": 4})) == "cells: 4"


def test_events_of_several_shards_say_so():
    event = Event("whole_numbers_kept_whole", "age", {FIRST_OF_SHARDS: 3})
    assert detail(event) == "in the first of 3 shards"
    event = Event("answers_clipped_for_network", "age", {"answers": 1, FIRST_OF_SHARDS: 3})
    assert detail(event).endswith("unchanged in the result; in the first of 3 shards")


def test_json_holds_the_values_and_the_text():
    assert to_dicts_with_text([Event("column_constant", "wave", {"answers": 300})]) == [
        {
            "kind": "column_constant",
            "column": "wave",
            "counts": {"answers": 300},
            "text": "wave: constant (300 equal answers)",
        }
    ]


def test_a_decision_that_a_shard_took_twice_stays_two_decisions():
    def entry(reason):
        return Event("gate_drawn_to_fit_followers", "a", {"reason": reason}).to_dict()

    records = [{"events": [entry("refused"), entry("dont_know")]}, {"events": [entry("refused")]}]
    assert [dict(event.counts) for event in merged_events(records)] == [
        {"reason": "refused", FIRST_OF_SHARDS: 2},
        {"reason": "dont_know"},
    ]
