"""A project folder from somebody else: it may be damaged, or made to do harm."""

import fcntl
import json
import os
import platform

import pytest
from desk_project import wait_for_state

from tabsoda.desk.job_lock import process_of
from tabsoda.desk.project import Project
from tabsoda.errors import InputError

RECORD = {
    **{"id": "0001", "kind": "mine", "title": "Mine", "parameters": {}, "wanted": "run"},
    **{"paused": False, "queued": 1.0, "started": None},
}


def put(project, name, content):
    project.jobs.folder.mkdir(exist_ok=True)
    path = project.jobs.folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_job_that_came_with_the_folder_waits_for_its_user(project):
    put(project, "0001.json", RECORD)
    project.jobs.advance()
    assert project.jobs.get("0001")["state"] == "interrupted"
    assert not (project.jobs.folder / "0001.lock").exists()
    project.jobs.resume("0001")
    assert wait_for_state(project, "0001", "finished", "failed")["state"] == "finished"


@pytest.mark.parametrize("identifier", ["../../outside", "*", "0002"])
def test_a_job_is_what_its_file_is_called(project, tmp_path, identifier):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    put(project, "0001.json", {**RECORD, "id": identifier, "wanted": "cancel"})
    put(project, "0002.json", {**RECORD, "id": "0002"})
    project.jobs.remove("0001")
    assert outside.read_text() == "mine"
    assert [job["id"] for job in project.jobs.summary()] == ["0002"]


@pytest.mark.parametrize("ending", ["lock", "log"])
def test_links_in_the_folder_of_jobs_are_not_followed(project, tmp_path, ending):
    outside = tmp_path / "profile"
    outside.write_text("mine")
    put(project, "0001.json", RECORD)
    (project.jobs.folder / f"0001.{ending}").symlink_to(outside)
    with pytest.raises(OSError, match="symbolic links"):
        project.jobs.resume("0001")
    assert outside.read_text() == "mine"
    (project.jobs.folder / f"0001.{ending}").unlink()
    # Nothing holds the lock of a job that could not be started.
    if ending == "log":
        project.jobs.resume("0001")
    assert wait_for_state(project, "0001", "finished")


def test_a_number_of_a_process_in_the_folder_ends_nothing(project):
    put(project, "0001.json", {**RECORD, "started": 1.0})
    put(project, "0001.lock", f"{os.getpid()} {platform.node()}\n")
    assert project.jobs.get("0001")["state"] == "interrupted"
    with pytest.raises(InputError, match="cannot be cancelled"):
        project.jobs.cancel("0001")


def test_a_job_on_another_machine_is_left_alone(project):
    path = put(project, "0001.json", {**RECORD, "started": 1.0})
    lock = put(project, "0001.lock", f"{os.getpid()} another\n")
    # As a network disk shows the lock of a process elsewhere.
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = path.read_text()
        assert project.jobs.get("0001")["state"] == "running"
        for act in (project.jobs.cancel, project.jobs.pause):
            with pytest.raises(InputError, match="another machine"):
                act("0001")
        assert path.read_text() == before
        path.write_text(json.dumps({**RECORD, "started": 1.0, "wanted": "cancel"}))
        # Past its patience: it would be killed if it were here.
        project.jobs.advance()
        assert project.jobs.get("0001")["state"] == "stopping"
    with pytest.raises(InputError, match="another machine"):
        process_of(lock)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "[" * 100_000, json.dumps({**RECORD, "queued": float("nan")})]
)
def test_a_damaged_job_is_shown_and_can_be_removed(project, desk, text):
    put(project, "0007.json", text)
    put(project, "².json", text)
    (job,) = desk.get("api/project").json()["jobs"]
    assert job["state"] == "failed"
    assert "jobs/0007.json cannot be read" in job["error"]
    answer = desk.post("api/jobs", {"action": "resume", "id": "0007"})
    assert answer.status_code == 422
    # The queue goes on.
    identifier = project.jobs.submit("mine", "Mine", {})["id"]
    assert wait_for_state(project, identifier, "finished")
    assert desk.post("api/jobs", {"action": "remove", "id": "0007"}).status_code == 200
    assert [one["id"] for one in desk.get("api/jobs").json()["jobs"]] == [identifier]


@pytest.mark.parametrize("part", ["outcome", "progress"])
def test_a_damaged_part_of_a_job_is_ignored(project, desk, part):
    put(project, "0001.json", {**RECORD, "started": 1.0})
    for text in ("[]", "{", '{"ok": NaN}', "null"):
        put(project, f"0001.{part}.json", text)
        assert desk.get("api/jobs").json()["jobs"][0]["state"] == "interrupted"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"data": "survey.csv"}, "data.path"),
        ({"data": {"path": "a\0b", "sha256": ""}}, "data.path"),
        ({"settings": []}, "settings"),
        ({"description": "x"}, "description"),
        ({"settings": {"suppress_below": "ten"}}, "settings.suppress_below"),
        ({"version": "1"}, "version"),
        ({"description": {"settings": ["AGE.kind=ordinal"]}}, "description.settings"),
        ({"description": {"form": 1}}, "description.form"),
        ({"description": {"codebook": 1}}, "description.codebook"),
        ({"name": None}, "name"),
    ],
)
def test_a_damaged_project_file_is_named(project, change, named):
    content = project.content
    (project.folder / "project.json").write_text(json.dumps(content | change))
    with pytest.raises(InputError, match=f"entry '{named}'"):
        Project(project.folder)


@pytest.mark.parametrize("text", ["[]", "{", '{"options": []}', "[" * 100_000])
def test_a_damaged_manifest_leaves_the_page_usable(project, desk, text):
    run = project.folder / "runs" / "old"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text(text)
    answer = desk.get("api/project")
    assert answer.status_code == 200
    assert [one["name"] for one in answer.json()["runs"]] == ["old"]


def test_a_codebook_that_is_not_there_any_more_is_named(project, desk):
    with project.change(project.version) as content:
        content["description"]["codebook"] = "elsewhere/ddi.xml"
    answer = desk.get("api/open")
    assert answer.status_code == 422
    assert "elsewhere/ddi.xml" in answer.json()["error"]


def test_a_job_of_an_unknown_kind_fails_and_says_where_its_log_is(project):
    put(project, "0001.json", {**RECORD, "kind": "os:system"})
    project.jobs.resume("0001")
    job = wait_for_state(project, "0001", "finished", "failed")
    assert "os:system" in job["error"]
    assert "jobs/0001.log" in job["error"]
    assert any("KeyError" in line for line in project.jobs.get("0001")["log"])
