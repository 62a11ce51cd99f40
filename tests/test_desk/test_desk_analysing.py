"""Analyse: what the page estimates is what the commands estimate; kept analyses; bad requests."""

import json
import shlex
import shutil
import threading

import httpx
import numpy as np
import pytest
from desk_project import Desk, wait_for_state
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda import load_result
from tabsoda.analysis.request import EstimateRequest
from tabsoda.analysis.saved_sensitivity import load_analyses
from tabsoda.cli.main import main
from tabsoda.desk.kept_analyses import keep, kept_analyses, remove
from tabsoda.desk.project import Project
from tabsoda.desk.server import DeskServer
from tabsoda.desk.small_estimates import withhold_small
from tabsoda.desk.steps.analysing import analyse_summary, estimate_picture, estimated
from tabsoda.errors import InputError
from tabsoda.publishing.tables import result_table
from tabsoda.review.session import StaleVersionError

MEAN = {"kind": "mean", "of": ["AGE", "HOURS"], "by": "SEX", "where": "AGE >= 30"}


def run_command(line, project, capsys, monkeypatch):
    """Run a command of the page in the project folder, and return what it prints."""
    monkeypatch.chdir(project.folder)
    capsys.readouterr()
    main(shlex.split(line)[1:])
    return capsys.readouterr().out


def test_the_commands_beside_a_result_give_the_same(finished, capsys, monkeypatch):
    answer = estimated(finished, {"run": "first", "request": MEAN})
    shell = answer["commands"]["shell"]
    printed = run_command(shell[0] + " --json", finished, capsys, monkeypatch)
    rows = [
        estimate
        for part in json.loads(printed)["results"]
        for group in part["groups"]
        for estimate in group["estimates"]
    ]
    shown = [float(row[2].replace(",", "")) for row in answer["rows"]]
    assert shown == pytest.approx([row["estimate"] for row in rows], rel=5e-3)
    markdown = run_command(shell[1], finished, capsys, monkeypatch)
    assert markdown == answer["copies"]["md"]
    run_command(shell[2], finished, capsys, monkeypatch)
    drawn = (finished.folder / "estimates.svg").read_text("utf-8")
    assert drawn == estimate_picture(finished, "first", json.dumps(answer["request"]))
    code = run_command(shell[3].split(" > ")[0], finished, capsys, monkeypatch)
    assert code == answer["code"]["r"]["text"]
    scope: dict = {}
    exec("\n".join(answer["commands"]["python"]), scope)
    assert "HOURS" in capsys.readouterr().out


def test_a_model_is_picked_without_typing_a_formula(finished):
    picked = {
        "outcome": "PARTNER",
        "answer": 1,
        "terms": [{"column": "AGE", "form": "curve"}, {"column": "SEX"}, {"column": "EDUC"}],
        "products": [["AGE", "SEX"]],
    }
    body = {"request": {"kind": "formula", "of": ["x"], "family": "binomial"}, "model": picked}
    answer = estimated(finished, {"run": "first", **body})
    formula = "I(PARTNER == 1) ~ AGE + I(AGE ** 2) + C(SEX) + EDUC + AGE:C(SEX)"
    assert answer["request"]["of"] == [formula]
    expected = load_result(finished.run_folder("first")).pool(formula, family="binomial")
    assert len(answer["rows"]) == len(expected.names)
    for wrong in (
        {**picked, "terms": []},
        {**picked, "answer": 9},
        {**picked, "products": [["AGE", "WORK"]]},
        {**picked, "terms": [{"column": "SEX", "form": "curve"}]},
        {**picked, "outcome": "NOTHING"},
        {**picked, "terms": 3},
    ):
        with pytest.raises(InputError):
            estimated(finished, {"run": "first", **body, "model": wrong})


def test_the_design_is_used_and_can_be_switched_off(finished):
    summary = analyse_summary(finished, "first")
    assert summary["design"]["weight"] == ["FINALWGT"]
    assert [one["name"] for one in summary["columns"]][:3] == ["CASEID", "FORM", "AGE"]
    with_design = estimated(finished, {"request": {"kind": "mean", "of": ["AGE"]}})
    assert "weights FINALWGT" in with_design["note"]
    plain = {"kind": "mean", "of": ["AGE"], "design": {"no_design": True}}
    without = estimated(finished, {"request": plain})
    assert "Design" not in without["note"]
    assert without["rows"][0][1] != with_design["rows"][0][1]


