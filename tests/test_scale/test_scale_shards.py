"""Rows in shards: the same imputations as in one call, whoever computes them."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tabsoda._internal.randomness import count_occurrences, row_keys
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.errors import InputError, OutputExistsError
from tabsoda.imputer import TabSODAImputer
from tabsoda.reading import read_survey
from tabsoda.results import result_folder
from tabsoda.results.result_folder import load_result
from tabsoda.scale import impute_shards
from tabsoda.scale.parquet_rows import ParquetRows
from tabsoda.scale.row_sample import raw_hashes, sample_positions
from tabsoda.schema.files import save_schema
from tabsoda.skips.rule_set import RuleSet

TABLES = ("point", "point_median", "imputations/001", "imputations/002", "states")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A file in which every fourth row is there twice, far apart, with rules and description."""
    folder = tmp_path_factory.mktemp("shards")
    survey = make_survey(400, 14, seed=3, nonresponse=0.2)
    # Without its case numbers, so that equal rows are equal.
    frame = survey.to_frame().drop("CASEID")
    frame = pl.concat([frame, frame[::4]])
    frame.write_parquet(folder / "survey.parquet", row_group_size=130)
    schema = type(survey.schema())(tuple(c for c in survey.schema() if c.name != "CASEID"))
    save_schema(schema, folder / "survey.toml")
    survey.rules.to_toml(folder / "rules.toml")
    return folder


@pytest.fixture(scope="module")
def imputer(place):
    """Fitted with rules, so that gates and what hangs on them are drawn, too."""
    rules = RuleSet.from_toml(place / "rules.toml")
    new = TabSODAImputer(
        quality="tiny", description=place / "survey.toml", rules=rules, device="cpu"
    )
    return new.fit(place / "survey.parquet")


@pytest.fixture(scope="module")
def in_one_call(place, imputer):
    return imputer.impute(place / "survey.parquet", m=2)


@pytest.fixture(scope="module")
def sharded(place, imputer):
    manifest = impute_shards(
        place / "survey.parquet", imputer, place / "local", m=2, shard_rows=137
    )
    return place / "local", manifest


def read(folder: Path, table: str) -> pl.DataFrame:
    return pl.read_parquet(folder / table / "*.parquet")


def test_shards_hold_what_one_call_gives(sharded, in_one_call):
    folder, manifest = sharded
    expected = {
        "point": in_one_call.point(),
        "point_median": in_one_call.point("median"),
        "imputations/001": in_one_call.complete(1),
        "imputations/002": in_one_call.complete(2),
    }
    assert len(manifest["shards"]) == 4
    for name, table in expected.items():
        found = read(folder, name)
        assert found[".id"].to_list() == list(range(1, 501))
        assert_frame_equal(found.drop(".id"), table, rel_tol=1e-5)
    counts = manifest["counts"]
    assert counts["imputed"] == len(in_one_call.cells.rows)
    assert manifest["imputed_by_variable"] == in_one_call.counts()
    skipped = sum(shard["routing"]["followers"] for shard in manifest["shards"])
    assert skipped == in_one_call.routing.followers > 0


def test_equal_rows_in_different_shards_get_different_draws(sharded):
    folder, _ = sharded
    first, states = read(folder, "imputations/001"), read(folder, "states")
    twice = states[::4][:100]
    assert_frame_equal(twice.drop(".id"), states[400:].drop(".id"))
    originals = first[::4][:100].drop(".id", "FINALWGT")
    copies = first[400:].drop(".id", "FINALWGT")
    differing = sum(int((originals[name] != copies[name]).sum()) for name in originals.columns)
    assert differing > 20


def test_occurrences_counted_outside_give_the_keys_of_one_call():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (200, 3)).astype(float)
    states = np.zeros(values.shape, dtype=np.uint8)
    whole = row_keys(values, states)
    from tabsoda._internal.randomness import row_hashes

    counted = count_occurrences(row_hashes(values, states))
    parts = [row_keys(values[p], states[p], counted[p]) for p in np.split(np.arange(200), [70, 90])]
    assert np.array_equal(np.concatenate(parts), whole)
    assert len(np.unique(whole)) == 200


@pytest.mark.slow
def test_processes_give_what_one_process_gives(place, imputer, sharded):
    impute_shards(
        place / "survey.parquet",
        imputer,
        place / "joblib",
        m=2,
        shard_rows=137,
        engine="joblib",
        jobs=2,
    )
    for name in TABLES:
        assert_frame_equal(read(place / "joblib", name), read(sharded[0], name), check_exact=True)


