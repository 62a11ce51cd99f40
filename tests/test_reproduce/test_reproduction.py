"""From generated stand-ins of the public-use files to tables beside the printed numbers."""

import csv
import json
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from public_file_stand_ins import nsduh_file, path_file, write, write_codebook
from tabsoda.bench.studies import runner
from tabsoda.datasets.nsduh import nsduh_survey
from tabsoda.datasets.published_file import read_published
from tabsoda.errors import InputError
from tabsoda.reproduce import reproduce_tables
from tabsoda.reproduce.plan import METHODS, plan_study
from tabsoda.reproduce.sources import source_of

FEW = {"quick": True, "methods": ["mice"], "mechanisms": ["mar"], "replications": 2, "rows": 150}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return {
        "path": write(path_file(), folder / "36498-1001-Data.sav"),
        "nsduh": write(nsduh_file(), folder / "NSDUH_2021.dta"),
    }


@pytest.fixture(scope="module")
def done(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "nsduh"
    return reproduce_tables("nsduh", [files["nsduh"]], folder, **FEW), folder


def test_tables_stand_beside_the_printed_numbers(done):
    result, folder = done
    assert result.summary.ran == 2
    table = result.tables["mar"]
    mice = [[entry.text for entry in row] for row in table.rows if row[1].text == "MICE"]
    assert [row[2] for row in mice] == ["this run", "paper"]
    assert mice[1][3] == "0.824 ± 0.165"
    # The printed RMSE stands beside the raw one of this run.
    place = table.header.index("Raw RMSE ↓")
    assert mice[1][place:] == ["58.073 ± 15.594", "–"]
    cells = json.loads((folder / "results.json").read_text())["cells"]
    scores = [cell["metrics"]["all"]["rmse_raw"] for cell in cells]
    assert mice[0][place].startswith(f"{sum(scores) / 2:.3f} ±")
    best = [row[1].text for row in table.rows if row[2].text == "paper" and row[3].bold]
    assert best == ["TabSODA"]
    for form in ("md", "tex", "html"):
        text = (folder / f"tables.{form}").read_text()
        assert "0.362" in text
        assert f"{sum(scores) / 2:.3f}" in text


def test_the_mask_is_the_one_of_the_files_codes(done):
    result, _ = done
    frame, _ = nsduh_file()
    names, states = result.survey.table.names, result.survey.states
    for name, codes in (("IRMJFY", [991, 993]), ("DSTNRV30", [99]), ("IRMARIT", [99])):
        skipped = states.skipped[:, names.index(name)]
        assert (skipped == frame[name].is_in(codes).to_numpy()).all()
        assert skipped.any()


def test_the_variables_are_listed_with_their_reasons(done):
    _, folder = done
    with (folder / "variables.csv").open() as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert len(rows) == 29
    assert rows["DSTNRV30"]["question"] == "How often nervous in the past 30 days"
    assert "K6" in rows["DSTNRV30"]["reason"]
    assert int(rows["BMI2"]["answered"]) == 400


def test_the_miner_is_scored_on_the_subsets(done):
    result, folder = done
    runs = json.loads((folder / "miner.json").read_text())["runs"]
    # The file has 98 questionnaire variables: the subsets of 100 and 200 are the same.
    assert [(run["variables"], run["screen"]) for run in runs] == [
        (50, "paper"),
        (50, "purity"),
        (98, "paper"),
        (98, "purity"),
    ]
    for run in runs:
        counts = run["all_cells"]
        assert counts["tp"] + counts["fp"] + counts["fn"] + counts["tn"] == 150 * run["variables"]
    # In the stand-in one gate skips a whole section, and rules are counted by condition.
    assert runs[3]["rules"] < runs[3]["rules_by_target"] == runs[3]["mined"]
    shown = [[entry.text for entry in row] for row in result.tables["miner"].rows]
    assert shown[2][:7] == ["NSDUH", "paper", "50", "50", "9", "0.957", "0.852"]


def test_an_interrupted_run_continues(files, tmp_path, monkeypatch):
    kept = runner.run_tasks

    def interrupted(function, tasks, *others):
        for done, result in enumerate(kept(function, tasks, *others)):
            if done == 1:
                raise KeyboardInterrupt
            yield result

    monkeypatch.setattr(runner, "run_tasks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce_tables("nsduh", [files["nsduh"]], tmp_path, **FEW)
    assert not (tmp_path / "results.json").exists()
    mined = (tmp_path / "miner.json").read_text()
    monkeypatch.setattr(runner, "run_tasks", kept)
    monkeypatch.setattr("tabsoda.reproduce.miner_scores._score", None)
    result = reproduce_tables("nsduh", [files["nsduh"]], tmp_path, **FEW)
    assert (result.summary.ran, result.summary.reused) == (1, 1)
    # What was mined before is read: it cannot be mined again here.
    assert (tmp_path / "miner.json").read_text() == mined
    with pytest.raises(InputError, match="other settings"):
        reproduce_tables("nsduh", [files["nsduh"]], tmp_path, **{**FEW, "rows": 160})


def test_path_from_its_file(files, tmp_path):
    result = reproduce_tables("path", [files["path"]], tmp_path / "out", dry_run=True, **FEW)
    assert result.n_cells == 2
    assert not (tmp_path / "out").exists()
    names = set(result.survey.table.names)
    assert {"R01_AC1002", "R01_AC1003", "R01_AC0100", "R01_AE1001", "R01_AG1005FC"} <= names
    kinds = [column.kind.value for column in result.survey.table.columns]
    assert [kinds.count(kind) for kind in ("continuous", "nominal", "ordinal")] == [1, 32, 24]
    assert "The file has 400 respondents, that of the paper 32,320." in result.notes


def test_a_text_file_with_its_codebook_gives_the_same_benchmark(files, tmp_path):
    frame, labels = path_file()
    folder = tmp_path / "ICPSR_36498"
    write((frame, labels), folder / "36498-1001-Data.tsv")
    write_codebook(labels, folder / "36498-1001-ddi.xml")
    by_file = {"labelled": files["path"], "text": folder}
    tables = [
        reproduce_tables("path", [path], tmp_path, dry_run=True, **FEW).survey.table
        for path in by_file.values()
    ]
    assert tables[0].columns == tables[1].columns
    assert np.array_equal(tables[0].states.states, tables[1].states.states)


def test_a_file_without_some_variables(tmp_path):
    frame, labels = nsduh_file()
    path = write((frame.drop("BMI2", "MEDICARE"), labels), tmp_path / "extract.sav")
    with pytest.raises(InputError, match=r"no columns 'BMI2', 'MEDICARE'.*27 of 29.*--partial"):
        reproduce_tables("nsduh", [path], tmp_path / "out", **FEW)
    assert not (tmp_path / "out").exists()
    result = reproduce_tables("nsduh", [path], tmp_path, dry_run=True, partial=True, **FEW)
    assert "2 of 29 listed variables are not in it; 1 others take their place." in result.notes
    unlabelled = write(path_file(), tmp_path / "36498-1001-Data.tsv")
    with pytest.raises(InputError, match=r"no value labels.*codebook.*icpsr"):
        reproduce_tables("path", [unlabelled], tmp_path / "out", **FEW)


def test_the_full_plan_is_the_papers():
    study = plan_study(source_of("nsduh"))
    assert [entry.name for entry in study.methods] == list(METHODS)
    assert study.replications == 50
    assert study.rows is None
    assert {mechanism.value for mechanism in study.mechanisms} == {"mcar", "mar", "mnar"}
    assert [view.value for view in study.skip_views] == ["blind"]
    options = {entry.name: entry.options for entry in study.methods}
    assert options["tabsoda"] == {"preset": "nsduh"}
    assert options["tabsoda-skip"] == {"preset": "nsduh", "screen": "paper"}
    assert options["diffputer"] == {}
    with pytest.raises(InputError, match="no such method"):
        plan_study(source_of("nsduh"), methods=["boosting"])


@pytest.mark.slow
@pytest.mark.parametrize("survey", ["path", "nsduh"])
def test_all_methods(survey, files, tmp_path):
    result = reproduce_tables(
        survey, [files[survey]], tmp_path, quick=True, replications=1, mechanisms=["mar"]
    )
    assert result.failures == []
    for name, expected in (("mar", 7), ("mar-ablation", 3)):
        own = [row for row in result.tables[name].rows if row[2].text == "this run"]
        assert len(own) == expected
        assert all(0 < float(row[5].text) < 1 for row in own)


def test_the_mask_of_a_real_extract_is_the_codebooks(surveys):
    folder = surveys / "nsduh2023_youth"
    table = nsduh_survey(
        read_published(folder / "raw.parquet", folder / "schema.json"), partial=True
    ).table
    assert table.shape == (10_561, 21)
    codebook = pl.read_parquet(folder / "skip.parquet").select(table.names).to_numpy()
    assert (table.states.skipped == codebook).all()


def test_the_page_has_the_counted_times():
    benchmarks = Path(__file__).resolve().parents[2] / "benchmarks" / "paper"
    script = runpy.run_path(str(benchmarks / "reproduction_time.py"))
    counted = script["counted"]()
    assert json.loads((benchmarks / "reproduction_time.json").read_text()) == counted
    text = script["PAGE"].read_text(encoding="utf-8")
    assert script["page"](counted, text) == text
    # 50 replications, 3 mechanisms, 3 variants of 150.5 seconds.
    assert counted["path_variants_gpu_hours"][0] == pytest.approx(450 * 150.5 / 3600, abs=0.05)
