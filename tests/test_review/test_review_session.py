"""Decisions are signed and saved at once; nothing newer is overwritten; nonsense is refused."""

import os
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from tabsoda.errors import InputError
from tabsoda.review.session import ReviewSession, StaleVersionError
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, Rival


def condition(gate, **fields):
    blank = {"levels": [], "above": None, "up_to": None, "or_skipped": False, "or_blank": False}
    return {"gate": gate, **blank, **fields}


def test_a_decision_is_in_the_file_with_who_when_and_why(session, rules_file):
    version = session.summary()["version"]
    after = session.decide(version, ["r001"], "reject", "asked of everybody in wave 2")
    entry = tomllib.loads(rules_file.read_text())["rule"][0]
    assert entry["status"] == "rejected"
    assert entry["by"] == "Ann"
    assert entry["at"].endswith("+00:00")
    assert entry["note"] == "asked of everybody in wave 2"
    assert entry["history"] == [
        {"did": "rejected", "by": "Ann", "at": entry["at"], "why": entry["note"]}
    ]
    again = session.decide(after["version"], ["r001", "r002"], "approve")
    kept = RuleSet.from_toml(rules_file)["r001"]
    assert kept.note == "asked of everybody in wave 2"
    assert [decision.did for decision in kept.history] == ["rejected", "approved"]
    assert [rule["status"] for rule in again["rules"]] == ["approved", "approved", "proposed"]
    assert session.progress == (2, 3)


def test_undo_takes_back_one_change_after_the_other(session, rules_file):
    start = rules_file.read_text()
    first = session.decide(session.summary()["version"], ["r001"], "approve")
    middle = rules_file.read_text()
    second = session.edit(first["version"], "r003", [[condition("AGE", up_to=50)]])
    back = session.undo(second["version"])
    assert rules_file.read_text() == middle
    assert back["can_undo"]
    assert not session.undo(back["version"])["can_undo"]
    assert rules_file.read_text() == start
    with pytest.raises(InputError, match="nothing to undo"):
        session.undo(session.summary()["version"])


def test_undo_brings_back_a_column_that_an_edit_left_unused(session, rules_file):
    """AGE is described for r003 alone; without it the file has no place for its answers."""
    start = rules_file.read_text()
    edited = session.edit(session.summary()["version"], "r003", [[condition("EVER", levels=[0])]])
    assert "AGE" not in RuleSet.from_toml(rules_file).column_of
    session.undo(edited["version"])
    assert rules_file.read_text() == start


def test_a_page_left_open_overwrites_nothing(smoking, rules_file):
    ann, ben = ReviewSession(rules_file, smoking, "Ann"), ReviewSession(rules_file, smoking, "Ben")
    seen = ann.summary()["version"]
    ben.decide(ben.summary()["version"], ["r002"], "reject", "no")
    newer = rules_file.read_text()
    for change in (
        lambda: ann.decide(seen, ["r001"], "approve"),
        lambda: ann.edit(seen, "r003", [[condition("AGE", up_to=50)]]),
        lambda: ann.undo(seen),
    ):
        with pytest.raises(StaleVersionError, match=r"newer decisions.*r002, by Ben"):
            change()
    assert rules_file.read_text() == newer
    ann.decide(ann.summary()["version"], ["r001"], "approve")
    both = RuleSet.from_toml(rules_file)
    assert (both["r001"].by, both["r002"].by) == ("Ann", "Ben")


def test_an_edit_changes_rule_evidence_and_status(session, rules_file, smoking):
    approved = session.decide(session.summary()["version"], ["r003"], "approve")
    session.edit(
        approved["version"], "r003", [[condition("AGE", up_to=50)]], "the codebook says 50"
    )
    rule = RuleSet.from_toml(rules_file)["r003"]
    assert rule.any_of[0][0].up_to == 50
    assert rule.status.value == "proposed"
    assert rule.evidence.fired_blank == (smoking.table.values[:, 1] <= 50).sum()
    last = rule.history[-1]
    assert (last.did, last.why) == ("edited", "the codebook says 50")
    assert last.before == "RETIRED is skipped when AGE is at most 60"


