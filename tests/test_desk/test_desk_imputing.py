"""Steps 2 and 3: rules, edits and runs; the commands beside them write the same files."""

import base64
import json
import os
import shlex
import shutil
import signal

import polars as pl
import pytest
from desk_project import wait_for, wait_for_state
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.desk.imputation_choice import QUALITIES, ImputationChoice
from tabsoda.desk.job_lock import process_of
from tabsoda.desk.project import Project
from tabsoda.desk.steps.routing import routing_summary
from tabsoda.errors import InputError
from tabsoda.imputer.file_imputation import plan_file
from tabsoda.report.state_map import state_map
from tabsoda.review.reviewer import save_rules
from tabsoda.skips.rule_set import RuleSet


def submit(desk, path, project, **body):
    assert desk.change(path, **body).status_code == 200
    job = desk.get("api/jobs").json()["jobs"][0]["id"]
    return wait_for_state(project, job, "finished", "failed")


def test_rules_are_mined_reviewed_and_kept(desk, project):
    assert submit(desk, "api/routing/mine", project)["state"] == "finished"
    shown = desk.get("api/routing").json()
    rules = RuleSet.from_toml(project.rules)
    assert shown["rules"]["proposed"] == shown["rules"]["all"] == len(rules)
    # The page of the review, with the project's rules and its own name for the reviewer.
    assert desk.change("api/routing/reviewer", reviewer="Ann Smith").status_code == 200
    review = desk.get("review/api/rules").json()
    assert [rule["id"] for rule in review["rules"]] == [rule.identifier for rule in rules]
    body = {"version": review["version"], "ids": ["r001"], "action": "approve"}
    assert desk.post("review/api/decide", body).status_code == 200
    decided = RuleSet.from_toml(project.rules)["r001"]
    assert (decided.status.value, decided.by) == ("approved", "Ann Smith")
    assert desk.post("review/api/finish", {}).json()["next"] == "../#routing"
    # Mining again would lose the decision, so it has to be confirmed.
    assert desk.change("api/routing/mine").status_code == 422
    before = project.rules.read_text()
    assert submit(desk, "api/routing/mine", project, replace=True)["state"] == "finished"
    assert (project.folder / "rules.previous.toml").read_text() == before
    assert not any("--accept-all" in line for line in answer_of(desk)["commands"]["shell"])
    answer = desk.change("api/routing/approve").json()
    assert answer["newly_approved"] == answer["rules"]["approved"] == len(rules)
    # The command that did this is shown once it was done.
    last = answer["commands"]["shell"][-1]
    assert last == "tabsoda review rules.toml --accept-all --by 'Ann Smith'"


def answer_of(desk):
    return desk.get("api/routing").json()


def test_the_routing_step_shows_what_the_rules_skip(desk, project):
    assert answer_of(desk)["cells"] is None
    assert desk.get("api/routing/map.png").status_code == 422
    submit(desk, "api/routing/mine", project)
    survey, rules = project.survey(), RuleSet.from_toml(project.rules)
    states = rules.apply(survey.table)
    found = answer_of(desk)["cells"]
    assert found["before"]["skipped"] == survey.states.skipped.sum() == 0
    assert found["after"]["skipped"] == states.skipped.sum() > 0
    assert found["after"]["missing"] == found["before"]["missing"] - found["after"]["skipped"]
    image = base64.b64decode(state_map(states)["image"].partition(",")[2])
    assert desk.get("api/routing/map.png").content == image
    # A rejected rule skips nothing.
    save_rules(rules.reject([rule.identifier for rule in rules], "no", by="Ann"), project.rules)
    later = answer_of(desk)["cells"]
    assert later["after"] == later["before"]
    assert later["map"] != found["map"]
    # Small counts are withheld, together with one from which they follow.
    project.jobs.stop()
    with project.change(project.version) as content:
        content["settings"]["suppress_below"] = 10**9
    assert set(answer_of(desk)["cells"]["after"].values()) <= {None, 0}


def test_rules_of_another_survey_are_named_in_the_routing_step(desk, project):
    other = make_survey(n_rows=300, n_columns=40, seed=3)
    other.rules.to_toml(project.rules)
    shown = answer_of(desk)
    assert shown["rules"]["all"] > 0
    assert "error" in shown["cells"]
    assert desk.get("api/routing/map.png").status_code == 422


