"""The desk answers its own page and nobody else, within limits."""

import json
import os
import socket
import subprocess
import sys

import httpx
import pytest
from desk_project import Desk, files_of, wait_for
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda.cli.demo import _program
from tabsoda.desk.app import PAGE
from tabsoda.desk.project import Project
from tabsoda.desk.server import DeskServer, address_of
from tabsoda.errors import InputError
from tabsoda.review.app import PAGE as SHARED

POSTS = (
    *("api/open", "api/open/correct", "api/open/undo", "api/open/options"),
    *("api/routing/mine", "api/routing/edits", "api/routing/approve", "api/routing/reviewer"),
    *("api/impute", "api/impute/plan", "api/jobs", "api/finish"),
)


def state_of(project):
    """Return the files of a project, without the address of its server."""
    return {name: text for name, text in files_of(project.folder).items() if name != "server.json"}


def test_the_address_has_to_be_known(desk):
    for address in (
        desk.origin,
        f"{desk.origin}/api/project",
        desk.address.rstrip("/")[:-1] + "/api/project",
        f"{desk.origin}/page/desk.js",
        f"{desk.origin}/review/",
    ):
        answer = desk.client.get(address)
        assert answer.status_code == 403, address
        assert "survey.csv" not in answer.text
    assert desk.get("api/project", headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": None}, {"x-tabsoda-review": None}],
    ids=["another site", "no origin", "no header"],
)
def test_a_forged_request_changes_nothing(desk, project, headers):
    before = state_of(project)
    body = {"version": project.version, "path": "/etc/passwd", "settings": ["AGE.kind=nominal"]}
    for path in POSTS:
        assert desk.post(path, body, **headers).status_code == 403, path
    kept = {k: v for k, v in (desk.headers | headers).items() if v is not None}
    query = {"name": "a.csv", "version": project.version}
    answer = desk.client.post("api/open/upload", params=query, content=b"a\n1\n", headers=kept)
    assert answer.status_code == 403
    assert state_of(project) == before
    for path in POSTS:
        assert desk.get(path).status_code in (200, 405), path


def test_a_stale_page_changes_nothing(desk, project):
    old = desk.version
    assert desk.change("api/open/correct", settings=["AGE.kind=nominal"]).status_code == 200
    before = state_of(project)
    for path, body in (
        ("api/open/correct", {"settings": ["AGE.kind=ordinal"]}),
        ("api/open/undo", {}),
        ("api/open/options", {"unlisted": "missing"}),
        ("api/routing/mine", {}),
        ("api/routing/reviewer", {"reviewer": "Ann"}),
        ("api/impute", {"choice": {"name": "run-1"}}),
    ):
        answer = desk.post(path, {"version": old, **body})
        assert answer.status_code == 409, path
        assert "changed since this page was loaded" in answer.json()["error"]
    for version in (str(old + 1), None, [old + 1], True, old + 2):
        assert desk.post("api/open/undo", {"version": version}).status_code == 409
    assert desk.upload("a.csv", b"a,b\n1,2\n", version=old).status_code == 409
    # What was uploaded in vain is removed again.
    assert state_of(project) == before