def test_levels_keep_their_type(session, rules_file):
    session.edit(session.summary()["version"], "r001", [[condition("EVER", levels=[0, 1])]])
    assert tomllib.loads(rules_file.read_text())["rule"][0]["when"] == [
        [{"gate": "EVER", "is": [1, 2]}]
    ]


NONSENSE = {
    "nothing at all": ([], "at least one condition"),
    "an empty path": ([[]], "at least one condition"),
    "no answer": ([[condition("EVER")]], "nothing asked of 'EVER'"),
    "an answer that is none": ([[condition("EVER", levels=[7])]], "positions from 0 to 1"),
    "a negative position": ([[condition("EVER", levels=[-1])]], "positions from 0 to 1"),
    "a bound on answers": ([[condition("EVER", above=1)]], "a bound on 'EVER'"),
    "an empty range": ([[condition("AGE", above=60, up_to=20)]], "a number above 60"),
    "infinity": ([[condition("AGE", up_to=float("inf"))]], "finite"),
    "an unknown reason": ([[condition("EVER", reasons=["skip"])]], "'refused', 'dont_know'"),
    "an unknown gate": ([[condition("WEIGHT", or_skipped=True)]], "not described"),
    "a circle": ([[condition("PACKS", above=1)]], r"cycle.*NOW, PACKS"),
    "its own gate": ([[condition("NOW", levels=[0])]], "does not come before 'NOW'"),
    "an unknown field": ([[condition("EVER", levels=[0], sql="drop")]], "does not exist"),
    "no list": ("x", "list"),
    "text for a condition": ([["EVER"]], "dictionary"),
}


@pytest.mark.parametrize(("when", "told"), NONSENSE.values(), ids=NONSENSE.keys())
def test_rules_edited_into_nonsense_are_refused(session, rules_file, when, told):
    before = rules_file.read_text()
    with pytest.raises(InputError, match=told):
        session.edit(session.summary()["version"], "r001", when)
    with pytest.raises(InputError, match=told):
        session.preview("r001", when)
    assert rules_file.read_text() == before


def test_a_new_rule_is_counted_and_signed(session, rules_file, smoking):
    version = session.summary()["version"]
    when = [[condition("EVER", levels=[1])]]
    assert session.preview(None, when, "PACKS")["sentence"].startswith("PACKS is skipped when EVER")
    done = session.add(version, "PACKS", when, "codebook, page 7")
    assert done["added"] == "r004"
    rule = RuleSet.from_toml(rules_file)["r004"]
    assert rule.status.value == "proposed"
    assert (rule.history[-1].did, rule.history[-1].by, rule.note) == (
        "added",
        "Ann",
        "codebook, page 7",
    )
    never = smoking.table.values[:, 0] == 1
    blank = ~smoking.table.states.answered[:, 3]
    assert rule.evidence.fired_blank == (never & blank).sum()
    assert rule.evidence.fired_answered == (never & ~blank).sum()
    session.undo(done["version"])
    assert len(RuleSet.from_toml(rules_file)) == 3
    with pytest.raises(InputError, match="Unknown question"):
        session.add(session.summary()["version"], "NOTHING", when)


def test_a_later_gate_is_allowed_with_a_warning_and_applied(session, rules_file, smoking):
    when = [[condition("RETIRED", levels=[0])]]
    done = session.edit(session.summary()["version"], "r001", when)
    shown = next(rule for rule in done["rules"] if rule["id"] == "r001")
    assert "later gate" in [flag["kind"] for flag in shown["flags"]]
    rules = RuleSet.from_toml(rules_file)
    names = [column.name for column in rules.columns]
    assert names.index("RETIRED") < names.index("NOW")
    # RETIRED has a gate of its own, which has to come before it.
    assert names.index("AGE") < names.index("RETIRED")
    retired, now = smoking.table.values[:, 4] == 0, smoking.table.states.answered[:, 2]
    states = rules.apply(smoking.table)
    assert np.array_equal(states.skipped[:, 2], retired & ~now)
    assert shown["counts"]["fired_asked"] == (retired & now).sum()


