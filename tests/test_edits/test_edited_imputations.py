"""Imputations with edits: draws, point tables, saved models, shards, commands."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tabsoda import InputError, RuleSet, Schema, TabSODAImputer, check, load_result, read_survey
from tabsoda.cli.main import main
from tabsoda.edits.edit_set import EditSet
from tabsoda.schema import Column, ColumnKind, Derivation, Edit
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule

NUMBER, NOMINAL = ColumnKind.CONTINUOUS, ColumnKind.NOMINAL
QUESTIONS = (
    Column("AGE", NUMBER, minimum=18),
    Column("NEVER", NOMINAL, (0, 1)),
    Column("SMOKES", NOMINAL, (1, 2)),
    Column("FIRST", NUMBER),
    Column("A_DAY", NUMBER),
    Column("ADULTS", NUMBER),
    Column("KIDS", NUMBER),
    Column("HOUSEHOLD", NUMBER),
)
EDITS = (
    Edit("FIRST <= AGE"),
    Edit("ADULTS + KIDS == HOUSEHOLD"),
    Edit("not (NEVER == 1 and SMOKES == 1)", "never smokers do not smoke"),
)
SCHEMA = Schema(QUESTIONS, EDITS, (Derivation.of("YEARS = AGE - FIRST"),))
RULES = RuleSet(
    tuple(
        SkipRule(name, target, ((Condition("SMOKES", (2,)),),), status=RuleStatus.APPROVED)
        for name, target in (("r1", "FIRST"), ("r2", "A_DAY"))
    ),
    QUESTIONS,
)
SETTINGS = {"training": {"max_steps": 30}, "trees": {"effort": "none"}}


def make_frame(n_rows: int = 400, seed: int = 0, hidden: float = 0.15) -> pl.DataFrame:
    """Answers that satisfy all edits and rules, some of them missing."""
    generator = np.random.default_rng(seed)
    age = generator.integers(18, 80, n_rows)
    never = generator.integers(0, 2, n_rows)
    smokes = np.where((never == 0) & (generator.random(n_rows) < 0.7), 1, 2)
    adults, kids = generator.integers(1, 4, n_rows), generator.integers(0, 4, n_rows)
    columns = {
        "AGE": age,
        "NEVER": never,
        "SMOKES": smokes,
        "FIRST": np.minimum(age, generator.integers(10, 45, n_rows)),
        "A_DAY": generator.integers(1, 40, n_rows),
        "ADULTS": adults,
        "KIDS": kids,
        "HOUSEHOLD": adults + kids,
    }
    blank = generator.random((n_rows, len(columns))) < hidden
    for position, name in enumerate(columns):
        if name in ("FIRST", "A_DAY"):
            blank[:, position] |= smokes == 2
    return pl.DataFrame(
        {
            name: pl.Series(name, values.astype(float)).set(pl.Series(blank[:, position]), None)
            for position, (name, values) in enumerate(columns.items())
        }
    )


def make_imputer(**parameters: object) -> TabSODAImputer:
    return TabSODAImputer(
        settings=SETTINGS, description=SCHEMA, rules=RULES, random_state=3, **parameters
    )


@pytest.fixture(scope="module")
def imputer() -> TabSODAImputer:
    return make_imputer().fit(make_frame())


@pytest.fixture(scope="module")
def result(imputer: TabSODAImputer):
    return imputer.impute(make_frame(), m=4)


def violations(table: pl.DataFrame, schema: Schema = SCHEMA) -> int:
    survey = read_survey(table, schema)
    edits = EditSet.of(survey.schema, survey.table)
    return int(edits.violated(edits.named(survey.table.values)).sum())


def tables(result) -> list[pl.DataFrame]:
    return [*result, result.point("mode"), result.point("median")]


@pytest.mark.slow
def test_without_edits_the_draws_violate_them() -> None:
    plain = make_imputer().set_params(description=Schema(QUESTIONS)).fit(make_frame())
    assert sum(violations(table) for table in plain.impute(make_frame(), m=4)) > 15


def test_every_table_satisfies_every_edit_and_every_rule(result) -> None:
    observed = make_frame()
    for table in tables(result):
        assert violations(table) == 0
        found = check(read_survey(table.drop("YEARS"), Schema(QUESTIONS)).table, RULES)
        assert found.n_answered_although_skipped == 0
        assert not found.unexplained
        for name in observed.columns:
            known = observed[name].is_not_null()
            assert table[name].filter(known).equals(observed[name].filter(known))
    assert result.edits.unsatisfied == {}
    assert result.edits.mean_repaired > 3


def test_a_derived_variable_follows_its_parts_and_is_skipped_with_them(result) -> None:
    for number in (1, 2):
        table = result.complete(number)
        assert (table["YEARS"] - (table["AGE"] - table["FIRST"])).abs().max() < 1e-9
        assert table["YEARS"].is_null().equals(table["FIRST"].is_null())
        place = result.table.names.index("YEARS")
        skipped = result.skipped_in(number)[:, place]
        assert skipped.tolist() == table["YEARS"].is_null().to_list()


def test_a_gate_takes_another_route_where_an_edit_requires_it() -> None:
    known = make_frame(hidden=0.0).filter((pl.col("NEVER") == 1) | (pl.col("SMOKES") == 1))
    blank = pl.lit(None).cast(float)
    gates = [blank.alias(name) for name in ("SMOKES", "FIRST", "A_DAY")]
    both = pl.concat([known, known.head(80).with_columns(gates)])
    # The gate alone is imputed, and the edits leave it one answer: to skip, or not to skip.
    edits = (Edit("not (NEVER == 1 and SMOKES == 1)"), Edit("NEVER == 1 or SMOKES == 1"))
    only = replace(SCHEMA, edits=edits)
    result = make_imputer().set_params(description=only).fit(both).impute(both, m=3)
    assert set(result.edits.repaired) == {edit.rule for edit in edits}
    assert result.edits.unsatisfied == {}
    for table in tables(result):
        smokes = table["NEVER"] == 0
        assert (table["SMOKES"] == 1).equals(smokes)
        assert table["FIRST"].is_not_null().equals(smokes)
        assert table["A_DAY"].is_not_null().equals(smokes)


def test_results_do_not_depend_on_order_or_on_other_rows(imputer: TabSODAImputer) -> None:
    # Equal rows differ by their order of appearance.
    frame = make_frame().unique(maintain_order=True)
    whole = imputer.impute(frame, m=2)
    order = np.random.default_rng(1).permutation(frame.height)
    mixed = imputer.impute(frame[order], m=2)
    assert mixed.complete(2).equals(whole.complete(2)[order])
    part = imputer.impute(frame.head(90), m=1)
    assert part.complete(1).equals(whole.complete(1).head(90))


def test_other_frames_and_files_get_derived_variables_as_well(tmp_path: Path) -> None:
    frame = make_frame(120).to_pandas()
    fitted = make_imputer().fit(frame).set_output(transform="pandas")
    names = [*frame.columns, "YEARS"]
    assert list(fitted.transform(frame).columns) == list(fitted.get_feature_names_out()) == names
    make_frame(120).write_parquet(tmp_path / "survey.parquet")
    from_file = make_imputer().fit(tmp_path / "survey.parquet")
    # A frame has the columns of the file; nobody has to compute the derived variable first.
    assert list(from_file.impute(frame, m=1).complete(1).columns) == names


@pytest.mark.slow
def test_the_engine_of_the_paper_satisfies_edits_too() -> None:
    tiny = {
        "backbone": {"width": 16},
        "training": {"max_steps": 8, "min_epoch_steps": 4},
        "sampler": {"steps": 3, "chains": 2},
    }
    parameters = {"preset": "small", "settings": tiny, "description": SCHEMA, "rules": RULES}
    frame = make_frame(200)
    result = TabSODAImputer(**parameters).fit(frame).impute(frame, m=1)
    assert [violations(table) for table in tables(result)] == [0, 0, 0]
    assert result.edits.mean_repaired > 10


def test_a_saved_model_keeps_its_edits(tmp_path: Path, imputer: TabSODAImputer) -> None:
    imputer.save(tmp_path / "model")
    new = make_frame(80, seed=9)
    loaded = TabSODAImputer.load(tmp_path / "model")
    again = loaded.impute(new, m=2)
    assert again.complete(2).equals(imputer.impute(new, m=2).complete(2))
    assert loaded.edit_policy == "missing"
    assert violations(again.complete(1)) == 0


def test_a_result_keeps_its_counts(tmp_path: Path, result) -> None:
    manifest = result.save(tmp_path / "out")
    assert manifest["edits"] == result.edits.to_dict()
    loaded = load_result(tmp_path / "out")
    assert loaded.edits == result.edits
    assert loaded.complete(1).equals(result.complete(1))


def impossible() -> pl.DataFrame:
    """Rows in which the observed answers leave no possible number of children."""
    frame = make_frame(hidden=0.05)
    first = pl.int_range(pl.len()) < 5
    return frame.with_columns(
        pl.when(first).then(pl.lit(3.0)).otherwise("ADULTS").alias("ADULTS"),
        pl.when(first).then(None).otherwise("KIDS").alias("KIDS"),
        pl.when(first).then(pl.lit(1.0)).otherwise("HOUSEHOLD").alias("HOUSEHOLD"),
    )


@pytest.mark.parametrize("policy", ["missing", "unconstrained"])
def test_what_no_value_satisfies_is_counted_and_left_as_the_user_says(policy: str) -> None:
    frame = impossible()
    result = make_imputer(edit_policy=policy).fit(frame).impute(frame, m=2)
    assert result.edits.unsatisfied == {"ADULTS + KIDS == HOUSEHOLD": 5}
    table = result.complete(1)
    kinds = {event.kind for event in result.events}
    assert "edit_not_satisfied" in kinds
    if policy == "missing":
        assert table["KIDS"].head(5).null_count() == 5
        assert result.edits.left_missing == {"KIDS": 5}
        assert violations(table) == 0
    else:
        assert table["KIDS"].null_count() == 0
        assert violations(table) == 5
    assert table["ADULTS"].head(5).to_list() == [3.0] * 5


@pytest.mark.slow
def test_a_derived_variable_that_cannot_be_computed_stays_missing() -> None:
    columns = tuple(Column(name, NUMBER) for name in ("A", "B", "EMPTY"))
    formulas = ("RATIO = A / B", "WITH_EMPTY = A + EMPTY")
    schema = Schema(columns, derivations=tuple(map(Derivation.of, formulas)))
    generator = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "A": pl.Series(generator.normal(size=120)).set(pl.Series(np.arange(120) < 9), None),
            "B": np.where(np.arange(120) < 5, 0.0, generator.integers(1, 9, 120)),
            "EMPTY": pl.Series([None] * 120, dtype=pl.Float64),
        }
    )
    fitted = TabSODAImputer(settings=SETTINGS, description=schema).fit(frame)
    result = fitted.impute(frame, m=2)
    table = result.complete(1)
    assert table["A"].null_count() == 0
    assert table["RATIO"].is_null().to_list() == [True] * 5 + [False] * 115
    assert result.edits.left_missing == {"RATIO": 5}
    assert table["WITH_EMPTY"].null_count() == 120
    assert not result.skipped_in(1).any()


@pytest.mark.slow
def test_observed_violations_are_counted_and_not_changed() -> None:
    frame = make_frame().with_columns(
        pl.when(pl.int_range(pl.len()) < 3).then(pl.lit(99.0)).otherwise("FIRST").alias("FIRST"),
        pl.when(pl.int_range(pl.len()) < 3).then(pl.lit(20.0)).otherwise("AGE").alias("AGE"),
        pl.when(pl.int_range(pl.len()) < 3).then(pl.lit(1.0)).otherwise("SMOKES").alias("SMOKES"),
        pl.when(pl.int_range(pl.len()) < 3).then(pl.lit(0.0)).otherwise("NEVER").alias("NEVER"),
    )
    result = make_imputer().fit(frame).impute(frame, m=1)
    assert result.edits.observed == {"FIRST <= AGE": 3}
    assert result.complete(1)["FIRST"].head(3).to_list() == [99.0] * 3
    assert result.edits.unsatisfied == {}


def test_parameters_are_checked() -> None:
    with pytest.raises(InputError, match=r"edit_policy.*Expected: missing, unconstrained"):
        make_imputer(edit_policy="never").fit(make_frame())
    wrong = replace(SCHEMA, edits=(Edit("AGE < FIRST - 100"),))
    with pytest.raises(InputError, match="contradicts the data"):
        make_imputer().set_params(description=wrong).fit(make_frame())
    never = replace(SCHEMA, edits=(Edit("not (SMOKES == 1 and FIRST >= 0)"),))
    with pytest.raises(InputError, match=r"contradicts the routing.*rule r1 skips"):
        make_imputer().set_params(description=never).fit(make_frame())
    bounded = replace(QUESTIONS[0], maximum=80)
    beyond = Schema((bounded, *QUESTIONS[1:]), (Edit("AGE > 80 or AGE < 10"),))
    with pytest.raises(InputError, match="contradicts the data"):
        make_imputer().set_params(description=beyond).fit(make_frame())


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from tabsoda.schema.files import save_schema

    monkeypatch.chdir(tmp_path)
    impossible().write_parquet("survey.parquet")
    save_schema(SCHEMA, "survey.toml")
    RULES.to_toml("rules.toml")
    main(["check", "survey.parquet", "--survey", "survey.toml"])
    assert (
        "No observed answers violate the 5 bounds, edits and formulas." in capsys.readouterr().out
    )
    with pytest.raises(SystemExit) as stopped:
        main(["check", "survey.parquet"])
    assert stopped.value.code == 2
    options = ["--survey", "survey.toml", "--rules", "rules.toml", "--quality", "tiny", "-m", "2"]
    capsys.readouterr()
    main(["impute", "survey.parquet", *options, "-o", "out", "--edits", "unconstrained"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "5 times no value satisfied ADULTS + KIDS == HOUSEHOLD: they are imputed" in printed
    main(["check", "out/imputations/001.parquet", "--survey", "survey.toml", "--json"])
    found = json.loads(capsys.readouterr().out)["edits"]
    assert {one["title"]: one["violated"] for one in found if one["violated"]} == {
        "ADULTS + KIDS == HOUSEHOLD": 5
    }
    assert next(one for one in found if one["violated"])["example_rows"] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("shard_rows", [70])
def test_shards_repair_as_the_whole_file_does(tmp_path: Path, imputer, result, shard_rows) -> None:
    from tabsoda.scale import impute_shards

    make_frame().write_parquet(tmp_path / "survey.parquet")
    manifest = impute_shards(
        tmp_path / "survey.parquet", imputer, tmp_path / "out", m=2, shard_rows=shard_rows
    )
    whole = pl.read_parquet(tmp_path / "out/imputations/002/*.parquet").drop(".id")
    assert whole.equals(result.complete(2).select(whole.columns))
    alone = imputer.impute(make_frame(), m=2).edits
    assert manifest["edits"] == alone.to_dict()
    assert load_result(tmp_path / "out").edits == alone


def test_contradicting_edits_stop_impute_before_the_fit(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{20 + n % 40},{n % 7}" for n in range(200))
    Path("a.csv").write_text(f"AGE,CHILDREN\n{rows}\n,3\n", encoding="utf-8")
    edits = "".join(f'[[edit]]\nrule = "{rule}"\n' for rule in ("AGE < CHILDREN", "AGE > CHILDREN"))
    main(["inspect", "a.csv", "-o", "a.toml"])
    with Path("a.toml").open("a", encoding="utf-8") as description:
        description.write(edits)
    capsys.readouterr()

    with pytest.raises(SystemExit) as stopped:
        main(["impute", "a.csv", "--survey", "a.toml", "-o", "out", "--quality", "tiny"])

    assert stopped.value.code == 2
    assert "contradict" in capsys.readouterr().err
    assert not Path("out").exists()
