"""``tabsoda pool``: what it prints, in 80 columns and as JSON, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tabsoda import load_result
from tabsoda.analysis import (
    SampleDesign,
    pooled_by,
    pooled_mean,
    pooled_proportions,
    pooled_quantile,
    pooled_ratio,
    pooled_table,
)
from tabsoda.cli.main import main


@pytest.fixture(scope="session")
def folder(result, tmp_path_factory):
    """Write the result to a folder, with six blank weights."""
    blank = pl.when(pl.int_range(pl.len()) < 6).then(None).otherwise(pl.col("weight"))
    survey = replace(result.survey, frame=result.survey.frame.with_columns(weight=blank))
    path = tmp_path_factory.mktemp("pool") / "out"
    replace(result, survey=survey).save(path)
    return path


@pytest.fixture
def pool(folder, capsys, monkeypatch):
    """Return a function that runs the command at 80 columns and returns the lines printed."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        main(["pool", str(folder), *words])
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        return lines

    return run


@pytest.fixture
def as_json(folder, capsys):
    def run(*words):
        main(["pool", str(folder), *words, "--json"])
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def refused(folder, capsys):
    def run(*words):
        with pytest.raises(SystemExit) as caught:
            main(["pool", str(folder), *words])
        assert caught.value.code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        return printed.err

    return run


def test_a_model_is_shown_with_labels_and_n(pool):
    lines = pool(
        "--formula", "age ~ smokes + health", "--where", "age >= 20", "--weights", "weight"
    )
    assert lines[0] == "age ~ smokes + health (gaussian)"
    assert lines[1] == "Where age >= 20"
    text = "\n".join(lines)
    assert "outside the subset" in text
    assert "blank weight" in text
    assert "smokes (vs 1 'Yes')" in lines
    assert any(line.startswith("  2 'No'") for line in lines)
    assert "[T.2]" not in text


def test_a_model_as_json_has_raw_terms_labels_and_n(as_json, folder):
    formula = "I(smokes == 1) ~ age + region"
    options = ["--family", "binomial", "--exponentiate", "--weight", "weight"]
    found = as_json("--formula", formula, *options)
    assert (found["formula"], found["family"], found["weights"]) == (formula, "binomial", "weight")
    assert found["kind"] == "odds ratio"
    assert found["n"]["used"] == [74] * 4
    assert found["n"]["left_out"] == {"blank weight": [6] * 4}
    south = found["estimates"][1]
    assert (south["term"], south["label"]) == ("region[T.south]", "region: south (vs north)")
    assert south["ratio"] == pytest.approx(np.exp(south["estimate"]))
    assert south["ratio_low"] == pytest.approx(np.exp(south["low"]))
    expected = load_result(folder).pool(formula, family="binomial", weights="weight")
    assert [one["estimate"] for one in found["estimates"]] == expected.estimates.tolist()
    assert all(one["df"] <= 74 for one in found["estimates"])


def test_odds_ratios_are_shown_instead_of_coefficients(pool):
    options = ["--family", "binomial", "--exponentiate"]
    lines = pool("--formula", "I(smokes == 1) ~ age", *options, "--no-design")
    assert lines[-1] == "Not used from the description: weight (--no-design)"
    assert "odds ratio" in lines[3]
    assert "std error" not in lines[3]


def test_models_by_group(pool, as_json):
    lines = pool("--formula", "age ~ health", "--by", "smokes")
    titles = [line for line in lines if line.startswith("smokes: ")]
    assert [title.split(";")[0] for title in titles] == ["smokes: 1 'Yes'", "smokes: 2 'No'"]
    found = as_json("--formula", "age ~ health", "--by", "smokes")
    assert [one["group"]["label"] for one in found["groups"]] == ["Yes", "No"]
    assert [one["group"]["code"] for one in found["groups"]] == [1, 2]
    used = np.array([one["n"]["used"] for one in found["groups"]]).sum(axis=0)
    assert used.tolist() == found["n"]["used"] == [74] * 4


def test_medians_and_quantiles(pool, as_json, refused, folder):
    lines = pool("--median", "age", "cigarettes", "--weights", "weight")
    assert lines[1] == "age: N = 74 of 80 respondents; left out: 6 blank weight"
    rows = [line.split()[0] for line in lines if line.startswith(("age ", "cigarettes "))]
    assert rows == ["age", "cigarettes"]
    wanted = ["--quantile", "age:0.25", "age:0.75", "--by", "smokes"]
    lines = pool(*wanted)
    assert [line for line in lines if line.endswith("by smokes")] == [
        "age: 0.25 quantile by smokes",
        "age: 0.75 quantile by smokes",
    ]
    found = as_json(*wanted)["results"][0]
    expected = pooled_by(load_result(folder), "smokes", pooled_quantile, "age", [0.25, 0.75])
    for shown, one in zip(found["groups"], expected.values(), strict=True):
        assert shown["kind"] == "quantile"
        assert [row["estimate"] for row in shown["estimates"]] == one.estimates.tolist()
        assert [row["std_error"] for row in shown["estimates"]] == one.std_errors.tolist()
    assert "a question, a colon and a number" in " ".join(refused("--quantile", "age").split())
    assert "age:1.5" in refused("--quantile", "age:1.5")
    assert "--median and --quantile" in refused("--median", "age", "--quantile", "age:0.9")


def test_groups_with_labels_of_one_character(pool):
    assert any(line.split()[0] == "3" for line in pool("--mean", "age", "--by", "health"))


