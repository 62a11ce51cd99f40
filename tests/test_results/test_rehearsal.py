"""The trial result takes every type a file can have, and leaves nothing behind."""

import shutil
from collections import namedtuple
from datetime import date

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.errors import InputError
from tabsoda.results.record import read_record, write_record
from tabsoda.results.rehearsal import _needed_bytes, rehearse, trial_result
from tabsoda.results.saving import write_tables


@pytest.fixture
def survey():
    n = 120
    generator = np.random.default_rng(3)
    blank = pl.Series(generator.random(n) < 0.3)
    words = pl.Series(generator.choice(["a", "b", "c"], n))
    frame = pl.DataFrame(
        {
            "person": np.arange(n),
            "day": [date(2020, 1, 1)] * n,
            "small": pl.Series(generator.integers(0, 9, n)).cast(pl.Int8),
            "number": generator.normal(size=n),
            "yes": generator.random(n) < 0.5,
            "word": words,
            "enum": words.cast(pl.Enum(["a", "b", "c"])),
            "category": words.cast(pl.Categorical),
            "nobody": pl.Series([None] * n, dtype=pl.Float64),
        }
    )
    holed = frame.with_columns(
        pl.when(~blank).then(pl.col(name)).alias(name)
        for name in ("small", "number", "yes", "word", "enum", "category")
    )
    described = [
        {"name": "person", "type": "continuous", "role": "id"},
        {"name": "day", "type": "nominal", "role": "id", "levels": []},
        {"name": "small", "type": "continuous"},
        {"name": "number", "type": "continuous"},
        {"name": "yes", "type": "nominal", "levels": [0, 1]},
        {"name": "word", "type": "nominal", "levels": ["a", "b", "c"]},
        {"name": "enum", "type": "ordinal", "levels": ["a", "b", "c"]},
        {"name": "category", "type": "nominal", "levels": ["a", "b", "c"]},
        {"name": "nobody", "type": "continuous"},
    ]
    return read_survey(holed, described)


def test_a_trial_is_written_read_back_and_removed(survey, tmp_path):
    rehearse(survey, tmp_path, 5, settings={"em": {"rounds": 2}})
    assert not list(tmp_path.iterdir())
    trial = trial_result(survey)
    write_record(trial, tmp_path)
    again = read_record(tmp_path)
    assert again.complete(1).equals(trial.complete(1))
    assert again.point("mode").equals(trial.point("mode"))
    filled = trial.point("median")
    for name in ("small", "number", "yes", "word", "enum", "category"):
        assert filled[name].null_count() == 0
        # A draw skips some cells.
        assert trial.complete(1)[name].null_count() <= survey.frame[name].null_count()
    assert filled["nobody"].null_count() == 120


def test_the_room_needed_is_near_what_a_result_takes(survey, tmp_path):
    trial = trial_result(survey)
    write_tables(trial, tmp_path / "trial")
    needed = _needed_bytes(tmp_path / "trial", len(trial.cells.rows), 1)
    taken = sum(path.stat().st_size for path in (tmp_path / "trial").rglob("*") if path.is_file())
    assert taken < needed < 2 * taken


def test_room_for_the_rows_of_the_whole_file_is_needed(survey, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 0, 10**6))
    rehearse(survey, tmp_path, 5, settings={})
    with pytest.raises(InputError, match=r"Found: 1\.0 MB free\. Expected: about"):
        rehearse(survey, tmp_path, 5, settings={}, n_rows=120_000)
