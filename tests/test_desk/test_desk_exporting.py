"""Export: files as the commands write them, code next to them, and a project that opens again."""

import os
import shlex
import shutil
import zipfile

import pytest
from desk_project import Desk, files_of, wait_for_state

from tabsoda import load_result
from tabsoda.analysis.request import EstimateRequest
from tabsoda.cli.main import main
from tabsoda.desk.archive import archive_project
from tabsoda.desk.kept_analyses import keep, kept_analyses
from tabsoda.desk.project import Project
from tabsoda.desk.steps.analysing import estimated
from tabsoda.desk.steps.exporting import export_summary, exported_file
from tabsoda.errors import InputError


def test_exports_and_their_code_equal_those_of_the_commands(serve, finished, monkeypatch, capsys):
    keep(finished, finished.version, EstimateRequest("mean", ("AGE",), by="SEX"), "Age, by sex")
    keep(finished, finished.version, EstimateRequest("formula", ("AGE ~ bs(HOURS, df=3)",)))
    desk = Desk(serve(finished).address)
    with desk.client:
        job = desk.change("api/export/write", run="first", to="r").json()["job"]
        done = wait_for_state(finished, job["id"], "finished", "failed")
        assert done["state"] == "finished", done
        shown = {one["to"]: one for one in desk.get("api/export?run=first").json()["formats"]}
        names = [file["name"] for file in shown["r"]["files"]]
        assert "analysis_01_age_by_sex.R" in names
        # Splines have no equal in R: the outcome of the job says so.
        assert not any(name.startswith("analysis_02") for name in names)
        assert shown["stata"]["files"] == []
        file = desk.get("api/export/file", params={"path": "exports/first-r/read.R"})
        assert file.headers["content-disposition"].startswith("attachment")
        assert file.content == (finished.folder / "exports/first-r/read.R").read_bytes()
        for path in ("project.json", "exports/../project.json", "/etc/passwd", "exports", ""):
            assert desk.get("api/export/file", params={"path": path}).status_code == 404
        assert desk.change("api/export/write", run="first", to="word").status_code == 422
        lines = desk.get("api/export?run=first").json()["commands"]["shell"]
    ours = files_of(finished.folder / "exports" / "first-r")
    monkeypatch.chdir(finished.folder)
    for line in lines:
        if "first-r" not in line or "analysis_02" in line:
            continue
        command, _, path = line.partition(" > ")
        capsys.readouterr()
        again = ["--force"] if command.startswith("tabsoda export") else []
        main([*shlex.split(command)[1:], *again])
        if path:
            (finished.folder / path).write_text(capsys.readouterr().out, encoding="utf-8")
    assert files_of(finished.folder / "exports" / "first-r") == ours


@pytest.mark.parametrize(("models", "data"), [(True, True), (False, True), (False, False)])
def test_an_archive_opens_again_elsewhere(models, data, finished, tmp_path):
    keep(finished, finished.version, EstimateRequest("mean", ("AGE",)))
    (finished.folder / "jobs").mkdir(exist_ok=True)
    (finished.folder / "jobs" / "0001.log").write_text("private")
    path = archive_project(finished.folder, tmp_path / "a.zip", models=models, data=data)
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        packed.extractall(tmp_path / "elsewhere")
    assert not any("/jobs/" in name or "/." in name for name in names)
    assert any("/model/" in name for name in names) == models
    assert any(name.endswith("survey.csv") for name in names) == data
    again = Project(tmp_path / "elsewhere" / "study")
    assert [run["name"] for run in again.runs()] == ["second", "first"] or len(again.runs()) == 2
    body = {"run": "first", "request": {"kind": "mean", "of": ["AGE"]}}
    assert estimated(again, body)["rows"] == estimated(finished, body)["rows"]
    assert len(kept_analyses(again.folder)) == 1
    if data:
        assert again.survey().table.shape == finished.survey().table.shape
    else:
        with pytest.raises(InputError, match="does not exist any more"):
            again.survey()
    # Nothing was changed here.
    assert (finished.run_folder("first") / "model").is_dir()
    assert len(load_result(again.run_folder("first"))) == 3


def test_a_survey_outside_the_project_is_packed_with_it(finished, tmp_path):
    outside = tmp_path / "outside.csv"
    (finished.folder / "data" / "survey.csv").rename(outside)
    with finished.change(finished.version) as content:
        content["data"]["path"] = str(outside)
    path = archive_project(finished.folder, tmp_path / "a.zip")
    with zipfile.ZipFile(path) as packed:
        packed.extractall(tmp_path / "elsewhere")
    outside.unlink()
    again = Project(tmp_path / "elsewhere" / "study")
    assert again.require_data() == again.folder / "data" / "outside.csv"
    assert again.survey().table.shape[0] == 300