def test_the_sample_depends_on_what_rows_hold_alone(place, tmp_path):
    frame = pl.read_parquet(place / "survey.parquet")[:400]
    frame = frame.with_columns(pl.Series("who", [f"name {n}" for n in range(400)]))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=5).select(sorted(frame.columns))
    frame.write_parquet(tmp_path / "a.parquet")
    shuffled.write_parquet(tmp_path / "b.parquet")
    chosen = []
    for name, shard_rows in (("a", 400), ("b", 33)):
        source = ParquetRows.open(tmp_path / f"{name}.parquet")
        positions = sample_positions(source, 90, shard_rows, seed=1)
        taken = source.take(positions, shard_rows)
        assert taken.height == 90
        chosen.append(set(taken["who"]))
    assert chosen[0] == chosen[1]
    source = ParquetRows.open(tmp_path / "a.parquet")
    other = source.take(sample_positions(source, 90, 400, seed=2), 400)
    assert set(other["who"]) != chosen[0]


def test_hashes_tell_nulls_texts_and_numbers_apart():
    frame = pl.DataFrame(
        {
            "a": [1.0, 1.0, None, 0.0, 1.0],
            "b": ["x", "y", "x", "x", None],
            "c": [True, True, True, True, True],
        }
    )
    assert len(set(raw_hashes(frame, 0))) == 5
    assert raw_hashes(frame, 0)[1:3].tolist() == raw_hashes(frame[1:3], 0).tolist()


def test_fits_on_a_sample_and_resumes_after_the_last_finished_shard(place, tmp_path, monkeypatch):
    from tabsoda.scale import shard_task

    new = TabSODAImputer(quality="tiny", description=place / "survey.toml", device="cpu")
    arguments = (place / "survey.parquet", new, tmp_path / "out")
    options = {"m": 1, "shard_rows": 200, "fit_rows": 250}
    done = []
    true_tables = shard_task._tables

    def fails_in_the_second(result, imputer, shard):
        if shard.number == 1:
            raise KeyboardInterrupt
        done.append(shard.number)
        return true_tables(result, imputer, shard)

    monkeypatch.setattr(shard_task, "_tables", fails_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        impute_shards(*arguments, **options)
    assert not (tmp_path / "out" / "manifest.json").exists()
    again = TabSODAImputer(**new.get_params(deep=False))
    with pytest.raises(OutputExistsError, match="another command"):
        impute_shards(arguments[0], again, arguments[2], **{**options, "m": 2})

    def counted(result, imputer, shard):
        done.append(shard.number)
        return true_tables(result, imputer, shard)

    monkeypatch.setattr(shard_task, "_tables", counted)
    again = TabSODAImputer(**new.get_params(deep=False))
    manifest = impute_shards(arguments[0], again, arguments[2], **options)
    assert done == [0, 1, 2]
    assert read(tmp_path / "out", "point").height == 500
    [sampled] = [e for e in manifest["events"] if e["kind"] == "fitted_on_sample"]
    assert sampled["counts"] == {"rows": 250, "of_rows": 500}
    assert "(250 of 500 rows," in sampled["text"]
    written = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert written["counts"] == manifest["counts"]
    assert set(written["outputs_sha256"]) == set(manifest["outputs_sha256"])
    before = read(tmp_path / "out", "imputations/001")
    with pytest.raises(OutputExistsError, match="finished result"):
        impute_shards(arguments[0], again, arguments[2], **options)
    other = TabSODAImputer(**{**new.get_params(deep=False), "random_state": 9})
    impute_shards(arguments[0], other, arguments[2], **options, force=True)
    assert not before.equals(read(tmp_path / "out", "imputations/001"))


def test_bad_input_is_refused_before_any_work(place, tmp_path):
    data = place / "survey.parquet"
    with pytest.raises(InputError, match=r"cannot be read in shards"):
        impute_shards(tmp_path / "survey.csv", None, tmp_path / "out")
    for shard_rows in (0, 10.5, "10"):
        with pytest.raises(InputError, match="rows in a shard"):
            impute_shards(data, None, tmp_path / "out", shard_rows=shard_rows)
    for wrong in ({"fit_rows": 1}, {"m": "2"}, {"m": -1}):
        with pytest.raises(InputError, match=f"parameter {next(iter(wrong))} is invalid"):
            impute_shards(data, None, tmp_path / "out", **wrong)
    with pytest.raises(InputError, match=r"Found: 'foo'. Expected: one of local, joblib, ray"):
        impute_shards(data, None, tmp_path / "out", engine="foo")
    frame = pl.read_parquet(data)
    frame.with_row_index(".id").write_parquet(tmp_path / "named.parquet")
    with pytest.raises(InputError, match=r"\.id"):
        impute_shards(tmp_path / "named.parquet", None, tmp_path / "out")
    pl.DataFrame({"AGE": [True]}).write_parquet(tmp_path / "mask.parquet")
    with pytest.raises(InputError, match="different numbers of rows"):
        impute_shards(data, None, tmp_path / "out", skip_mask=tmp_path / "mask.parquet")
    (tmp_path / "cut.parquet").write_bytes(data.read_bytes()[:500])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        impute_shards(tmp_path / "cut.parquet", None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_value_that_a_later_shard_alone_holds_is_named(place, imputer, tmp_path):
    frame = pl.read_parquet(place / "survey.parquet")
    survey = read_survey(frame, place / "survey.toml")
    name = next(c.name for c in survey.schema.questions if c.is_categorical)
    wrong = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 450).then(99).otherwise(pl.col(name)).alias(name)
    )
    wrong.write_parquet(tmp_path / "wrong.parquet")
    with pytest.raises(InputError, match="'99'") as raised:
        impute_shards(tmp_path / "wrong.parquet", imputer, tmp_path / "out", shard_rows=137)
    assert name in str(raised.value)
    manifest = impute_shards(
        tmp_path / "wrong.parquet",
        imputer,
        tmp_path / "lenient",
        m=0,
        shard_rows=137,
        unlisted="missing",
    )
    [taken] = [e for e in manifest["events"] if e["kind"] == "unlisted_values_taken_as_missing"]
    assert (taken["column"], taken["counts"]) == (name, {"values": ["99"], "cells": [1]})


