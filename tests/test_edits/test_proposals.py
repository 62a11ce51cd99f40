"""Proposed edits and blocks: what the answers show is proposed, and chance is not."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tabsoda import CodedTable, Column, ColumnKind, Schema
from tabsoda.cli.main import main
from tabsoda.edits.blocks import find_blocks
from tabsoda.edits.proposals import propose_edits
from tabsoda.schema import Edit
from tabsoda.schema.files import load_schema

NUMBER, NOMINAL = ColumnKind.CONTINUOUS, ColumnKind.NOMINAL
YES = {1: "Yes", 2: "No"}


def numbers(**columns: np.ndarray) -> tuple[Schema, CodedTable]:
    own = tuple(Column(name, NUMBER) for name in columns)
    values = np.column_stack([*columns.values()]).astype(float)
    return Schema(own), CodedTable.from_values(own, values)


def proposed(schema: Schema, table: CodedTable, kind: str) -> dict[str, tuple[int, int]]:
    found = propose_edits(schema, table)
    return {one.edit.rule: (one.known, one.exceptions) for one in found if one.kind == kind}


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(5)


def test_orders_are_found_with_their_exceptions_and_only_the_nearest(generator) -> None:
    first = generator.integers(10, 40, 1000).astype(float)
    last = first + generator.integers(0, 10, 1000)
    now = last + generator.integers(0, 10, 1000)
    now[0], now[1] = first[0] - 1, np.nan
    schema, table = numbers(first=first, last=last, now=now, other=generator.permutation(now))
    # first <= now follows from the other two; a permuted column has no order with any.
    assert proposed(schema, table, "order") == {
        "first <= last": (1000, 0),
        "last <= now": (999, 1),
    }


def test_independent_numbers_show_nothing(generator) -> None:
    columns = {f"x{n}": generator.integers(1, 60, 2000) for n in range(8)}
    assert propose_edits(*numbers(**columns)) == ()
    # Numbers that do not overlap are ordered by chance alone.
    apart = {"low": generator.integers(1, 9, 2000), "high": generator.integers(20, 30, 2000)}
    assert propose_edits(*numbers(**apart)) == ()


@pytest.mark.parametrize("n_parts", [2, 3, 5])
def test_sums_are_found(generator, n_parts: int) -> None:
    parts = {f"part{n}": generator.integers(1, 9, 500) for n in range(n_parts)}
    found = proposed(*numbers(**parts, total=sum(parts.values())), "sum")
    assert found == {f"{' + '.join(parts)} == total": (500, 0)}


def test_bounds_come_from_zeros_and_from_the_unit_of_the_question(generator) -> None:
    days, count = generator.integers(0, 8, 500), generator.integers(0, 9, 500)
    schema, table = numbers(days=days, count=count, height=generator.integers(150, 200, 500))
    labelled = Column("days", NUMBER, label="Days per week on which you smoke")
    schema = Schema((labelled, *schema.columns[1:]))
    assert set(proposed(schema, table, "bound")) == {"0 <= days <= 7", "count >= 0"}


def select_all(generator, n_rows: int = 600) -> tuple[Schema, CodedTable]:
    own = tuple(
        Column(f"Q5_{n}", NOMINAL, (1, 2), f"Which of these do you drink? {what}", YES)
        for n, what in enumerate(("Beer", "Wine", "Tea", "None of these"), 1)
    )
    chosen = generator.random((n_rows, 3)) < 0.4
    chosen = np.column_stack([chosen, ~chosen.any(axis=1)])
    values = np.where(chosen, 0.0, 1.0)
    values[generator.random(values.shape) < 0.05] = np.nan
    return Schema(own), CodedTable.from_values(own, values)


def test_none_of_these_is_proposed_for_a_select_all_block(generator) -> None:
    schema, table = select_all(generator)
    (block,) = find_blocks(schema)
    assert (block.kind, block.names, block.chosen) == (
        "select-all",
        ("Q5_1", "Q5_2", "Q5_3", "Q5_4"),
        1,
    )
    assert block.text == "Which of these do you drink?"
    (found,) = propose_edits(schema, table)
    assert found.edit.rule == "not (Q5_4 == 1 and (Q5_1 == 1 or Q5_2 == 1 or Q5_3 == 1))"
    assert "none of these" in found.sentence
    assert not found.edit.approved


def test_blocks_need_the_same_answers_and_one_stem() -> None:
    scale = {1: "Agree", 2: "Neither", 3: "Disagree"}
    kinds = {
        "DPQ010": scale,
        "DPQ020": scale,
        "DPQ030": scale,
        "SEX": YES,
        "WORK": YES,
        "CAR": YES,
        "X1": scale,
        "X2": YES,
        "X3": scale,
    }
    columns = tuple(
        Column(name, NOMINAL, tuple(labels), level_labels=labels) for name, labels in kinds.items()
    )
    (block,) = find_blocks(Schema(columns))
    assert (block.kind, block.names) == ("grid", ("DPQ010", "DPQ020", "DPQ030"))


def test_what_the_description_says_is_not_proposed_again(generator) -> None:
    first = generator.integers(10, 40, 300)
    schema, table = numbers(first=first, now=first + generator.integers(0, 20, 300))
    assert len(propose_edits(schema, table)) == 1
    known = Schema(schema.columns, (Edit("first <= now", approved=False),))
    assert propose_edits(known, table) == ()


def test_the_command_writes_proposals_that_nobody_has_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, generator
) -> None:
    monkeypatch.chdir(tmp_path)
    first = generator.integers(10, 40, 300)
    pl.DataFrame({"first": first, "now": first + generator.integers(0, 20, 300)}).write_csv("a.csv")
    main(["edits", "a.csv", "-o", "edited.toml"])
    assert "first is never above now (300 respondents" in " ".join(capsys.readouterr().out.split())
    (edit,) = load_schema("edited.toml").edits
    assert (edit.rule, edit.approved) == ("first <= now", False)
    main(["edits", "a.csv", "-o", "accepted.toml", "--accept-all"])
    assert load_schema("accepted.toml").edits[0].approved
    capsys.readouterr()
    main(["edits", "a.csv", "--json"])
    (proposal,) = json.loads(capsys.readouterr().out)["proposals"]
    assert (proposal["kind"], proposal["known"], proposal["exceptions"]) == ("order", 300, 0)
    # An edit that is not approved is not checked either.
    with pytest.raises(SystemExit):
        main(["check", "a.csv", "--survey", "edited.toml"])


def test_inspect_lists_what_is_asked_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, generator
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({f"Q5_{n}": generator.integers(0, 2, 60) for n in range(1, 5)})
    frame.write_csv("a.csv")
    settings = ["--set", "Q5_*.kind=nominal", "--set", "Q5_*.levels=0,1"]
    main(["inspect", "a.csv", *settings])
    assert "select-all Q5_1 to Q5_4 (4 questions)" in capsys.readouterr().out
    main(["inspect", "a.csv", *settings, "--json"])
    (block,) = json.loads(capsys.readouterr().out)["blocks"]
    assert block["names"] == ["Q5_1", "Q5_2", "Q5_3", "Q5_4"]