def test_kept_analyses_are_kept_once_and_by_version(finished):
    request = EstimateRequest("mean", ("AGE",))
    version = finished.version
    assert keep(finished, version, request, " Mean  age ") == 1
    with pytest.raises(StaleVersionError):
        keep(finished, version, EstimateRequest("share", ("SEX",)))
    assert keep(finished, finished.version, EstimateRequest("share", ("SEX",))) == 2
    assert keep(finished, finished.version, request, "Age") == 1
    kept = kept_analyses(finished.folder)
    assert [(one["id"], one["name"]) for one in kept] == [(1, "Age"), (2, "Shares of SEX")]
    assert kept[0]["request"] == request
    remove(finished, finished.version, 1)
    assert [one["id"] for one in kept_analyses(finished.folder)] == [2]
    (finished.folder / "analyses.json").write_text('{"format": 9}')
    with pytest.raises(InputError, match="cannot be read"):
        kept_analyses(finished.folder)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["mean", "share", "median", "total"]),
    of=st.lists(st.text("ABC xé:'", min_size=1, max_size=5), min_size=1, max_size=3),
    where=st.none() | st.text("AB >=1'\" ", min_size=1, max_size=12),
    lonely=st.sampled_from(["fail", "adjust"]),
    no_design=st.booleans(),
)
def test_requests_survive_json_and_the_shell(kind, of, where, lonely, no_design):
    content = {"kind": kind, "of": of, "where": where, "by": None}
    content["design"] = {"lonely": lonely, "no_design": no_design, "weights": "W"}
    request = EstimateRequest.from_dict(content)
    assert EstimateRequest.from_dict(json.loads(json.dumps(request.to_dict()))) == request
    words = shlex.split(request.command("a folder"))
    assert words[:3] == ["tabsoda", "pool", "a folder"]
    assert words[words.index(f"--{kind}") + 1 : words.index(f"--{kind}") + 1 + len(of)] == of
    assert where is None or words[words.index("--where") + 1] == where


def test_groups_and_answers_of_few_are_withheld(finished):
    result = load_result(finished.run_folder("first"))
    request = EstimateRequest("table", ("REGION", "EDUC"), by="SEX")
    parts = request.estimate(result)
    table = result_table(request, withhold_small(request, parts, result, 20))
    used = [int(row[2].text.split()[0]) for row in table.rows]
    assert used
    assert min(used) >= 20
    assert any(entry.text == "–" for row in table.rows for entry in row)
    assert "fewer than 20 respondents" in table.note
    assert withhold_small(request, parts, result, 0) == parts
    old = EstimateRequest("mean", ("AGE",), where="AGE > 88")
    with pytest.raises(InputError, match="withheld"):
        withhold_small(old, old.estimate(result), result, 100)


def test_rare_answers_are_counted_without_weights(finished):
    result = load_result(finished.run_folder("first"))
    request = EstimateRequest("share", ("EDUC",))
    (shares,) = request.estimate(result)
    column = result.table.names.index("EDUC")
    counts = np.mean(
        [
            [(result.values(m)[:, column] == level).sum() for level in range(6)]
            for m in range(1, len(result) + 1)
        ],
        axis=0,
    )
    below = int(np.sort(counts)[2]) + 1
    (hidden,) = withhold_small(request, [shares], result, below)
    assert np.array_equal(np.isnan(hidden.estimates), np.ceil(counts) < below)
    # One alone is what the others leave of 1, so that a second one is withheld.
    (two,) = withhold_small(request, [shares], result, int(np.sort(counts)[0]) + 1)
    assert np.isnan(two.estimates).sum() == 2


def test_a_sensitivity_analysis_is_kept_as_the_command_keeps_it(serve, finished, capsys):
    desk = Desk(serve(finished).address)
    body = {"run": "first", "request": {"kind": "mean", "of": ["HOURS"]}, "shifts": ["HOURS=-1..1"]}
    with desk.client:
        answer = desk.change("api/analyse/sensitivity", **body, null=35).json()
        done = wait_for_state(finished, answer["job"]["id"], "finished", "failed")
        assert done["state"] == "finished", done
        picture = desk.get("api/analyse/sensitivity.svg?run=first&number=0")
        assert picture.headers["content-type"].startswith("image/svg+xml")
        assert "HOURS" in picture.text
        assert desk.get("api/analyse/sensitivity.svg?run=first&number=9").status_code == 422
        summary = desk.get("api/analyse?run=first").json()["sensitivity"]
        assert "HOURS" in summary[0]["text"]
        for wrong in (
            {"shifts": []},
            {"shifts": ["NOTHING=-1..1"]},
            {"null": "x"},
            {"shifts": "x"},
        ):
            assert desk.change("api/analyse/sensitivity", **{**body, **wrong}).status_code == 422
    folder = finished.run_folder("first")
    ours = load_analyses(folder)[0].to_dict()
    (line,) = answer["commands"]["shell"]
    main(shlex.split(line.replace("runs/first", str(folder)))[1:])
    # It replaces the analysis of the page: the two are the same.
    assert [one.to_dict() for one in load_analyses(folder)] == [ours]