def test_archives_only_of_projects_and_only_to_zip_files(finished, tmp_path):
    with pytest.raises(InputError, match="not a project"):
        archive_project(tmp_path / "nothing", tmp_path / "a.zip")
    with pytest.raises(InputError, match=r"\.zip"):
        archive_project(finished.folder, tmp_path / "a.tar")
    with pytest.raises(InputError, match="no such exported file"):
        exported_file(finished, "exports/\0")


def test_the_archive_of_the_page_is_that_of_the_command(serve, finished, tmp_path):
    desk = Desk(serve(finished).address)
    with desk.client:
        job = desk.change("api/export/archive", models=False, data=True).json()["job"]
        done = wait_for_state(finished, job["id"], "finished", "failed")
        assert done["state"] == "finished", done
    line = export_summary(finished, "first", models=False)["commands"]["shell"][-1]
    assert line == "tabsoda archive . -o exports/study.zip --without-models"
    words = shlex.split(line)[1:]
    words[1], words[3] = str(finished.folder), str(tmp_path / "b.zip")
    main(words)
    sides = []
    for path in (finished.folder / "exports" / "study.zip", tmp_path / "b.zip"):
        with zipfile.ZipFile(path) as packed:
            sides.append({name: packed.read(name) for name in packed.namelist()})
    assert sides[0] == sides[1]


def test_the_methods_paragraph_is_that_of_the_report(finished):
    found = export_summary(finished, "first")["methods"]
    assert "3 completed tables were drawn (random seed 1)" in found["paragraph"]
    with finished.change(finished.version) as content:
        content["settings"]["suppress_below"] = 5
    assert export_summary(finished, "first")["methods"] is None


def packed_names(path):
    with zipfile.ZipFile(path) as packed:
        return [name.removeprefix("study/") for name in packed.namelist()]


def test_an_archive_without_data_has_no_earlier_copy_of_it(finished, tmp_path):
    data = finished.folder / "data"
    for name in ("survey-2.csv", "form.xlsx"):
        shutil.copy(data / "survey.csv", data / name)
    (data / "notes.toml").write_text("")
    with finished.change(finished.version) as content:
        content["description"]["form"] = {"path": "data/form.xlsx"}
    names = packed_names(archive_project(finished.folder, tmp_path / "a.zip", data=False))
    assert sorted(n for n in names if n.startswith("data/")) == [
        "data/form.xlsx",
        "data/notes.toml",
    ]
    names = packed_names(archive_project(finished.folder, tmp_path / "b.zip"))
    assert "data/survey-2.csv" in names


def test_an_archive_contains_no_file_from_outside_that_was_not_opened(finished, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("private")
    (finished.folder / "notes.txt").symlink_to(secret)
    (finished.folder / "runs" / "first" / "link").symlink_to(tmp_path)
    names = packed_names(archive_project(finished.folder, tmp_path / "a.zip"))
    assert not any("notes" in name or "link" in name for name in names)
    for path in (str(secret), "../secret.csv"):
        with finished.change(finished.version) as content:
            content["data"]["path"] = path
        with pytest.raises(InputError, match="is not the one that was opened"):
            archive_project(finished.folder, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()


def test_an_archive_contains_the_codebook_and_old_files(finished, tmp_path):
    outside = tmp_path / "ddi.xml"
    outside.write_text("outside")
    (finished.folder / "data" / "ddi.xml").write_text("another")
    os.utime(finished.folder / "survey.toml", (0, 0))
    with finished.change(finished.version) as content:
        content["description"]["codebook"] = str(outside)
    path = archive_project(finished.folder, tmp_path / "a.zip")
    with zipfile.ZipFile(path) as packed:
        packed.extractall(tmp_path / "elsewhere")
    again = Project(tmp_path / "elsewhere" / "study")
    assert (again.folder / again.content["description"]["codebook"]).read_text() == "outside"
    assert (again.folder / "data" / "ddi.xml").read_text() == "another"


def test_a_damaged_project_is_not_packed(finished, tmp_path):
    (finished.folder / "project.json").write_text('{"format": 1, "data": 3}')
    with pytest.raises(InputError, match="is damaged"):
        archive_project(finished.folder, tmp_path / "a.zip")
