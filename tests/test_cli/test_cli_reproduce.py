"""``tabsoda reproduce``: output for a terminal, exit codes, JSON."""

import json

import pytest

from public_file_stand_ins import nsduh_file, write
from tabsoda.cli.main import main

FEW = (
    "--quick",
    "--methods",
    "mice",
    "--mechanisms",
    "mar",
    "--replications",
    "1",
    "--rows",
    "120",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write(nsduh_file(200), tmp_path_factory.mktemp("nsduh") / "NSDUH_2021.csv")


def test_the_tables_fit_a_narrow_terminal(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["reproduce", "nsduh", str(file), "-o", str(tmp_path / "out"), *FEW])
    shown = capsys.readouterr().out
    assert "1 cells were run, 0 had been run before, 0 failed." in shown
    assert "Imputation performance, NSDUH, 30 % MAR (the paper's Table 2)" in shown
    assert "Skips mined on NSDUH against its codebook (the paper's Table 4)" in shown
    # No method of the ablation has run.
    assert "Table 3" not in shown
    assert max(map(len, shown.split("\n\nIn ")[0].splitlines())) <= 80


def test_a_dry_run_as_json(file, tmp_path, capsys):
    out = tmp_path / "out"
    main(["reproduce", "nsduh", str(file), "-o", str(out), "--dry-run", "--json"])
    document = json.loads(capsys.readouterr().out)
    # 9 methods, 3 mechanisms, 50 replications.
    assert document["cells"] == 1350
    assert document["variables"]["BMI2"] == "continuous"
    assert not out.exists()


def test_bad_input_has_exit_code_2(file, tmp_path, capsys):
    for arguments, message in (
        (("path", file), "reproduce nsduh"),
        (("nsduh",), "No file was given"),
        (("nsduh", tmp_path), "no data file"),
        (("nsduh", file, "--methods", "magic"), "no such method"),
        (("nsduh", file, "--mechanisms", "luck"), "mechanisms.0"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["reproduce", *map(str, arguments), "-o", str(tmp_path / "out")])
        assert caught.value.code == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()
