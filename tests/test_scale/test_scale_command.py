"""``tabsoda impute --shard-rows``, and how much memory it takes."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey

MILLION = Path(__file__).parents[2] / "benchmarks" / "scale" / "million.py"
TINY = ["--quality", "tiny"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    make_survey(300, 12, seed=4).write(folder, ("parquet",))
    return folder


def run(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


def test_the_command_writes_shards_and_prints_it(survey, tmp_path, capsys):
    data, out = survey / "survey.parquet", tmp_path / "out"
    arguments = ["impute", data, "--survey", survey / "survey.toml", "-o", out, "-m", 1]
    assert run(*arguments, "--skip-mask", survey / "skip.parquet", "--shard-rows", 120, *TINY) == 0
    printed = capsys.readouterr().out
    assert "300 respondents, in 3 shards" in " ".join(printed.split())
    manifest = json.loads((out / "manifest.json").read_text())
    mask = pl.read_parquet(survey / "skip.parquet")
    assert manifest["counts"]["skipped"] == sum(mask.sum().row(0))
    point = pl.read_parquet(out / "point/*.parquet")
    assert point["CASEID"].to_list() == point[".id"].to_list() == list(range(1, 301))

    new = tmp_path / "new"
    assert run("impute", data, "--model", out / "model", "-o", new, "-m", 1, "--jobs", 1) == 0
    assert json.loads((new / "manifest.json").read_text())["rounds"]
    assert "To write a report, run tabsoda report" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--codebook", "book.xml"], "--codebook cannot be combined with shards"),
        (["--model", "model", "--rules", "rules.toml"], "--rules cannot be combined with --model"),
    ],
)
def test_options_that_do_not_go_together(survey, tmp_path, capsys, options, printed):
    (tmp_path / "model").mkdir()
    for name in ("book.xml", "rules.toml", "model/model.json", "model/model.safetensors"):
        (tmp_path / name).write_text("")
    placed = [tmp_path / o if not o.startswith("--") else o for o in options]
    data = survey / "survey.parquet"
    assert run("impute", data, "-o", tmp_path / "out", "--shard-rows", 100, *placed) == 2
    assert printed in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_hundred_thousand_rows_stay_within_their_memory(tmp_path):
    """A tenth of the million rows and of its fit; what Python and torch take is not less."""
    found = tmp_path / "found.json"
    command = [sys.executable, MILLION, "--rows", "100000", "--columns", "40", "--output", found]
    options = ["--shard-rows", "10000", "--fit-rows", "10000", "--limit-gb", "1.6"]
    subprocess.run([*map(str, command), *options], check=True)
    assert json.loads(found.read_text())["peak_gb"] < 1.6
