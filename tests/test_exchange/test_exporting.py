"""``tabsoda export`` and ``tabsoda pool``: what they write and say, and nothing half done."""

import json
import os
import subprocess
import sys

import pytest

from tabsoda.cli.main import main
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.exchange import TARGETS, export
from tabsoda.exchange.names import NameRule, name_map
from tabsoda.results.result_folder import load_result


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("to", TARGETS)
def test_every_export_says_what_it_wrote(to, both, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["export", str(both[1]), "--to", to, "-o", str(tmp_path / "new" / "out")])
    printed = capsys.readouterr().out
    files = sorted(path.name for path in (tmp_path / "new" / "out").iterdir())
    assert all(f"out/{name}" in printed for name in files)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]
    record = json.loads((tmp_path / "new" / "out" / "export.json").read_text())
    assert (record["to"], record["imputations"], record["rows"]) == (to, 3, 60)


def test_an_export_is_overwritten_when_asked_and_other_files_stay(both, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["export", str(both[1]), "--to", "csv", "-o", str(out)]
    main(command)
    (out / "my_notes.txt").write_text("mine")
    (out / "reasons.csv").write_text("changed")
    assert "add --force" in refused(capsys, *command)
    assert (out / "reasons.csv").read_text() == "changed"
    main([*command, "--force"])
    assert (out / "reasons.csv").read_text() != "changed"
    assert (out / "my_notes.txt").read_text() == "mine"


def test_folders_that_are_something_else_are_left_alone(both, tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("years of work")
    message = refused(capsys, "export", both[1], "--to", "r", "-o", tmp_path, "--force")
    assert "other files than an export" in message
    assert "a folder" in refused(
        capsys, "export", both[1], "--to", "r", "-o", tmp_path / "thesis.txt"
    )
    # Not even the result itself is a place for its export.
    assert "other files" in refused(
        capsys, "export", both[1], "--to", "r", "-o", both[1], "--force"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("to", TARGETS)
def test_a_full_disk_leaves_nothing_behind(to, both, tmp_path):
    code = f"""
import resource, sys
from tabsoda.cli.main import main
from tabsoda.results.result_folder import load_result
load_result({str(both[1])!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
main(["export", {str(both[1])!r}, "--to", {to!r}, "-o", {str(tmp_path / "out")!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(both, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written to"):
        export(both[0], "csv", tmp_path / "out")
    tmp_path.chmod(0o700)


def test_what_cannot_be_exported(both, tmp_path):
    from dataclasses import replace

    with pytest.raises(InputError, match=r"Unknown export format.*stata or r or spss"):
        export(both[0], "excel", tmp_path / "out")
    with pytest.raises(InputError, match="plain array"):
        export(replace(both[0], survey=None), "csv", tmp_path / "out")
    none = replace(both[0].cells, draws=both[0].cells.draws[:0])
    with pytest.raises(InputError, match="no imputation to export"):
        export(replace(both[0], cells=none), "csv", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_names_stay_where_they_can_and_never_clash():
    rule = NameRule("SAS", 8, frozenset({"_n_"}))
    names = ["toolongname1", "toolongn", "TOOLONGN", "_n_", "ok", "über", "a b", "a_b", ""]
    events = EventLog()
    found = name_map(names, rule, events, taken=("ok",))
    assert found["toolongn"] == "toolongn"
    assert found["a_b"] == "a_b"
    assert all(rule.accepts(name) for name in found.values())
    assert len({name.lower() for name in found.values()} | {"ok"}) == len(names) + 1
    assert {event.column for event in events} == set(names) - {"toolongn", "a_b"}


def test_pool_prints_a_table_and_json(both, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    folder = str(both[1])
    main(["pool", folder, "--formula", "health ~ C(smokes)"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "health ~ C(smokes) (gaussian)"
    assert lines[1] == "Pooled over 3 imputations (Rubin's rules)"
    assert max(map(len, lines)) <= 80
    main(["pool", folder, "--formula", "health ~ C(smokes)", "--json"])
    found = json.loads(capsys.readouterr().out)
    expected = load_result(folder).pool("health ~ C(smokes)")
    assert [e["estimate"] for e in found["estimates"]] == expected.estimates.tolist()
    assert [e["std_error"] for e in found["estimates"]] == expected.std_errors.tolist()


def test_pool_tells_what_is_wrong(both, tmp_path, capsys):
    message = refused(capsys, "pool", both[1], "--formula", "health ~ nobody")
    assert "'nobody' named in the formula is not in this result" in message
    assert "does not contain a result" in refused(capsys, "pool", tmp_path, "--formula", "a ~ b")
