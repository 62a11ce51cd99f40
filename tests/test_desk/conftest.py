"""A small survey file, a project of it, and a server for it."""

import threading
from pathlib import Path

import pytest
from desk_project import ENDED, Desk, wait_for
from finished_project import finished, two_runs  # noqa: F401

from tabsoda.datasets import make_survey
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import open_survey
from tabsoda.desk.server import DeskServer


@pytest.fixture(scope="session")
def survey_file(tmp_path_factory) -> Path:
    """Return a simulated survey as CSV."""
    folder = tmp_path_factory.mktemp("survey")
    make_survey(n_rows=300, n_columns=12, seed=3).write(folder)
    return folder / "survey.csv"


@pytest.fixture
def empty(tmp_path) -> Project:
    project = Project(tmp_path / "project")
    yield project
    for job in project.jobs.summary():
        if job["state"] not in ENDED:
            project.jobs.cancel(job["id"])
    wait_for(lambda: all(job["state"] in ENDED for job in project.jobs.summary()))


@pytest.fixture
def project(empty, survey_file) -> Project:
    open_survey(empty, empty.version, survey_file)
    return empty


@pytest.fixture
def serve():
    """Return what serves a project for the length of a test."""
    running = []

    def start(project: Project) -> DeskServer:
        server = DeskServer(project)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.stop()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def desk(serve, project):
    desk = Desk(serve(project).address)
    with desk.client:
        # The first answer comes when everything about the server is written.
        assert desk.get("api/jobs").status_code == 200
        yield desk
