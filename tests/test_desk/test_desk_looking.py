"""Look: the report with its policy, groups, small counts, and two runs side by side."""

import json
import shlex

import numpy as np
import pytest
from desk_project import Desk, wait_for_state

from tabsoda import load_result
from tabsoda.desk.run_comparison import compare_answers, compare_settings, expected_largest
from tabsoda.desk.steps.looking import compare_runs, look_at, look_summary, report_command
from tabsoda.errors import InputError
from tabsoda.report.variables import describe_variables


def test_flags_lead_to_questions_that_can_be_opened(finished):
    found = look_summary(finished, "first")
    report = json.loads((finished.run_folder("first") / "report.json").read_text("utf-8"))
    assert found["report"]["flags"] == report["flags"]
    imputed = [one["name"] for one in report["variables"] if one["imputed"]]
    assert [one["name"] for one in found["report"]["questions"]] == imputed
    named = {name for flag in report["flags"] for name in flag["columns"]}
    assert named <= set(imputed)
    # The newest finished run is shown if none is named.
    assert look_summary(finished, None)["run"] == "second"
    # What the first page of a survey of hundreds of questions needs stays small.
    assert len(json.dumps(found)) < 200_000


def test_one_question_is_described_as_in_the_report(finished):
    result = load_result(finished.run_folder("first"))
    whole = {one["name"]: one for one in describe_variables(result)}
    found = look_at(finished, "first", "HOURS", None)
    assert found["numbers"]["imputed"] == whole["HOURS"]["numbers"]["imputed"]
    by_sex = look_at(finished, "first", "HOURS", "SEX")["strata"]
    assert [one["group"] for one in by_sex][:2] == ["1", "2"]
    position, sex = result.table.names.index("HOURS"), result.table.names.index("SEX")
    men = result.table.values[:, sex] == 0
    answered = result.table.states.answered[:, position] & men
    assert by_sex[0]["answered"] == answered.sum()
    mean = result.table.values[answered, position].mean()
    assert by_sex[0]["numbers"]["observed"]["mean"] == pytest.approx(mean)


def test_small_counts_are_withheld(finished):
    with finished.change(finished.version) as content:
        content["settings"]["suppress_below"] = 1000
    # The report was written without withholding: neither its page nor its numbers are shown.
    assert look_summary(finished, "first")["report"] is None
    found = look_at(finished, "first", "HOURS", "SEX")
    assert found["states"]["answered"] is None
    assert [one["imputed"] for one in found["strata"]] == [None] * len(found["strata"])
    assert "--suppress-below 1000" in report_command(finished, finished.run_folder("first"))
    compared = compare_runs(finished, "first", "second")
    assert all(row["kind"] == "mean" for row in compared["questions"])


def test_settings_of_two_runs(finished):
    found = {row["what"]: row for row in compare_runs(finished, "first", "second")["settings"]}
    assert (found["seed"]["first"], found["seed"]["second"]) == ("1", "2")
    assert found["draws"]["differs"]
    same = ("TabSODA", "hash: data", "cells: answered", "quality")
    assert not any(found[name]["differs"] for name in same)
    assert compare_settings({"tabsoda": "1"}, {"tabsoda": "2"})[0]["differs"]
    with pytest.raises(InputError, match="two different runs"):
        compare_runs(finished, "first", "first")


