"""A small survey with its rules on the desk, and a server for it."""

import threading

import pytest
from smoking_review import Page, smoking_rules, smoking_survey

from tabsoda.review.desk import Desk
from tabsoda.review.server import ReviewServer
from tabsoda.survey import Survey


@pytest.fixture(scope="session")
def smoking() -> Survey:
    return smoking_survey()


@pytest.fixture
def rules_file(smoking, tmp_path):
    path = tmp_path / "rules.toml"
    smoking_rules(smoking).to_toml(path)
    return path


@pytest.fixture
def desk(smoking, rules_file) -> Desk:
    return Desk(rules_file, smoking, "Ann")


@pytest.fixture
def serve():
    """Return what serves a desk for the length of a test."""
    running = []

    def start(desk: Desk) -> ReviewServer:
        server = ReviewServer(desk)
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
def page(serve, desk):
    page = Page(serve(desk).address)
    with page.client:
        yield page
