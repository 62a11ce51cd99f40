"""The PATH loader, on generated files of the public-use file's form."""

import numpy as np
import polars as pl
import pyreadstat
import pytest

from tabsoda.datasets.path_study import path_codes, path_survey
from tabsoda.datasets.published_file import read_published
from tabsoda.errors import InputError
from tabsoda.schema import ColumnKind
from tabsoda.schema.column import Reason

N = 300
SPECIAL = {-9: "Missing", -8: "Don't know", -7: "Refused", -5: "Improbable", -1: "Inapplicable"}
YES_NO = {1: "Yes", 2: "No", **SPECIAL}
AMOUNT = {1: "Less than 1", 2: "1 - 10", 3: "11 - 20", 4: "21 or more", **SPECIAL}


def make_frame(n_each: int) -> tuple[pl.DataFrame, dict[str, dict[int, str]]]:
    """Return gates, then yes/no and amount items of five sections, an age band and other things."""
    rng = np.random.default_rng(1)
    data = {"PERSONID": [f"P{i:06d}" for i in range(N)]}
    labels = {}
    for section, gate in (("C", 1002), ("E", 1001), ("G", 1001), ("P", 1001), ("S", 1001)):
        name = f"R01_A{section}{gate}"
        data[name] = rng.choice([1, 2], size=N)
        labels[name] = YES_NO
        for item in range(n_each):
            for kind, text, n_levels in (("1", YES_NO, 2), ("2", AMOUNT, 4)):
                name = f"R01_A{section}{kind}{item + 100:03d}"
                values = rng.integers(1, n_levels + 1, size=N)
                values[rng.random(N) < 0.05] = -8
                values[data[f"R01_A{section}{gate}"] == 2] = -1
                data[name], labels[name] = values, text
    ages = rng.integers(8, 60, size=N)
    ages[data["R01_AC1002"] == 2] = -99911
    ages[:3] = -97777
    data["R01_AC9999"] = ages
    data["R01R_A_AGECAT7"] = rng.integers(1, 5, size=N)
    labels["R01R_A_AGECAT7"] = {1: "18 to 24", 2: "25 to 34", 3: "35 to 44", 4: "45 or older"}
    data["R01_AM0001"] = rng.choice([1, 2], size=N)
    return pl.DataFrame(data), labels


@pytest.fixture(scope="module")
def path_file(tmp_path_factory):
    frame, labels = make_frame(10)
    path = tmp_path_factory.mktemp("path") / "36498-0001-Data.sav"
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    return path


def test_codes_by_size_and_by_their_long_forms():
    codes = path_codes([-99999, -99988, -99977, -99911, -97777, -9, -7, -4, -1, 0, 5])
    assert codes == {
        -99999: Reason.BLANK,
        -99988: Reason.DONT_KNOW,
        -99977: Reason.REFUSED,
        -99911: Reason.SKIP,
        -97777: Reason.OTHER,
        -9: Reason.BLANK,
        -7: Reason.REFUSED,
        -4: Reason.OTHER,
        -1: Reason.SKIP,
    }


def test_the_benchmark_has_the_papers_kinds_and_gates(path_file):
    survey = path_survey(read_published(path_file))
    kinds = [column.kind for column in survey.table.columns]
    assert [kinds.count(kind) for kind in ColumnKind] == [1, 32, 24]
    names = survey.table.names
    assert {"R01_AC1002", "R01_AE1001"} <= set(names)
    assert "R01R_A_AGECAT7" in names
    assert "R01_AM0001" not in names
    assert "PERSONID" not in names
    assert list(names) == [n for n in survey.frame.columns if n in names]
    assert all(c.n_levels <= 9 for c in survey.table.columns)
    assert survey.schema["R01_AC2100"].levels == (1, 2, 3, 4)


