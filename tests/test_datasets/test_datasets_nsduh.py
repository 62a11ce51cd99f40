"""The NSDUH loader, on generated files of the public-use file's form."""

import json

import numpy as np
import polars as pl
import pyreadstat
import pytest

from tabsoda.datasets.listed_variables import listed_variables
from tabsoda.datasets.nsduh import nsduh_codes, nsduh_survey
from tabsoda.datasets.published_file import read_published
from tabsoda.errors import InputError
from tabsoda.schema import ColumnKind
from tabsoda.schema.column import Reason

N = 250


def make_frame() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    data = {"QUESTID2": np.arange(10_000_000, 10_000_000 + N), "FILEDATE": ["10/12/2022"] * N}
    for variable in listed_variables("nsduh"):
        name, kind = variable.names[0], variable.kind
        if kind is ColumnKind.CONTINUOUS:
            values = rng.integers(10, 90, size=N).astype(float)
            if name.startswith("IR"):
                values[rng.random(N) < 0.4] = 991
                if name.endswith("FY"):
                    values[rng.random(N) < 0.1] = 993
            else:
                values += np.round(rng.random(N), 2) + 0.001
        else:
            values = rng.integers(1, 6 if kind is ColumnKind.ORDINAL else 3, size=N)
            if not name.startswith("IR"):
                values[rng.random(N) < 0.03] = 94
                values[rng.random(N) < 0.03] = 97
            if name.startswith("DST"):
                values[:60] = 99
                values[60:65] = 85
        data[name] = values
    for item in range(120):
        section = ["CI", "AL", "MJ", "YE"][item % 4]
        values = rng.integers(1, 3, size=N)
        values[rng.random(N) < 0.2] = [91, 93, 99, 98][item % 4]
        data[f"{section}ITEM{item}"] = values
    data["DERIVED"] = rng.integers(0, 2, size=N)
    data["ANALWT2_C"] = rng.random(N) * 1000
    return pl.DataFrame(data)


@pytest.fixture(scope="module")
def frame():
    return make_frame()


@pytest.fixture(scope="module")
def csv_file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("nsduh") / "NSDUH_2021.csv"
    frame.write_csv(path)
    return path


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([1, 2, 85, 94, 97, 98, 99], {85, 94, 97, 98, 99}),
        ([1, 30, 81, 83, 89, 91, 93], {81, 83, 89, 91, 93}),
        ([5, 85, 99, 365, 985, 991, 993, 994, 997, 998, 999], {985, 991, 993, 994, 997, 998, 999}),
        ([99, 991, 1200, 9985, 9991, 9994, 9997, 9998, 9999], {9985, 9991, 9994, 9997, 9998, 9999}),
        ([1, 2, 9], set()),
        ([20.5, 85.0, 99.0], set()),
        ([1, 2, 7, 14.5, 30, 91, 93], {91, 93}),
        ([], set()),
    ],
)
def test_codes_have_the_width_of_the_variable(numbers, codes):
    assert set(nsduh_codes(numbers)) == codes


def test_reasons():
    reasons = nsduh_codes([985, 989, 991, 993, 994, 997, 998, 999])
    skips = [code for code, reason in reasons.items() if reason is Reason.SKIP]
    assert sorted(skips) == [989, 991, 993, 999]
    assert reasons[994] is Reason.DONT_KNOW
    assert reasons[997] is Reason.REFUSED
    assert reasons[998] is Reason.BLANK


