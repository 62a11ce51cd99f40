"""Standard outputs that nobody reads or that cannot be written."""

import subprocess
import sys

import pytest

from tabsoda.cli.console import emit_json


def test_json_for_a_closed_output_is_dropped(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    emit_json({"a": 1})


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--help >&-", 0),
        # true reads nothing and closes the pipe while the help is printed.
        ("--help | true; exit ${PIPESTATUS[0]}", 0),
        ("--help > /dev/full", 2),
    ],
)
def test_help_for_an_output_that_cannot_be_written_ends_in_order(line, code):
    command = f"'{sys.executable}' -m tabsoda.cli.main {line}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