def test_a_rival_takes_the_place_of_the_rule(smoking, rules_file):
    rules = RuleSet.from_toml(rules_file)
    rival = Rival(((Condition("AGE", up_to=30.0),),), fired_blank=10)
    rules.with_rules([replace(rules["r001"], rivals=(rival,))]).to_toml(rules_file)
    session = ReviewSession(rules_file, smoking, "Ann")
    done = session.choose_rival(session.summary()["version"], "r001", 0)
    rule = RuleSet.from_toml(rules_file)["r001"]
    assert rule.gates == ("AGE",)
    assert rule.rivals[0].gates == ("EVER",)
    assert (rule.history[-1].did, rule.history[-1].by) == ("edited", "Ann")
    with pytest.raises(InputError):
        session.choose_rival(done["version"], "r001", 5)
    with pytest.raises(InputError, match="not a number"):
        session.choose_rival(done["version"], "r001", "0")
    session.undo(done["version"])
    assert RuleSet.from_toml(rules_file)["r001"].gates == ("EVER",)


def test_a_preview_saves_nothing(session, rules_file, smoking):
    before = rules_file.read_text()
    after = session.preview("r003", [[condition("AGE", up_to=50)]])
    assert after["sentence"] == "RETIRED is skipped when AGE is at most 50"
    assert after["counts"]["fired_blank"] == (smoking.table.values[:, 1] <= 50).sum()
    assert rules_file.read_text() == before


def test_a_file_made_nonsense_by_hand_is_told_and_left(session, rules_file):
    version = session.summary()["version"]
    rules_file.write_text(rules_file.read_text().replace('"proposed"', '"maybe"', 1))
    broken = rules_file.read_text()
    with pytest.raises(InputError, match="rule 'r001'"):
        session.decide(version, ["r001"], "approve")
    assert rules_file.read_text() == broken


@pytest.mark.parametrize(
    ("action", "ids", "note", "told"),
    [
        ("delete", ["r001"], None, "Unknown decision"),
        (["approve"], ["r001"], None, "Unknown decision"),
        ("approve", ["r009"], None, "no rule 'r009'"),
        ("note", ["r001"], "x" * 5000, "too long"),
        ("note", ["r001"], 5, "not valid text"),
        ("note", ["r001"], "\ud800", "not valid text"),
    ],
)
def test_bad_decisions(session, rules_file, action, ids, note, told):
    before = rules_file.read_text()
    with pytest.raises(InputError, match=told):
        session.decide(session.summary()["version"], ids, action, note)
    assert rules_file.read_text() == before


def test_a_full_disk_loses_nothing(session, rules_file, monkeypatch):
    before = rules_file.read_text()
    version = session.summary()["version"]

    def full(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(InputError, match="No space left on device"):
            session.decide(version, ["r001"], "approve")
    assert rules_file.read_text() == before
    assert [path.name for path in rules_file.parent.iterdir()] == ["rules.toml"]
    assert session.decide(version, ["r001"], "approve")["rules"][0]["status"] == "approved"


def test_a_rejected_gate_changes_the_counts_of_what_hangs_on_it(session, smoking):
    fired = [rule["counts"]["fired_blank"] for rule in session.summary()["rules"]]
    said_no = (smoking.table.values[:, 2] == 2).sum()
    rejected = session.decide(session.summary()["version"], ["r001"], "reject")
    assert rejected["rules"][1]["counts"]["fired_blank"] == said_no < fired[1]
    again = session.undo(rejected["version"])
    assert [rule["counts"]["fired_blank"] for rule in again["rules"]] == fired