def test_differences_between_runs_are_those_of_the_completed_tables(finished):
    first, second = (load_result(finished.run_folder(name)) for name in ("first", "second"))
    rows = {row["name"]: row for row in compare_answers(first, second)["questions"]}
    tables = [[result.complete(m) for m in range(1, len(result) + 1)] for result in (first, second)]
    hours = [np.array([t["HOURS"].mean() for t in side]) for side in tables]
    row = rows["HOURS"]
    assert row["first"] == pytest.approx(hours[0].mean())
    assert row["second"] == pytest.approx(hours[1].mean())
    assert row["second_spread"] == pytest.approx(hours[1].std(ddof=1))
    noise = np.sqrt(sum(side.var(ddof=1) / len(side) for side in hours))
    observed = first.table.values[:, first.table.names.index("HOURS")]
    unit = np.nanstd(observed)
    assert row["noise"] == pytest.approx(noise / unit)
    assert row["size"] == pytest.approx(abs(hours[0].mean() - hours[1].mean()) / unit)
    level = int(rows["MARITAL"]["level"].split()[0])
    shares = [np.mean([(t["MARITAL"] == level).mean() for t in side]) for side in tables]
    assert [rows["MARITAL"]["first"], rows["MARITAL"]["second"]] == pytest.approx(shares)
    levels = first.table.columns[first.table.names.index("MARITAL")].levels
    drawn = [[[(t["MARITAL"] == one).mean() for one in levels] for t in side] for side in tables]
    noises = np.sqrt(sum(np.var(side, axis=0, ddof=1) / len(side) for side in drawn))
    assert rows["MARITAL"]["noise"] == pytest.approx(expected_largest(noises))
    sizes = [row["size"] for row in compare_answers(first, second)["questions"]]
    assert sizes == sorted(sizes, reverse=True)
    # A run does not differ from itself.
    assert {row["size"] for row in compare_answers(first, first)["questions"]} == {0.0}


def test_the_noise_of_shares_is_that_of_the_largest_difference():
    """Two runs that differ in random numbers only: size and noise are alike on average."""
    rng = np.random.default_rng(5)
    for k in (2, 3, 6):
        share = rng.dirichlet(np.full(k, 4.0))
        spread = np.sqrt(share * (1 - share) / 400)
        drawn = rng.multinomial(400, share, size=4000) / 400 - share
        largest = np.sqrt((np.abs(drawn).max(axis=1) ** 2).mean())
        assert expected_largest(spread) == pytest.approx(largest, rel=0.08)
    assert expected_largest(np.array([0.2])) == pytest.approx(0.2, rel=1e-3)
    assert expected_largest(np.zeros(3)) == 0.0


def test_the_report_has_a_policy_of_its_own(serve, finished):
    desk = Desk(serve(finished).address)
    with desk.client:
        answer = desk.get("api/look/report?run=first")
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        # Its script runs, but in an origin of its own, from which the desk cannot be reached.
        assert "sandbox allow-scripts" in policy
        assert "connect-src" not in policy
        assert "default-src 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        for name in ("nothing", "../first", "first/../second"):
            assert desk.get("api/look/report", params={"run": name}).status_code == 422
        for path in ("api/look?run=nothing", "api/look/question?run=first&name=NOTHING"):
            assert desk.get(path).status_code == 422
        assert desk.change("api/look/report", run="first", strata=["NOTHING"]).status_code == 422


@pytest.mark.slow
def test_a_report_with_groups_is_written_as_the_command_does(serve, finished, monkeypatch):
    from tabsoda.cli.main import main

    desk = Desk(serve(finished).address)
    with desk.client:
        job = desk.change("api/look/report", run="first", strata=["SEX"]).json()["job"]
        done = wait_for_state(finished, job["id"], "finished", "failed")
    assert done["state"] == "finished", done
    folder = finished.run_folder("first")
    written = (folder / "report.json").read_text("utf-8")
    assert list(json.loads(written)["strata"]) == ["SEX"]
    main(report_command(finished, folder, ["SEX"]).replace("runs/first", str(folder)).split()[1:])
    assert (folder / "report.json").read_text("utf-8") == written
    # Without groups: the command and the Python that the page shows.
    monkeypatch.chdir(finished.folder)
    shown = look_summary(finished, "first")["commands"]
    main(shlex.split(shown["shell"][0])[1:])
    plain = (folder / "report.json").read_text("utf-8")
    assert plain != written
    (folder / "report.json").unlink()
    exec("\n".join(shown["python"]), {})
    assert (folder / "report.json").read_text("utf-8") == plain
