"""R, CSV and Parquet: a mids whose skips are NA, texts that no spreadsheet runs, labels kept."""

import json
import shutil
import subprocess

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda import read_survey
from tabsoda.exchange import export
from tabsoda.exchange.spreadsheet_text import harmless
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema.files import load_schema
from tabsoda.schema.json_form import parse_json_list

R_CHECK = """
if (!all(sapply(c("mice", "nnet", "jsonlite"), requireNamespace, quietly = TRUE))) {
  cat("absent"); quit()
}
suppressPackageStartupMessages(source("read.R"))
fits <- with(imputations, lm(cigarettes ~ weight))
done <- complete(imputations, 2)
answer <- list(
  class = class(imputations), m = imputations$m,
  pooled = summary(pool(fits))[, c("estimate", "std.error", "df")],
  missing = sapply(1:3, function(k) sum(is.na(complete(imputations, k)$cigarettes))),
  observed = sum(is.na(imputations$data$cigarettes)),
  where = sum(imputations$where), skips_imputed = sum(where[is.na(done$cigarettes), "cigarettes"]),
  levels = levels(done$region), order = levels(done$a_question_with_a_name_of_more_than_32_letters),
  ordered = is.ordered(done$a_question_with_a_name_of_more_than_32_letters),
  values = done$cigarettes, comment = done$comment[1:5])
cat(jsonlite::toJSON(answer, digits = NA, auto_unbox = TRUE))
"""