def test_requests_that_are_no_requests_are_refused(serve, finished):
    desk = Desk(serve(finished).address)
    good = {"kind": "mean", "of": ["AGE"]}
    with desk.client:
        for wrong in (
            [],
            {},
            {"kind": "mean"},
            {"kind": "mean", "of": "AGE"},
            {"kind": "mean", "of": [3]},
            {"kind": "mean", "of": ["AGE"] * 200},
            {"kind": "nothing", "of": ["AGE"]},
            {**good, "extra": 1},
            {**good, "where": 5},
            {**good, "where": "AGE >"},
            {**good, "design": {"lonely": "x"}},
            {**good, "design": {"weights": 3}},
            {"kind": "formula", "of": ["AGE ~ __import__('os').system('true')"]},
            {"kind": "quantile", "of": ["AGE:2"]},
        ):
            answer = desk.change("api/analyse/estimate", run="first", request=wrong)
            assert answer.status_code == 422, wrong
            assert answer.json()["error"]
        assert desk.change("api/analyse/estimate", run="first", request=good).status_code == 200
        # A stale version, another site, a body that is too large.
        stale = desk.post("api/analyse/keep", {"version": -1, "request": good})
        assert stale.status_code == 409
        body = {"version": desk.version, "request": good}
        assert desk.post("api/analyse/keep", body, origin="http://evil.test").status_code == 403
        assert desk.post("api/analyse/keep", body, **{"x-tabsoda-review": None}).status_code == 403
        large = {**good, "where": "A" * 300_000}
        assert desk.change("api/analyse/estimate", request=large).status_code == 400
        assert kept_analyses(finished.folder) == []
        foreign = httpx.get(desk.address + "api/analyse", headers={"host": "evil.test"})
        assert foreign.status_code == 403
        picture = desk.get("api/analyse/picture.svg", params={"run": "first", "request": "[1]"})
        assert picture.status_code == 422


PATHS = (
    "api/look/report",
    "api/analyse/estimate",
    "api/analyse/keep",
    "api/analyse/remove",
    "api/analyse/sensitivity",
    "api/export/write",
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
GOOD = {"kind": "mean", "of": ["AGE"]}
NEARLY = {"kind": st.just("mean"), "of": st.just(["AGE"]), "where": ANY, "design": ANY}
FIELDS = {
    "run": st.sampled_from(["first", "..", ""]) | ANY,
    "request": st.just(GOOD) | st.fixed_dictionaries(NEARLY) | ANY,
    "model": st.none() | st.fixed_dictionaries({"outcome": ANY, "terms": ANY, "products": ANY}),
    "shifts": ANY,
    "strata": ANY,
    "null": ANY,
    "to": ANY,
    "id": ANY,
    "name": ANY,
}


@pytest.fixture(scope="module")
def shared_desk(two_runs, tmp_path_factory):
    """Serve one copy of the project to many requests."""
    folder = tmp_path_factory.mktemp("shared") / "study"
    shutil.copytree(two_runs, folder)
    project = Project(folder)
    server = DeskServer(project)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    desk = Desk(server.address)
    with desk.client:
        yield desk, project
    server.stop()
    thread.join(10)


@settings(max_examples=60, deadline=None)
@given(path=st.sampled_from(PATHS), body=st.fixed_dictionaries({}, optional=FIELDS))
def test_no_request_breaks_these_steps(shared_desk, path, body):
    desk, project = shared_desk
    # Also with Infinity and NaN, which Python reads as JSON.
    content = json.dumps({"version": project.version, **body})
    headers = desk.headers | {"content-type": "application/json"}
    answer = desk.client.post(path, content=content, headers=headers)
    assert answer.status_code in (200, 422), answer.text
    assert answer.status_code == 200 or answer.json()["error"]


def test_the_last_kept_analysis_can_be_removed(empty):
    request = EstimateRequest("mean", ("AGE",))
    number = keep(empty, empty.version, request)
    remove(empty, empty.version, number)
    assert kept_analyses(empty.folder) == []
    assert keep(empty, empty.version, request) == 1
    path = empty.folder / "analyses.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(InputError, match="another format"):
        kept_analyses(empty.folder)
