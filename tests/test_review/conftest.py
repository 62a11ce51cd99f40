"""A small survey with its rules on the session, and a server for it."""

import threading

import pytest
from smoking_review import Page, smoking_rules, smoking_survey

from tabsoda.review.server import ReviewServer
from tabsoda.review.session import ReviewSession
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
def session(smoking, rules_file) -> ReviewSession:
    return ReviewSession(rules_file, smoking, "Ann")


@pytest.fixture
def serve():
    """Return what serves a session for the length of a test."""
    running = []

    def start(session: ReviewSession) -> ReviewServer:
        server = ReviewServer(session)
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
def page(serve, session):
    page = Page(serve(session).address)
    with page.client:
        yield page
