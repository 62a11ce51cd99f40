"""Projects of a small survey, and the desk as its own script sees it."""

import time
from pathlib import Path

import httpx

from tabsoda.desk.project import Project

ENDED = ("finished", "failed", "cancelled", "interrupted")


def wait_for(seen, seconds: float = 60.0):
    """Return the first true value of a function."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = seen()
        if found:
            return found
        time.sleep(0.03)
    raise AssertionError("it did not happen in time")


def wait_for_state(project: Project, identifier: str, *states: str) -> dict:
    """Return a job once it is in one of the states; waiting jobs are started meanwhile."""

    def seen():
        project.jobs.advance()
        job = project.jobs.get(identifier)
        return job if job["state"] in states else None

    return wait_for(seen)


class Desk:
    """The desk as its own script sees it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.origin = "/".join(address.split("/")[:3])
        self.client = httpx.Client(base_url=address, trust_env=False, timeout=60)
        self.headers = {"origin": self.origin, "x-tabsoda-review": "1"}

    def get(self, path: str, **options):
        return self.client.get(path, **options)

    def post(self, path: str, body, **headers):
        kept = {name: text for name, text in (self.headers | headers).items() if text is not None}
        return self.client.post(path, json=body, headers=kept)

    def change(self, address: str, /, **body):
        return self.post(address, {"version": self.version, **body})

    def upload(self, name: str, content: bytes, **query):
        query = {"name": name, "version": self.version} | query
        return self.client.post(
            "api/open/upload", params=query, content=content, headers=self.headers
        )

    @property
    def version(self) -> int:
        return self.get("api/project").json()["version"]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