def test_edits_are_proposed_and_approved_beside_the_rules(desk, project, monkeypatch):
    place = project.folder.parent / "copy"
    shutil.copytree(project.folder, place)
    submit(desk, "api/routing/mine", project)
    found = submit(desk, "api/routing/edits", project)["result"]["edits"]
    shown = desk.get("api/routing").json()
    assert shown["edits"] == {"all": found, "approved": 0}
    assert found > 0
    monkeypatch.chdir(place)
    mine, edits, move, _ = map(shlex.split, shown["commands"]["shell"])
    main(mine[1:])
    main(edits[1:])
    assert move[0] == "mv"
    os.replace(move[1], move[2])
    for name in ("survey.toml", "rules.toml"):
        assert (place / name).read_text() == (project.folder / name).read_text()
    # Approved on the review page: one line of survey.toml changes, and the session stays.
    listed = desk.get("review/api/edits").json()["edits"]
    version = desk.get("review/api/rules").json()["version"]
    decide = {"version": version, "ids": ["r001"], "action": "reject"}
    assert desk.post("review/api/decide", decide).json()["can_undo"]
    body = {"number": 0, "approved": True, "rule": listed[0]["rule"]}
    assert desk.post("review/api/edits", body).status_code == 200
    assert routing_summary(project)["edits"]["approved"] == 1
    assert desk.get("review/api/rules").json()["can_undo"]


def test_the_plan_is_that_of_the_command(desk, project):
    choice = {"name": "run-1", "quality": "tiny", "draws": 3}
    plan = desk.change("api/impute/plan", choice=choice).json()
    imputer = ImputationChoice(**choice).imputer(project, project.folder)
    known = plan_file(project.data, imputer, m=3).to_dict()
    for name in ("rows", "cells", "to_impute", "unresolved", "left_missing", "variables"):
        assert plan[name] == known[name]
    assert plan["seconds"] > 0
    assert not (project.folder / "runs").exists()


def test_rules_that_nobody_reviewed_are_refused_before_the_job(desk, project):
    submit(desk, "api/routing/mine", project)
    n_jobs = len(project.jobs.summary())
    answer = desk.change("api/impute", choice={"name": "run-1", "quality": "tiny"})
    assert answer.status_code == 422
    assert "review" in answer.json()["error"]
    assert len(project.jobs.summary()) == n_jobs


@pytest.mark.parametrize("name", ["", " ", "../x", "a/b", ".hidden", "x" * 200, 7, None])
def test_the_name_of_a_run_stays_inside(project, name):
    with pytest.raises(InputError, match="name of a run"):
        project.run_folder(name)


@given(
    quality=st.sampled_from(QUALITIES),
    draws=st.integers(0, 1000),
    seed=st.integers(0, 2**63 - 1),
    terms=st.lists(st.sampled_from(["AGE:SEX", "AGE:AGE"]), unique=True),
    ignore_design=st.booleans(),
    accept_all=st.booleans(),
)
def test_the_command_of_a_choice_has_its_options(
    bare, quality, draws, seed, terms, ignore_design, accept_all
):
    choice = ImputationChoice(
        "my run", quality, draws, seed, tuple(terms), False, ignore_design, True, accept_all
    )
    assert ImputationChoice.from_request(json.loads(json.dumps(choice.to_dict()))) == choice
    words = shlex.split(choice.commands(bare)["shell"][0])
    value = {words[n]: words[n + 1] for n in range(len(words) - 1)}
    assert (value["--quality"], value["-m"], value["--seed"]) == (quality, str(draws), str(seed))
    assert value["-o"] == "runs/my run"
    assert [words[n + 1] for n, w in enumerate(words) if w == "--interaction"] == terms
    assert ("--ignore-design" in words) == ignore_design
    assert ("--accept-all" in words) == accept_all
    for line in choice.commands(bare)["python"]:
        compile(line, "", "exec")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("bare") / "project")


@pytest.mark.slow
def test_a_run_that_is_killed_continues_to_the_same_result(desk, project, monkeypatch):
    submit(desk, "api/routing/mine", project)
    desk.change("api/routing/approve")
    choice = {"name": "run-1", "quality": "tiny", "draws": 4, "seed": 7}
    commands = desk.change("api/impute/commands", choice=choice).json()
    place = project.folder.parent / "copy"
    shutil.copytree(project.folder, place)
    assert desk.change("api/impute", choice=choice).status_code == 200
    job = desk.get("api/jobs").json()["jobs"][0]["id"]
    folder = project.folder / "runs" / "run-1"
    wait_for(lambda: (folder / ".checkpoint").is_dir(), 120)
    os.killpg(process_of(project.jobs.folder / f"{job}.lock"), signal.SIGKILL)
    assert wait_for_state(project, job, "interrupted", "finished")["state"] == "interrupted"
    assert desk.post("api/jobs", {"action": "resume", "id": job}).status_code == 200
    done = wait_for_state(project, job, "finished", "failed")
    assert done["state"] == "finished", done["error"]
    monkeypatch.chdir(place)
    main(shlex.split(commands["shell"][0])[1:])
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.parquet"))
    assert len(files) >= 7
    for file in files:
        assert pl.read_parquet(folder / file).equals(pl.read_parquet(place / "runs/run-1" / file))
    # The Python beside it makes the same run as well.
    shutil.rmtree(place / "runs")
    exec("\n".join(commands["python"]), {})
    for file in files:
        assert pl.read_parquet(folder / file).equals(pl.read_parquet(place / "runs/run-1" / file))
    assert [run["name"] for run in project.summary()["runs"] if run["finished"]] == ["run-1"]
