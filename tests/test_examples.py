"""The examples run as they are, and print what they promise."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tabsoda import check, read_survey
from tabsoda.datasets import make_survey

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
QUALITY = "tiny"


def _run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), str(folder), QUALITY],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested_and_listed() -> None:
    names = sorted(path.name for path in EXAMPLES.glob("*.py"))
    listed = re.findall(r"`(\w+\.py)`", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert names == sorted(listed)
    tested = re.findall(r'_run\("(\w+\.py)"', Path(__file__).read_text(encoding="utf-8"))
    assert names == sorted(tested)


@pytest.mark.slow
def test_first_imputation(tmp_path: Path) -> None:
    text = _run("first_imputation.py", tmp_path)
    counts = re.search(r"(\d+) without children, (\d+) without an age", text)
    assert counts is not None
    # A stray answer in spite of the routing is kept; nobody else has a youngest child.
    assert 0 <= int(counts[1]) - int(counts[2]) <= 2
    completed = pl.read_parquet(tmp_path / "completed_5.parquet")
    mask = pl.read_parquet(tmp_path / "skip.parquet")
    for name in mask.columns:
        assert completed[name].is_null().to_list() == mask[name].to_list(), name


def test_mining_and_review(tmp_path: Path) -> None:
    text = _run("mining_and_review.py", tmp_path)
    assert "HOURS is skipped when WORK is anything but 1 'Employee'" in text
    approved = re.search(r"(\d+) approved, (\d+) rejected", text)
    assert approved is not None
    statuses = re.findall(r'status = "(\w+)"', (tmp_path / "rules.toml").read_text("utf-8"))
    assert statuses.count("approved") == int(approved[1]) > 20
    assert statuses.count("rejected") == int(approved[2])


@pytest.mark.slow
def test_routing(tmp_path: Path) -> None:
    text = _run("routing.py", tmp_path)
    observed = int(re.findall(r"observed: (\d+)", text)[0])
    follow, keep = (
        [int(n) for n in re.findall(rf"{policy}: ([\d, ]+) in", text)[0].split(",")]
        for policy in ("follow", "keep")
    )
    assert len(follow) == len(keep) == 5
    assert max(follow) <= observed < min(keep)
    truth = make_survey(n_rows=400, seed=1, nonresponse=0.08)
    table = read_survey(tmp_path / "followed.parquet", truth.schema()).table
    assert check(table, truth.rules).totals["unexplained"] == 0


@pytest.mark.slow
def test_sensitivity(tmp_path: Path) -> None:
    text = _run("sensitivity.py", tmp_path)
    assert "Design: weights FINALWGT, strata (3), clusters (30)" in text
    refused = re.search(r"(\d+) imputed answers of INCOME:refused", text)
    assert refused is not None
    assert int(refused[1]) > 0
    assert len(re.findall(r"^ *\+?[\d.]+ +\+?[\d.]+ +[\d,]+ ", text, flags=re.MULTILINE)) == 15
    assert "<svg" in (tmp_path / "sensitivity.svg").read_text(encoding="utf-8")


def test_questionnaire(tmp_path: Path) -> None:
    text = _run("questionnaire.py", tmp_path)
    assert "per_day is skipped when smokes is 2 'No'" in text
    assert "0 answers against the form" in text
    draws = re.findall(r"draw \d: (\d+) smokers without an answer, (\d+) others with one", text)
    assert draws == [("0", "0")] * 3


@pytest.mark.slow
def test_edits(tmp_path: Path) -> None:
    text = _run("edits.py", tmp_path)
    observed = int(re.findall(r"observed: (\d+)", text)[0])
    without, edited = (
        [int(n) for n in re.findall(rf"{name} edits: ([\d, ]+) violations", text)[0].split(",")]
        for name in ("without", "with")
    )
    assert edited == [observed] * 3
    assert sum(without) > 3 * observed
    table = pl.read_parquet(tmp_path / "with_edits.parquet")
    index = table["KILOS"] / (table["HEIGHT"] / 100) ** 2
    assert (table["BMI"] - index).abs().max() < 1e-6


@pytest.mark.slow
def test_from_spss(tmp_path: Path) -> None:
    text = _run("from_spss.py", tmp_path)
    assert "Pooled over 20 imputations" in text
    assert re.search(r"^AGE +-?\d", text, flags=re.MULTILINE)
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_way_from_spss_takes_fifteen_lines() -> None:
    source = (EXAMPLES / "from_spss.py").read_text(encoding="utf-8")
    shown = source.split("# The fifteen lines.\n")[1]
    lines = [line for line in shown.splitlines() if line.strip()]
    assert len(lines) <= 15
    assert len(ast.parse(shown).body) >= 8


@pytest.mark.parametrize("name", [path.name for path in sorted(EXAMPLES.glob("*.py"))])
def test_examples_say_how_to_run_them(name: str) -> None:
    document = ast.get_docstring(ast.parse((EXAMPLES / name).read_text(encoding="utf-8")))
    assert document is not None
    assert f"python examples/{name}" in document
