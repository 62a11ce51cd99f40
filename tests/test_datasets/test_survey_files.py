"""The embedded survey as files says the same as in memory."""

from pathlib import Path

import numpy as np
import polars as pl
import pyreadstat
import pytest

from tabsoda.datasets import make_survey
from tabsoda.errors import InputError
from tabsoda.reading import read_survey
from tabsoda.schema import ColumnRole, Reason


def test_frame_holds_codes_as_published() -> None:
    survey = make_survey(n_rows=400, spelled_out=(Reason.REFUSED, Reason.DONT_KNOW, Reason.SKIP))
    frame = survey.to_frame()
    position = survey.names.index("SMKNOW")
    codes = frame["SMKNOW"].to_numpy()
    states = survey.true_table.states

    assert frame.columns == ["CASEID", *survey.names, "FINALWGT"]
    assert (codes[states.skipped[:, position]] == -1).all()
    answered = states.answered[:, position]
    assert np.array_equal(codes[answered], survey.observed[answered, position] + 1)
    blank = ~np.isin(codes[states.missing[:, position]], (-8, -9))
    assert np.isnan(codes[states.missing[:, position]][blank]).all()


@pytest.mark.parametrize("file_format", ["csv", "parquet", "sav"])
def test_written_and_read_back(tmp_path: Path, file_format: str) -> None:
    survey = make_survey(n_rows=250, seed=2, spelled_out=(Reason.REFUSED, Reason.DONT_KNOW))
    data, description, mask = survey.write(tmp_path, (file_format,))
    read = read_survey(data, description)

    assert read.schema == survey.schema()
    assert read.schema["FINALWGT"].role is ColumnRole.WEIGHT
    assert np.array_equal(read.table.values, survey.observed, equal_nan=True)
    assert read.table.states == survey.table.states
    assert np.array_equal(pl.read_parquet(mask).to_numpy(), survey.true_table.states.skipped)


def test_the_true_mask_is_accepted_with_the_file(tmp_path: Path) -> None:
    survey = make_survey(n_rows=250, seed=2)
    data, description, mask = survey.write(tmp_path)

    read = read_survey(data, description, skip_mask=mask)
    assert np.array_equal(read.table.states.skipped, survey.true_table.states.skipped)


def test_spss_file_explains_itself(tmp_path: Path) -> None:
    survey = make_survey(n_rows=50, spelled_out=(Reason.REFUSED,))
    data, *_ = survey.write(tmp_path, ("sav",))
    _, meta = pyreadstat.read_sav(str(data), user_missing=True)

    assert meta.column_names_to_labels["SMKNOW"] == "Do you smoke now?"
    assert meta.variable_measure["SMKNOW"] == "ordinal"
    assert meta.variable_value_labels["SMKNOW"][3.0] == "Every day"
    assert meta.missing_ranges["SMKNOW"] == [{"lo": -9.0, "hi": -9.0}]


def test_an_unknown_format_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="xlsx"):
        make_survey(n_rows=20).write(tmp_path / "new", ("csv", "xlsx"))
    assert not (tmp_path / "new").exists()
