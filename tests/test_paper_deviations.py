"""The table of deviations from the paper: complete, up to date, and about what it says."""

import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tabsoda.bench.tables.report import fill_page
from tabsoda.datasets import make_survey

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "paper"


def load(name):
    """Import a script of the benchmark."""
    spec = importlib.util.spec_from_file_location(f"paper_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their annotations up here.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return load("deviations")


@pytest.fixture(scope="module")
def tables():
    return load("tables")


@pytest.fixture(scope="module")
def rows():
    return tomllib.loads((FOLDER / "deviations.toml").read_text(encoding="utf-8"))["rows"]


@pytest.fixture(scope="module")
def runs():
    return json.loads((FOLDER / "deviations.json").read_text(encoding="utf-8"))["runs"]


def test_every_deviation_was_measured_against_ours_on_both_surveys(script, rows, runs):
    named = [row["variant"] for row in rows if "variant" in row]
    assert sorted(named) == sorted(script.VARIANTS)
    done = {name: set() for name in (script.OURS, *named)}
    for run in runs:
        done[run["variant"]].add((run["survey"], run["replication"]))
    for found in done.values():
        assert found <= done[script.OURS]
        assert {survey for survey, _ in found} == set(script.SURVEYS)


def test_the_page_shows_what_was_measured(tables, rows, runs):
    page = (ROOT / "docs" / "paper_deviations.md").read_text(encoding="utf-8")
    assert fill_page(page, {"deviations": tables.deviation_table(rows, runs)}) == page
    both = {}
    for run in runs:
        if run["variant"] in ("ours", "churn"):
            both.setdefault((run["survey"], run["replication"]), {})[run["variant"]] = run["mace"]
    gaps = [pair["churn"] - pair["ours"] for pair in both.values() if len(pair) == 2]
    assert f"Ord. MACE {np.mean(gaps):+.3f} [" in tables.effects(runs, "churn").replace("**", "")


@pytest.mark.slow
def test_every_variant_changes_the_estimates(script):
    for group, changes in (
        ("backbone", {"width": 16}),
        ("training", {"max_epochs": 2, "batch_size": 100}),
        ("sampler", {"steps": 3, "chains": 2}),
    ):
        script.SMALL[group] |= changes
    table = make_survey(200, n_columns=20, seed=3).true_table
    # Those of settings alone are tested with the settings.
    changed = {name: variant for name, variant in script.VARIANTS.items() if not variant.settings}
    assert len(changed) == 7
    scores = {
        name: script.run(table, "path", 0, variant)
        for name, variant in {"ours": script.BASE, **changed}.items()
    }
    metrics = {
        name: tuple(found[metric] for metric in ("mace", "nominal_accuracy", "rmse"))
        for name, found in scores.items()
    }
    assert len(set(metrics.values())) == len(metrics), metrics
    # What a variant patches is put back.
    again = script.run(table, "path", 0, script.BASE)
    assert again["rmse"] == scores["ours"]["rmse"]