def test_cells_get_the_state_their_code_says(path_file):
    survey = path_survey(read_published(path_file))
    raw, states = survey.frame, survey.states
    for name in survey.table.names:
        position = survey.table.names.index(name)
        codes = raw[name].to_numpy()
        skips = np.isin(codes, [-1, -99911])
        assert np.array_equal(states.skipped[:, position], skips)
        assert np.array_equal(states.answered[:, position], codes > 0)
    gate = raw["R01_AC1002"].to_numpy()
    follower = survey.table.names.index("R01_AC2100")
    assert np.array_equal(states.skipped[:, follower], gate == 2)
    row = int(np.flatnonzero(raw["R01_AC2100"].to_numpy() == -8)[0])
    assert states.reason_of(row, "R01_AC2100") is Reason.DONT_KNOW


def test_miner_subsets_are_nested_and_as_large_as_the_file_allows(path_file):
    small, middle = (
        path_survey(read_published(path_file), 50),
        path_survey(read_published(path_file), 100),
    )
    assert small.table.shape == (N, 50)
    assert middle.table.shape == (N, 100)
    assert set(small.table.names) < set(middle.table.names)
    sections = {name[5] for name in small.table.names if name.startswith("R01_A")}
    assert sections == set("CEGPS")
    # The file has 5 sections x (1 gate + 20 items), an age and an age band.
    assert path_survey(read_published(path_file), 200).table.shape[1] == 5 * 21 + 2


@pytest.mark.parametrize("ending", ["dta", "tsv"])
def test_other_formats_hold_the_same_cells(path_file, tmp_path, ending):
    frame, labels = make_frame(10)
    path = tmp_path / f"adult.{ending}"
    if ending == "dta":
        pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)
        assert (
            path_survey(read_published(path)).table.names
            == path_survey(read_published(path_file)).table.names
        )
    else:
        frame.write_csv(path, separator="\t")
    other, first = (path_survey(read_published(one), 50) for one in (path, path_file))
    assert other.table.names == first.table.names
    assert np.array_equal(other.states.states, first.states.states)


def test_another_file_and_an_unknown_subset_are_refused(tmp_path, path_file):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InputError, match=r"no columns 'R01_AC1002'.*ICPSR 36498"):
        path_survey(read_published(path))
    with pytest.raises(InputError, match="'benchmark', 50, 100 or 200"):
        path_survey(read_published(path_file), 60)


def test_too_few_variables_are_used_and_logged(tmp_path):
    frame, labels = make_frame(2)
    path = tmp_path / "small.sav"
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    survey = path_survey(read_published(path))
    [chosen] = [event.counts for event in survey.events if event.kind == "variables_chosen"]
    assert [chosen[kind] for kind in ("continuous", "nominal", "ordinal")] == [1, 15, 11]


def test_a_file_without_labels_or_with_fewer_variables_can_be_refused(tmp_path):
    frame, labels = make_frame(2)
    text, small = tmp_path / "adult.tsv", tmp_path / "adult.sav"
    frame.write_csv(text, separator="\t")
    with pytest.raises(InputError, match=r"no value labels.*DDI codebook.*icpsr"):
        path_survey(read_published(text), partial=False)
    pyreadstat.write_sav(frame, str(small), variable_value_labels=labels)
    with pytest.raises(InputError, match=r"1 continuous, 15 nominal, 11 ordinal.*24 ordinal"):
        path_survey(read_published(small), partial=False)


def test_variables_that_the_paper_names_are_taken_first(tmp_path):
    frame, labels = make_frame(12)
    last = pl.Series("R01_AG1005FC", np.tile([1, 2, 3, 4], N // 4))
    path = tmp_path / "adult.sav"
    pyreadstat.write_sav(
        frame.with_columns(last),
        str(path),
        variable_value_labels={**labels, "R01_AG1005FC": AMOUNT},
    )
    survey = path_survey(read_published(path), partial=False)
    # By the order of the file alone it would come after the 24 ordinals that are wanted.
    assert survey.schema["R01_AG1005FC"].kind is ColumnKind.ORDINAL
