"""A result on disk is the result in memory; a folder that is none is told apart."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tabsoda.errors import InputError
from tabsoda.results.record import read_record, write_record
from tabsoda.results.result_folder import load_manifest, load_result
from tabsoda.routing.record import RoutingRecord


def test_what_is_read_back_is_what_was_imputed(both):
    result, folder = both
    loaded = load_result(folder)
    assert len(loaded) == len(result) == 3
    assert loaded.table.columns == result.table.columns
    assert loaded.table.states == result.table.states
    assert np.array_equal(loaded.table.values, result.table.values, equal_nan=True)
    for name in ("rows", "positions", "draws", "mode", "median"):
        one, other = getattr(loaded.cells, name), getattr(result.cells, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other, equal_nan=True)
    for number in (1, 2, 3):
        assert loaded.complete(number).equals(result.complete(number))
    assert loaded.point().equals(result.point())
    assert loaded.point("median").equals(result.point("median"))
    # JSON has lists for tuples.
    assert loaded.settings == json.loads(json.dumps(result.settings))
    assert loaded.history == json.loads(json.dumps(result.history))
    assert loaded.events == result.events
    assert loaded.counts() == result.counts()


def test_the_survey_comes_back_with_its_letters_and_labels(both):
    result, folder = both
    survey, before = load_result(folder).survey, result.survey
    assert survey.frame.equals(before.frame)
    assert survey.frame.schema == before.frame.schema
    assert survey.schema == before.schema
    assert survey.events == before.events
    assert survey.source == before.source
    assert survey.tags.keys() == before.tags.keys() == {"cigarettes"}
    assert survey.tags["cigarettes"].tolist() == before.tags["cigarettes"].tolist()


def test_a_skip_inside_a_draw_comes_back(both, tmp_path):
    result, _ = both
    draws = result.cells.draws.copy()
    draws[1, 0] = np.nan
    routing = RoutingRecord(followers=4, skipped=(0, 1, 0), counts={("R1", "skipped"): 1})
    cells = replace(result.cells, draws=draws)
    write_record(replace(result, cells=cells, routing=routing), tmp_path)
    loaded = read_record(tmp_path)
    assert np.array_equal(loaded.cells.draws, draws, equal_nan=True)
    assert loaded.routing == routing


def test_a_result_without_draws(both, tmp_path):
    result, _ = both
    none = replace(result.cells, draws=result.cells.draws[:0])
    write_record(replace(result, cells=none), tmp_path)
    loaded = read_record(tmp_path)
    assert len(loaded) == 0
    assert loaded.cells.draws.shape == (0, len(result.cells.rows))


def test_the_manifest_tells_its_form_and_counts(both):
    _, folder = both
    manifest = load_manifest(folder)
    assert manifest["format"] == 1
    assert "record/cells.parquet" in manifest["outputs_sha256"]


@pytest.fixture
def copy(both, tmp_path):
    return shutil.copytree(both[1], tmp_path / "out")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_result(tmp_path / "nothing")


def test_a_folder_that_is_no_result(tmp_path):
    with pytest.raises(InputError, match=r"does not contain a result.*no manifest\.json"):
        load_result(tmp_path)
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    with pytest.raises(InputError, match=r"does not contain a result.*another manifest\.json"):
        load_result(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        load_result(tmp_path)


def test_an_unfinished_result(copy):
    (copy / "manifest.json").unlink()
    (copy / ".checkpoint").mkdir()
    with pytest.raises(InputError, match="is not finished"):
        load_result(copy)


@pytest.mark.parametrize(("form", "told"), [(None, "format 0"), (99, "format 99")])
def test_a_result_of_another_version(form, told, copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["format"] = form
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=f"does not read.*{told}.*Expected: format 1"):
        load_result(copy)


def test_a_manifest_without_the_options_of_the_run(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["options"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=f"'{copy}' cannot be read.*'options'.*Impute again"):
        load_result(copy)


def test_a_file_that_is_gone_or_was_changed(copy):
    pl.read_parquet(copy / "point.parquet").head(2).write_parquet(copy / "point.parquet")
    with pytest.raises(InputError, match=r"point\.parquet' was changed after it was written"):
        load_result(copy)
    (copy / "point.parquet").unlink()
    with pytest.raises(InputError, match=r"is incomplete. Found: no point\.parquet"):
        load_result(copy)


def test_a_cut_off_record_that_no_hash_guards_is_told(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["outputs_sha256"] = {}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    cells = copy / "record" / "cells.parquet"
    cells.write_bytes(cells.read_bytes()[:40])
    with pytest.raises(InputError, match="cannot be read"):
        load_result(copy)