def test_means(pool, as_json, folder):
    lines = pool("--mean", "age", "cigarettes", "--weights", "weight")
    assert lines[1] == "age: N = 74 of 80 respondents; left out: 6 blank weight"
    assert "left out: 6 blank weight, 42 question" in lines[2]
    rows = [line.split()[0] for line in lines if line.startswith(("age ", "cigarettes "))]
    assert rows == ["age", "cigarettes"]
    found = as_json("--mean", "age", "cigarettes", "--weights", "weight")["results"]
    expected = pooled_mean(load_result(folder), "cigarettes", weights="weight")
    assert found[1]["estimates"][0]["estimate"] == expected.estimates[0]
    assert found[1]["estimates"][0]["label"] == "cigarettes"
    grouped = pool("--mean", "age", "health", "--by", "region")
    assert "age by region" in grouped
    assert "health by region" in grouped
    assert "Not estimated: region sea: nobody" in grouped


def test_shares(pool, as_json, folder):
    lines = pool("--share", "smokes", "region", "--where", "age > 25")
    assert any(line.startswith("  1 'Yes'") and "%" in line for line in lines)
    found = as_json("--share", "smokes", "--where", "age > 25")["results"][0]
    expected = pooled_proportions(load_result(folder), "smokes", where="age > 25")
    assert [one["low"] for one in found["estimates"]] == expected.intervals()[:, 0].tolist()
    assert [one["label"] for one in found["estimates"]] == ["smokes: 1 'Yes'", "smokes: 2 'No'"]


def test_tables(pool, as_json, folder):
    lines = pool("--table", "region", "smokes", "--weights", "weight")
    assert "region (rows) by smokes (columns), % of row with 95 % interval" in lines
    assert any(line.startswith("All") for line in lines)
    found = as_json("--table", "region", "smokes", "--weights", "weight")["results"][0]
    expected = pooled_table(load_result(folder), "region", "smokes", weights="weight")
    shares = [one["estimate"] for one in found["rows"][1]["estimates"]]
    assert shares == expected.rows["south"].estimates.tolist()
    assert [row["group"]["code"] for row in found["rows"]] == ["north", "south", "west"]
    assert found["total"]["n"]["used"] == [74] * 4
    by = as_json("--table", "region", "smokes", "--by", "health")["results"][0]
    assert by["groups"][0]["rows"][0]["group"]["column"] == "region"
    pool("--table", "region", "health", "--by", "smokes")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Only one kind of estimate"),
        (["--mean", "age", "--share", "smokes"], "--mean and --share"),
        (["--mean", "age", "--exponentiate"], "--exponentiate only apply to models"),
        (["--mean", "age", "--where", "aeg > 3"], "'aeg' named in where .* Similar names: age"),
        (["--mean", "age", "--by", "regions"], "'regions' named in by .* Similar names: region"),
        (["--mean", "agee"], "Similar names: age"),
        (["--mean", "age", "--where", "age > 900"], "No respondents are left to estimate age"),
        (["--mean", "region"], "'region' has levels that are not numbers"),
        (["--share", "age"], "'age' has no levels"),
        (["--table", "smokes", "age"], "'age' has no levels"),
        (["--formula", "age ~ Health"], "'Health' named in the formula .* Similar names: health"),
        (["--formula", "age ~ health", "--weights", "wieght"], "Similar names: weight"),
        (["--formula", "health ~ age", "--family", "binomial"], "does not match the family"),
        (["--formula", "age ~ I(__import__('os').getcwd())"], "not allowed.*__import__"),
        (["--mean", "age", "--where", "__import__('os').getcwd() == 1"], "not allowed.*__import__"),
    ],
)
def test_what_is_refused(words, message, refused):
    import re

    assert re.search(message, refused(*words))


def test_the_design_is_used_and_named(pool, as_json, refused, folder):
    lines = pool("--mean", "age")
    assert "Design from the description: weights weight; variance by linearisation." in lines
    words = ["--mean", "age", "--strata", "smokes", "--clusters", "person", "--population", "0.1"]
    lines = pool(*words)
    shown = " ".join(lines[-4:])
    assert "Design: weights weight, strata smokes (2), clusters person (74), population" in shown
    found = as_json(*words)
    assert found["design"]["n_clusters"] == 74
    assert found["weights"] == "weight"
    design = SampleDesign("weight", "smokes", "person", 0.1)
    expected = pooled_mean(load_result(folder), "age", design=design)
    assert found["results"][0]["estimates"][0]["std_error"] == expected.std_errors[0]
    assert found["results"][0]["complete_df"] == 72
    plain = as_json("--mean", "age", "--no-design")
    assert plain["design"] is None
    assert plain["results"][0]["n"]["used"] == [80] * 4
    assert "has only one cluster" in refused("--mean", "age", "--strata", "person")


def test_totals_and_ratios(pool, as_json, refused, folder):
    lines = pool("--total", "cigarettes", "age")
    assert [line.split()[0] for line in lines if line.startswith(("age ", "cigarettes "))] == [
        "cigarettes",
        "age",
    ]
    found = as_json("--ratio", "cigarettes:age", "--where", "smokes == 1")["results"][0]
    expected = pooled_ratio(load_result(folder), "cigarettes", "age", where="smokes == 1")
    assert found["estimates"][0]["estimate"] == expected.estimates[0]
    assert found["estimates"][0]["term"] == "cigarettes / age"
    assert "two questions with a colon" in refused("--ratio", "age")
