"""Jobs in real processes: they wait, pause, end, are killed, and outlive the server."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from desk_project import Desk, wait_for, wait_for_state

from tabsoda.cli.main import main
from tabsoda.desk.job_lock import process_of
from tabsoda.desk.job_progress import JobProgress
from tabsoda.desk.jobs import JobQueue
from tabsoda.errors import InputError

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals of POSIX")


def mine(project):
    return project.jobs.submit("mine", "Mine", {})["id"]


def process(project, identifier):
    return process_of(project.jobs.folder / f"{identifier}.lock")


def is_stopped(process_number):
    stat = Path(f"/proc/{process_number}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


def test_a_job_writes_what_the_command_writes(project, survey_file, tmp_path):
    job = wait_for_state(project, mine(project), "finished", "failed")
    assert job["error"] is None
    other = tmp_path / "rules.toml"
    main(["mine", str(survey_file), "--survey", str(project.description), "-o", str(other)])
    assert project.rules.read_text() == other.read_text()
    assert job["result"]["rules"] == other.read_text().count("[[rule]]")


def test_a_paused_job_holds_the_queue_and_continues(project):
    first, second = mine(project), mine(project)
    project.jobs.pause(first)
    number = process(project, first)
    wait_for(lambda: is_stopped(number))
    project.jobs.advance()
    states = [job["state"] for job in project.jobs.summary()]
    assert states == ["waiting", "paused"]
    assert not project.rules.exists()
    project.jobs.resume(first)
    wait_for_state(project, first, "finished")
    job = wait_for_state(project, second, "finished")
    assert job["queued"] >= project.jobs.get(first)["queued"]


def test_a_killed_job_is_interrupted_and_runs_again(project):
    job = mine(project)
    project.jobs.pause(job)
    os.killpg(process(project, job), signal.SIGKILL)
    assert wait_for_state(project, job, "interrupted", "finished")["state"] == "interrupted"
    assert not project.rules.exists()
    project.jobs.resume(job)
    assert wait_for_state(project, job, "finished", "failed")["state"] == "finished"
    assert project.rules.exists()


def test_cancelling_ends_the_processes(project):
    running, waiting = mine(project), mine(project)
    project.jobs.pause(running)
    number = process(project, running)
    assert project.jobs.cancel(waiting)["state"] == "cancelled"
    project.jobs.cancel(running)
    # Also one that is paused.
    assert wait_for_state(project, running, "cancelled")
    wait_for(lambda: project.jobs.advance() is None and not Path(f"/proc/{number}").exists())
    assert not project.rules.exists()
    for job in (running, waiting):
        project.jobs.remove(job)
    assert project.jobs.summary() == []


def test_another_queue_sees_the_true_state(project):
    job = mine(project)
    project.jobs.pause(job)
    # What the next server knows: the files.
    later = JobQueue(project.folder)
    assert later.get(job)["state"] == "paused"
    later.resume(job)
    assert wait_for_state(project, job, "finished")


def test_a_job_outlives_the_server_that_is_killed(project):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tabsoda.cli.main", "desk", str(project.folder)]
    server = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        lines = [server.stdout.readline() for _ in range(2)]
        desk = Desk(lines[1].strip())
        with desk.client:
            assert desk.change("api/routing/mine").status_code == 200
            job = desk.get("api/jobs").json()["jobs"][0]["id"]
            assert desk.post("api/jobs", {"action": "pause", "id": job}).status_code == 200
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    assert project.jobs.get(job)["state"] == "paused"
    project.jobs.resume(job)
    assert wait_for_state(project, job, "finished")
    assert project.rules.exists()


def test_an_error_is_reported_in_the_words_of_the_library(project):
    project.description.write_text(
        "format = 1\n[[variable]]\nname = 'NOT_THERE'\nkind = 'nominal'\n"
    )
    job = wait_for_state(project, mine(project), "finished", "failed")
    assert job["state"] == "failed"
    assert "NOT_THERE" in job["error"]


def test_a_finished_job_cannot_be_changed(project):
    job = mine(project)
    wait_for_state(project, job, "finished")
    for action in ("pause", "resume", "cancel"):
        with pytest.raises(InputError, match="is finished"):
            getattr(project.jobs, action)(job)
        for unknown in ("9999", "../project", None, 1, ["0001"]):
            with pytest.raises(InputError, match="no such job"):
                getattr(project.jobs, action)(unknown)


def test_time_during_which_a_job_is_paused_does_not_count(tmp_path):
    now = [0.0]
    progress = JobProgress(tmp_path / "progress.json", clock=lambda: now[0])
    with progress.stage("Mining") as update:
        for _ in range(20):
            now[0] += 0.5
            progress.tick()
        update(1, 4, "question 1")
        assert progress.to_dict()["seconds_left"] == pytest.approx(30)
        now[0] += 3600
        progress.tick()
        assert progress.to_dict()["seconds"] == pytest.approx(12)