def test_the_benchmark_has_the_papers_kinds_and_states(csv_file, frame):
    survey = nsduh_survey(read_published(csv_file))
    kinds = [column.kind for column in survey.table.columns]
    assert [kinds.count(kind) for kind in ColumnKind] == [6, 10, 13]
    assert all(c.n_levels <= 7 for c in survey.table.columns if c.kind is ColumnKind.ORDINAL)
    names, states = survey.table.names, survey.states
    age = frame["IRALCAGE"].to_numpy()
    assert np.array_equal(states.skipped[:, names.index("IRALCAGE")], age == 991)
    year = frame["IRMJFY"].to_numpy()
    assert np.array_equal(states.skipped[:, names.index("IRMJFY")], np.isin(year, [991, 993]))
    nervous = frame["DSTNRV30"].to_numpy()
    position = names.index("DSTNRV30")
    assert np.array_equal(states.skipped[:, position], nervous == 99)
    assert np.array_equal(states.missing[:, position], np.isin(nervous, [85, 94, 97]))
    assert survey.schema["DSTNRV30"].levels == (1, 2, 3, 4, 5)
    assert states.answered[:, names.index("BMI2")].all()


def test_names_of_other_releases_and_labels_are_taken(frame, tmp_path):
    renamed = frame.rename({"HEALTH": "HEALTH2"})
    path = tmp_path / "nsduh.sav"
    labels = {"HEALTH2": {1: "Excellent", 94: "DON'T KNOW", 97: "LEGITIMATE SKIP"}}
    pyreadstat.write_sav(renamed, str(path), variable_value_labels=labels)
    survey = nsduh_survey(read_published(path))
    codes = survey.schema["HEALTH2"].special_codes
    assert codes[94] is Reason.DONT_KNOW
    # A label in the file wins over the rule, which has 97 for a refusal.
    assert codes[97] is Reason.SKIP
    assert survey.schema["HEALTH2"].level_labels[1] == "Excellent"


def test_miner_subsets_hold_questions_only_and_are_nested(csv_file):
    small, middle = (
        nsduh_survey(read_published(csv_file), 50),
        nsduh_survey(read_published(csv_file), 100),
    )
    assert small.table.shape == (N, 50)
    assert middle.table.shape == (N, 100)
    assert set(small.table.names) < set(middle.table.names)
    for name in middle.table.names:
        assert not name.startswith(("IR", "ANALWT", "QUESTID"))
        assert name != "DERIVED"


def test_an_absent_variable_and_an_unknown_subset_are_refused(frame, csv_file, tmp_path):
    path = tmp_path / "short.csv"
    frame.drop("IRALCAGE").write_csv(path)
    with pytest.raises(InputError, match=r"no column 'IRALCAGE'.*NSDUH 2021"):
        nsduh_survey(read_published(path))
    with pytest.raises(InputError, match="'benchmark', 50, 100 or 200"):
        nsduh_survey(read_published(csv_file), "all")


def test_an_extract_is_filled_up_with_others_of_the_same_kind(frame, tmp_path):
    path = tmp_path / "extract.csv"
    frame.drop("MEDICARE", "BMI2").write_csv(path)
    survey = nsduh_survey(read_published(path), partial=True)
    kinds = [column.kind for column in survey.table.columns]
    # No number is left to take the place of BMI2.
    assert [kinds.count(kind) for kind in ColumnKind] == [5, 10, 13]
    assert "CIITEM0" in survey.table.names
    assert "ANALWT2_C" not in survey.table.names


def test_a_description_gives_labels_and_scales(frame, tmp_path):
    path, book = tmp_path / "extract.csv", tmp_path / "schema.json"
    grade = pl.Series("GRADE", np.tile([1, 2, 3, 4, 99], N // 5))
    frame.drop("HEALTH").with_columns(grade).write_csv(path)
    entry = {"name": "GRADE", "type": "ordinal", "levels": [1, 2, 3, 4], "label": "Grade"}
    book.write_text(json.dumps([entry]))
    assert "GRADE" not in nsduh_survey(read_published(path), partial=True).table.names
    survey = nsduh_survey(read_published(path, book), partial=True)
    assert survey.schema["GRADE"].kind is ColumnKind.ORDINAL
    assert survey.schema["GRADE"].label == "Grade"
    # Its codes come from the survey's rule.
    assert survey.schema["GRADE"].special_codes == {99: Reason.SKIP}
