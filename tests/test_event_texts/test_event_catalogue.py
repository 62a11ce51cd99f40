"""The catalogue and the code agree: kinds, and the values that each kind's sentence needs."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import tabsoda
from tabsoda.cli.inspect import _SHOWN_IN_FULL
from tabsoda.cli.rule_text import _ADDED_UP
from tabsoda.event_texts import CATALOGUE, detail, heading, sentence, stage
from tabsoda.events import Event
from tabsoda.reading.inspection import WORTH_A_LOOK
from template_fields import all_fields, required_fields

SOURCE = Path(tabsoda.__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
LOGS = {"events", "_events", "events_", "log"}
STAGES = {
    "read",
    "describe",
    "states",
    "skips",
    "encode",
    "train",
    "impute",
    "routing",
    "edits",
    "diagnose",
    "export",
}


def logged_kinds() -> dict[str, list[tuple[str, set[str]]]]:
    """Return every call that adds an event: its place and the names of its values, by kind."""
    found = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr != "add" or _last_name(node.func.value) not in LOGS:
                continue
            place = f"{path.relative_to(SOURCE)}:{node.lineno}"
            [kind] = node.args
            # A kind that is computed could not be looked for here, nor by anyone who reads a log.
            assert isinstance(kind, ast.Constant), place
            names = {keyword.arg for keyword in node.keywords} - {"column"}
            assert None not in names, place
            found[kind.value].append((place, names))
    return found


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


LOGGED = logged_kinds()


def test_every_kind_is_in_the_catalogue_and_every_kind_of_the_catalogue_is_used():
    assert len(LOGGED) > 80
    assert set(LOGGED) == set(CATALOGUE)


def test_kinds_that_code_looks_for_are_in_the_catalogue():
    compared = {
        other.value
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "event.kind"
        for other in node.comparators
        if isinstance(other, ast.Constant)
    }
    assert compared == {
        "design_in_model",
        "interaction_in_draws",
        "interaction_requested",
        "rows_sampled",
        "skips_withheld",
        "variable_derived",
    }
    assert compared | WORTH_A_LOOK | {*_ADDED_UP, *_SHOWN_IN_FULL} <= set(CATALOGUE)


@pytest.mark.parametrize("kind", sorted(CATALOGUE))
def test_every_call_gives_the_values_that_the_sentence_needs_and_no_others(kind):
    template = CATALOGUE[kind].detail
    for place, names in LOGGED[kind]:
        assert required_fields(template) <= names <= all_fields(template), place
    given = set().union(*(names for _, names in LOGGED[kind]))
    assert given == all_fields(template)


@pytest.mark.parametrize("kind", sorted(CATALOGUE))
def test_every_sentence_is_plain(kind):
    text = CATALOGUE[kind]
    assert re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", kind)
    assert text.stage in STAGES
    assert 0 < len(text.heading) <= 60
    assert not re.search(r"[{}\[\]]", text.heading)
    assert not text.heading.endswith(".")
    assert not text.detail.endswith(".")


@pytest.mark.parametrize("kind", sorted(CATALOGUE))
@pytest.mark.parametrize("number", [1, 2])
def test_every_sentence_can_be_written_with_one_and_with_several(kind, number):
    event = Event(kind, "Q7", dict.fromkeys(_numbers(kind), number) | _others(kind, number))
    written = detail(event)
    assert not re.search(r"[{}\[\]]|  | ,|,,", written)
    assert not written.startswith((",", " "))
    assert bool(written) == bool(CATALOGUE[kind].detail)
    assert sentence(event).startswith(f"Q7: {heading(event)}")
    # Either form of a counted word, never the other.
    for name, one, many in re.findall(r"\{(\w+):([^}/,]+)/([^}]+)\}", CATALOGUE[kind].detail):
        assert f"{number} {one if number == 1 else many}" in written, name
    assert stage(event) == CATALOGUE[kind].stage


def _lists(kind: str) -> set[str]:
    pairs = re.findall(r"\{(\w+):with (\w+)", CATALOGUE[kind].detail)
    return {name for pair in pairs for name in pair}


def _numbers(kind: str) -> set[str]:
    return all_fields(CATALOGUE[kind].detail) - _lists(kind)


def _others(kind: str, number: int) -> dict[str, list[int]]:
    return {name: [number] * number for name in _lists(kind)}