@settings(max_examples=25)
@given(
    path=st.sampled_from([path for path in POSTS if path != "api/finish"]),
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
def test_no_request_breaks_the_server(any_desk, path, body):
    desk, project = any_desk
    names = ("path", "settings", "choice", "action", "id", "unlisted", "reviewer", "use")
    body = dict.fromkeys(names, body) | {"version": project.version}
    answer = desk.client.post(
        path, content=json.dumps(body), headers=desk.headers | {"content-type": "application/json"}
    )
    assert answer.status_code in (200, 422), answer.text
    assert answer.status_code == 200 or answer.json()["error"]


@pytest.fixture(scope="module")
def any_desk(tmp_path_factory):
    """Serve one empty project to many requests."""
    import threading

    project = Project(tmp_path_factory.mktemp("any") / "project")
    server = DeskServer(project)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    desk = Desk(server.address)
    with desk.client:
        yield desk, project
    server.stop()
    thread.join(10)


def test_oversized_and_broken_requests_are_refused(desk, project):
    before = state_of(project)
    for content in (b"{", b"[]", b"[" * 100_000, b'"' + b"x" * 300_000 + b'"'):
        answer = desk.client.post("api/open/correct", content=content, headers=desk.headers)
        assert answer.status_code == 400
    project.largest_upload = 1000
    assert desk.upload("big.csv", b"a\n" + b"1\n" * 600).status_code == 422

    def chunks():
        # Without a length, it is counted while it arrives.
        for _ in range(4):
            yield b"1\n" * 200

    query = {"name": "big.csv", "version": desk.version}
    answer = desk.client.post(
        "api/open/upload", params=query, content=chunks(), headers=desk.headers
    )
    assert answer.status_code == 422
    assert "--largest-upload" in answer.json()["error"]
    assert state_of(project) == before


@pytest.mark.parametrize(
    "name",
    ["../a.csv", "/tmp/a.csv", "a/b.csv", "..\\a.csv", ".hidden.csv", "a.exe", "a\n.csv", ""],
)
def test_the_name_of_an_upload_stays_inside(desk, project, name):
    before = state_of(project)
    assert desk.upload(name, b"a\n1\n").status_code == 422
    assert state_of(project) == before


def test_nothing_is_loaded_from_elsewhere_and_pages_are_small(desk):
    for path in ("", "page/desk.js", "shared/dom.js", "api/open", "api/open/map.png", "api/impute"):
        answer = desk.get(path)
        assert answer.status_code == 200, path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
    size = 0
    for file in PAGE.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        size += len(text.encode())
        assert "http" not in text, file.name
        assert "innerHTML" not in text, file.name
        # The policy forbids styles in attributes.
        assert file.suffix != ".js" or "style:" not in text, file.name
        assert len(text.splitlines()) <= 300, file.name
    shared = [SHARED / name for name in ("api.js", "dom.js", "base.css")]
    assert size + sum(path.stat().st_size for path in shared) < 200_000
    for outside in ("page/../app.py", "page/%2e%2e/app.py", "shared/..%2fapp.py"):
        assert desk.get(outside).status_code in (403, 404)


def test_a_project_is_open_once(project):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tabsoda.cli.main", "desk", str(project.folder)]
    command += ["--no-browser"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address = [first.stdout.readline() for _ in range(2)][1].strip()
        second = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=60
        )
        assert second.returncode == 0
        assert address in second.stdout
        assert "already open" in second.stdout
        # Not a page that shows what the command withholds.
        refused = subprocess.run(
            [*command, "--suppress-below", "10"],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )
        assert refused.returncode == 2
        assert "--suppress-below 10" in refused.stderr
        desk = Desk(address)
        with desk.client:
            assert desk.post("api/finish", {}).json() == {"finished": True}
        assert first.wait(20) == 0
    finally:
        first.kill()
        first.wait()
        first.stdout.close()
    assert not (project.folder / "server.json").exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, trust_env=False)


def test_a_path_that_cannot_be_looked_up_is_reported(desk):
    for path in ("~nobody_has_this_name/a.csv", "/" + "x" * 5000):
        answer = desk.change("api/open", path=path)
        assert answer.status_code in (422, 500)
        assert "does not exist" in answer.json()["error"] or "too long" in answer.json()["error"]
    content = b'{"version": 1, "path": "\\ud800"}'
    answer = desk.client.post("api/open", content=content, headers=desk.headers)
    assert answer.status_code == 400


def test_a_full_disk_is_named_on_the_page(desk, project, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("tabsoda.desk.jobs.write_json", full)
    answer = desk.change("api/routing/mine")
    assert answer.status_code == 500
    assert "No space left on device" in answer.json()["error"]


def test_requests_without_a_path_or_an_end_are_answered(desk, project, capfd):
    host, port = desk.origin.removeprefix("http://").split(":")
    head = f"Host: {host}:{port}\r\nOrigin: {desk.origin}\r\nX-Tabsoda-Review: 1\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(f"OPTIONS * HTTP/1.1\r\n{head}\r\n".encode())
        assert b" 403 " in line.recv(100)
    token = desk.address.rstrip("/").rpartition("/")[2]
    for path in ("api/open/upload?name=a.csv&version=1", "api/open/correct"):
        with socket.create_connection((host, int(port)), timeout=10) as line:
            line.sendall(
                f"POST /{token}/{path} HTTP/1.1\r\n{head}Content-Length: 99\r\n\r\na".encode()
            )
            if "upload" in path:
                wait_for(lambda: list((project.folder / "data").glob(".upload.*")))
        wait_for(lambda: not list((project.folder / "data").glob(".upload.*")))
        assert desk.get("api/jobs").status_code == 200
    # Nothing for the terminal: neither is an error of the program.
    assert capfd.readouterr().err == ""


def test_what_a_killed_server_left_is_removed_and_its_address_checked(empty, serve, tmp_path):
    left = empty.folder / "data" / ".upload.abc"
    left.parent.mkdir()
    left.write_text("half")
    serve(empty)
    wait_for(lambda: not left.exists() and address_of(empty.folder))
    for address in ("http://evil.example/", "file:///etc/passwd", "http://127.0.0.1:1@evil/x/"):
        (empty.folder / "server.json").write_text(json.dumps({"address": address}))
        assert address_of(empty.folder) is None


def test_a_project_that_cannot_be_written_to_is_named(empty, monkeypatch):
    def refuse(path, content):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("tabsoda.desk.server.write_json", refuse)
    with pytest.raises(InputError, match="cannot be written to"):
        DeskServer(empty).run()


def test_the_demo_names_a_program_that_a_shell_finds(monkeypatch, tmp_path):
    """After `make demo`, tabsoda is in a folder in which a shell does not look."""
    program = tmp_path / "tabsoda"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert _program() == str(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _program() == "tabsoda"