def test_a_sharded_result_reads_back_as_the_result_of_one_call(sharded, in_one_call):
    folder, manifest = sharded
    loaded = load_result(folder)
    assert loaded.table.names == in_one_call.table.names
    assert loaded.table.states == in_one_call.table.states
    assert np.array_equal(loaded.table.values, in_one_call.table.values, equal_nan=True)
    for name in ("rows", "positions"):
        assert np.array_equal(getattr(loaded.cells, name), getattr(in_one_call.cells, name))
    for number in (1, 2):
        assert_frame_equal(loaded.complete(number), in_one_call.complete(number))
    assert_frame_equal(loaded.point("median"), in_one_call.point("median"))
    assert loaded.routing == in_one_call.routing
    assert loaded.routing.mean_skipped > 0
    assert manifest["routing"] == loaded.routing.to_dict()
    assert loaded.settings == json.loads(json.dumps(in_one_call.settings))
    assert loaded.history == in_one_call.history


def test_what_comes_after_imputing_takes_a_sharded_result(sharded, in_one_call, tmp_path):
    folder, _ = sharded
    formula = "AGE ~ C(SEX)"
    found = load_result(folder).pool(formula)
    expected = in_one_call.pool(formula)
    np.testing.assert_allclose(found.estimates, expected.estimates)
    main(["report", str(folder), "-o", str(tmp_path / "report.html")])
    summary = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert summary["counts"]["imputed"] == in_one_call.cells.rows.size
    assert summary["source"] == "survey.parquet"
    main(["export", str(folder), "--to", "parquet", "-o", str(tmp_path / "exported")])
    long = pl.read_parquet(tmp_path / "exported" / "imputations.parquet")
    assert long.height == 3 * 500


def test_a_changed_shard_is_noticed(sharded, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(sharded[0], folder)
    part = folder / "record" / "cells" / "part-00001.parquet"
    pl.read_parquet(part).with_columns(mode=0.0).write_parquet(part)
    with pytest.raises(InputError, match="was changed after it was written"):
        load_result(folder)


def test_a_result_beyond_memory_is_refused_before_it_is_read(sharded, monkeypatch):
    monkeypatch.setattr(result_folder, "available_memory", lambda: 10_000)
    with pytest.raises(InputError, match=r"500 rows that take .* one draw at a time"):
        load_result(sharded[0])


def test_a_full_disk_is_an_error_and_the_same_call_resumes(place, sharded):
    import resource

    folder = place / "full"
    new = TabSODAImputer(
        quality="tiny",
        description=place / "survey.toml",
        rules=RuleSet.from_toml(place / "rules.toml"),
        device="cpu",
    )
    arguments = (place / "survey.parquet", new, folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may grow beyond it, and the model's would.
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(InputError, match=r"full' cannot be written to.*same command again"):
            impute_shards(*arguments, m=2, shard_rows=137)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (folder / "manifest.json").exists()
    impute_shards(*arguments, m=2, shard_rows=137)
    for table in TABLES:
        assert_frame_equal(read(folder, table), read(sharded[0], table))


@pytest.mark.parametrize(
    "content",
    [
        {"outputs_sha256": {}},
        {"outputs_sha256": {}, "counts": {"rows": 1}, "options": {"draws": "x"}},
        {"outputs_sha256": {"record/record.json": 3}},
    ],
)
def test_a_manifest_that_was_tampered_with_is_refused(tmp_path, content):
    manifest = {"format": "shards 2", **content}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot be read|is incomplete"):
        load_result(tmp_path)