def test_r_makes_a_mids_in_which_skips_are_na(rich, tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")
    folder = tmp_path / "out"
    export(rich, "r", folder)
    done = subprocess.run(["Rscript", "-e", R_CHECK], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    if done.stdout.endswith("absent"):
        pytest.skip("mice, nnet or jsonlite is not here")
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["class"], found["m"]) == ("mids", 3)
    skips = int(rich.table.states.skipped[:, 1].sum())
    assert found["missing"] == [skips, skips + 1, skips]
    assert found["observed"] == int((~rich.table.states.answered[:, 1]).sum())
    assert found["where"] == len(rich.cells.rows)
    # The one cell that the second draw skips was to be imputed; the others never were.
    assert found["skips_imputed"] == 1
    assert found["levels"] == ["süd", "=cmd()", "north"]
    assert found["order"] == ["It's fine", "&so so", "100 %bad"]
    assert found["ordered"] is True
    assert found["comment"] == ["=HYPERLINK(1)", "'+quoted", None, "plain", "-5"]
    second = rich.values(2)[:, 1]
    values = [np.nan if v in (None, "NA") else v for v in found["values"]]
    assert np.array_equal(np.array(values, dtype=float), second, equal_nan=True)
    pooled = rich.pool("cigarettes ~ weight", design=None)
    np.testing.assert_allclose(pooled.estimates, [r["estimate"] for r in found["pooled"]])
    np.testing.assert_allclose(pooled.std_errors, [r["std.error"] for r in found["pooled"]])


@given(st.text(st.sampled_from("'=+-@a1\t"), max_size=6))
def test_quoting_can_be_undone_and_leaves_no_formula(text):
    import re

    quoted = harmless(text)
    assert re.sub(r"^'('*[=+@\t\r-])", r"\1", quoted) == text or quoted == text
    if quoted and quoted[0] in "=+-@\t\r":
        float(quoted)


def test_csv_holds_no_formula_and_reads_back(rich, tmp_path):
    export(rich, "csv", tmp_path / "out")
    lines = (tmp_path / "out" / "imputations.csv").read_text(encoding="utf-8").splitlines()
    cells = [cell for line in lines for cell in line.split(",")]
    assert "'=cmd()" in cells
    assert not any(cell.startswith(("=", "@", "+")) for cell in cells)
    events = json.loads((tmp_path / "out" / "export.json").read_text())["events"]
    assert {e["column"] for e in events if e["kind"] == "texts_quoted"} == {"region", "comment"}
    again = read_survey(tmp_path / "out" / "imputations.csv", tmp_path / "out" / "survey.toml")
    tables = [rich.table.values] + [rich.values(number) for number in (1, 2, 3)]
    names = rich.table.names
    found = np.column_stack([again.table.values[:, again.table.names.index(n)] for n in names])
    assert np.array_equal(found, np.concatenate(tables), equal_nan=True)
    assert again.schema["region"].levels == ("süd", "'=cmd()", "north")
    assert again.schema["smokes"].level_labels == {1: "Yes", 2: "No"}
    reasons = pl.read_csv(tmp_path / "out" / "reasons.csv")
    assert reasons["cigarettes"][0] == "other"
    assert (reasons["cigarettes"] == "skip").to_list() == rich.table.states.skipped[:, 1].tolist()
    skips = pl.read_csv(tmp_path / "out" / "skips_in_draws.csv")
    assert skips.rows() == [(2, 1, "cigarettes")]


def test_names_of_columns_are_no_formulas_either(tmp_path):
    from tabsoda.results import Imputations, ImputedCells

    frame = pl.DataFrame({"=cmd": [1.5, None, 2.5], "_row": [1, 2, 2]})
    survey = read_survey(
        frame,
        [
            {"name": "=cmd", "type": "continuous"},
            {"name": "_row", "type": "nominal", "levels": [1, 2]},
        ],
    )
    one = np.array([[4.0]])
    cells = ImputedCells(np.array([1]), np.array([0]), one, one[0] * 1, one[0] * 1)
    export(Imputations(survey.table, cells, survey), "csv", tmp_path / "out")
    written = pl.read_csv(tmp_path / "out" / "imputations.csv")
    assert written.columns == ["_imputation", "_row", "'=cmd", "_row_2"]
    assert "'=cmd" in load_schema(tmp_path / "out" / "survey.toml")


def test_parquet_has_the_description_in_its_metadata(rich, tmp_path):
    export(rich, "parquet", tmp_path / "out")
    path = tmp_path / "out" / "imputations.parquet"
    metadata = pl.read_parquet_metadata(path)
    schema = parse_json_list(json.loads(metadata["tabsoda.survey"]))
    assert schema == rich.survey.schema
    table = pl.read_parquet(path)
    assert table["region"].dtype == pl.Enum(["süd", "=cmd()", "north"])
    assert table["cigarettes"].null_count() == int((~rich.table.states.answered[:, 1]).sum()) + sum(
        int(np.isnan(rich.values(m)[:, 1]).sum()) for m in (1, 2, 3)
    )
    reasons = pl.read_parquet(tmp_path / "out" / "reasons.parquet")
    assert reasons.select("_imputation", "_row").equals(table.select("_imputation", "_row"))
    second = reasons.filter(pl.col("_imputation") == 2)["cigarettes"]
    assert (second == "skip").to_list() == rich.skipped_in(2)[:, 1].tolist()
    first = reasons.filter(pl.col("_imputation") == 0)["smokes"]
    assert first[0] == "refused"


def test_r_keeps_codes_that_look_like_something_else(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")
    codes = {"state": ["01", "02", "10"], "yes": ["T", "F", "T"], "big": [100000, 0.5, 200000]}
    frame = pl.DataFrame(
        {name: pl.Series(answers * 10, strict=False) for name, answers in codes.items()}
    )
    frame = frame.with_columns(pl.when(pl.int_range(30) > 0).then(pl.all()))
    description = [
        {"name": name, "type": "nominal", "levels": [*dict.fromkeys(answers)]}
        for name, answers in codes.items()
    ]
    survey = read_survey(frame, description)
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.zeros((2, len(rows)))
    cells = ImputedCells(rows, positions, draws, draws[0], draws[0])
    export(Imputations(survey.table, cells, survey), "r", tmp_path / "out")
    code = """
    if (!all(sapply(c("mice", "nnet", "jsonlite"), requireNamespace, quietly = TRUE))) {
  cat("absent"); quit()
}
    suppressPackageStartupMessages(source("read.R"))
    done <- complete(imputations, 1)
    cat(jsonlite::toJSON(lapply(done[c("state", "yes", "big")], as.character)))
    """
    done = subprocess.run(
        ["Rscript", "-e", code], capture_output=True, text=True, cwd=tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.endswith("absent"):
        pytest.skip("mice, nnet or jsonlite is not here")
    found = json.loads(done.stdout.splitlines()[-1])
    for name, answers in codes.items():
        assert found[name] == [str(code) for code in answers] * 10, name
