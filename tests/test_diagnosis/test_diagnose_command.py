"""``tabsoda diagnose`` on a small file, with every method it compares by default."""

import json

import pytest

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagnose")
    truth = make_survey(300, n_columns=10, seed=2)
    truth.write(folder)
    truth.rules.to_toml(folder / "rules.toml")
    return folder


def arguments(data, out, *more):
    survey = ["--survey", str(data / "survey.toml"), "--rules", str(data / "rules.toml")]
    where = ["-o", str(out), "--device", "cpu"]
    return ["diagnose", str(data / "survey.csv"), *survey, *where, "--quality", "tiny", *more]


def test_table_picture_and_json_say_the_same(data, tmp_path, capsys):
    out = tmp_path / "new" / "out"
    main(arguments(data, out, "--rows", "250", "--share", "0.2"))
    printed = capsys.readouterr().out
    found = json.loads((out / "diagnosis.json").read_text())
    assert [one["name"] for one in found["methods"]] == [
        "mode",
        "boosting",
        "default-engine",
    ]
    assert found["rows"] == 250
    assert "A sample: 250 of 300 respondents" in printed
    assert max(map(len, printed.split("Chart:")[0].splitlines())) <= 80
    known = [one for one in found["variables"] if one["verdict"] != "too few"]
    assert known
    for one in known:
        line = next(line for line in printed.splitlines() if line.startswith(one["name"] + " "))
        errors = [f"{one['methods'][m]['error']:.3f}" for m in one["methods"]]
        assert line.split()[2:5] == errors
    page = (out / "diagnosis.html").read_text()
    assert all(one["name"] in page for one in found["variables"])


def test_what_is_there_is_not_overwritten_and_names_are_checked(data, tmp_path, capsys):
    (tmp_path / "diagnosis.html").write_text("mine")
    for more, message in (
        ((), "already exists"),
        (("--methods", "default-engine,magic", "--force"), "Unknown method"),
        (("--methods", "mode", "--force"), "No method in --methods uses --quality"),
        (("--methods", "default-engine", "--preset", "small", "--force"), "uses --preset"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments(data, tmp_path, *more))
        assert caught.value.code == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "diagnosis.html").read_text() == "mine"
