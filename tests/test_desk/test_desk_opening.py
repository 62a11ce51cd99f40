"""Step 1: files come in, corrections are saved and undone, and the commands do the same."""

import re
import shlex
import shutil

import openpyxl
import polars as pl
import pytest
from desk_project import files_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda.cli.main import main
from tabsoda.desk.describing import correct, description_commands, undo
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import open_survey, take_file
from tabsoda.desk.steps.opening import open_summary
from tabsoda.errors import InputError
from tabsoda.reading import read_survey
from tabsoda.schema.files import save_schema
from tabsoda.skips.rule_set import RuleSet

FORM = {
    "survey": [
        ["type", "name", "label", "relevant", "constraint"],
        ["integer", "age", "Age", None, ". >= 15 and . <= 99"],
        ["select_one yn", "smokes", "Smoke?", None, None],
        ["integer", "a_day", "Cigarettes a day", "${smokes} = 'yes'", None],
        ["integer", "cost", "Cost", "regex(${a_day}, '1')", None],
    ],
    "choices": [["list_name", "name", "label"], ["yn", "yes", "Yes"], ["yn", "no", "No"]],
}


def run_commands(project, monkeypatch):
    """Run the shell commands of step 1 in a copy of the project, without its description."""
    place = project.folder.parent / "copy"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(project.folder, place)
    (place / "survey.toml").unlink()
    monkeypatch.chdir(place)
    for line in description_commands(project)["shell"]:
        words = shlex.split(line)
        assert words[0] == "tabsoda"
        main([*words[1:], "--force"])
    return place


def changes(project, *settings_of_one):
    correct(project, project.version, list(settings_of_one))


def test_the_commands_write_the_same_description(project, monkeypatch):
    changes(project, "EDUC.kind=ordinal", "EDUC.levels=6,5,4,3,2,1")
    changes(project, "AGE.role=ignore")
    changes(project, "SEX.missing.2=refused")
    place = run_commands(project, monkeypatch)
    assert (place / "survey.toml").read_text() == project.description.read_text()
    schema = project.survey().schema
    assert schema["EDUC"].levels == (6, 5, 4, 3, 2, 1)
    assert schema["AGE"].role == "ignore"
    assert schema["SEX"].special_codes == {2: "refused"}


NAMES = ("FORM", "SEX", "REGION", "EDUC")
SETTINGS = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(["kind=nominal", "kind=ordinal", "role=ignore"])
).map(".".join)


@settings(max_examples=8)
@given(steps=st.lists(st.none() | SETTINGS, min_size=1, max_size=6))
def test_undo_restores_every_earlier_file(survey_file, tmp_path_factory, steps):
    project = Project(tmp_path_factory.mktemp("any") / "project")
    open_survey(project, project.version, survey_file)
    texts = [project.description.read_text()]
    for step in steps:
        if step is None and len(texts) > 1:
            undo(project, project.version)
            texts.pop()
        elif step is not None:
            changes(project, step)
            texts.append(project.description.read_text())
        assert project.description.read_text() == texts[-1]
    if len(texts) > 1:
        undo(project, project.version)
        assert project.description.read_text() == texts[-2]
        undo(project, project.version, again=True)
        assert project.description.read_text() == texts[-1]


def test_a_file_changed_by_hand_is_kept(project, monkeypatch):
    changes(project, "AGE.role=ignore")
    text = project.description.read_text()
    label = 'label = "Schooling"'
    project.description.write_text(text.replace('name = "EDUC"', f'name = "EDUC"\n{label}'))
    shown = open_summary(project)
    assert shown["changed_outside"]
    assert "was changed after this" in shown["commands"]["shell"][-1]
    with pytest.raises(InputError, match="changed outside"):
        undo(project, project.version)
    changes(project, "EDUC.kind=nominal")
    schema = project.survey().schema
    assert (schema["EDUC"].label, schema["EDUC"].kind) == ("Schooling", "nominal")
    assert schema["AGE"].role == "ignore"
    place = run_commands(project, monkeypatch)
    assert (place / "survey.toml").read_text() == project.description.read_text()


@pytest.mark.parametrize("form", [".toml", ".json"])
def test_a_description_of_ones_own_is_the_start(project, tmp_path, monkeypatch, form):
    changes(project, "AGE.role=ignore", "EDUC.kind=nominal")
    mine = tmp_path / f"mine{form}"
    save_schema(project.survey().schema, mine)
    take_file(project, project.version, mine)
    assert project.content["description"]["start"] == f"survey_start{form}"
    assert open_summary(project)["corrections"] == []
    changes(project, "SEX.kind=ordinal")
    schema = project.survey().schema
    assert [schema["AGE"].role, schema["EDUC"].kind, schema["SEX"].kind] == (
        ["ignore", "nominal", "ordinal"]
    )
    place = run_commands(project, monkeypatch)
    assert (place / "survey.toml").read_text() == project.description.read_text()


def test_a_description_that_does_not_fit_leaves_the_start_in_use(project, tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    changes(project, "AGE.role=ignore")
    save_schema(project.survey().schema, good)
    take_file(project, project.version, good)
    changes(project, "SEX.kind=ordinal")
    before, text = project.content, project.description.read_text()
    for wrong in ("format = 1\n[[variable]]\nname = 'NOBODY'\nkind = 'nominal'\n", "= 1"):
        bad.write_text(wrong)
        with pytest.raises(InputError) as caught:
            take_file(project, project.version, bad)
        assert "bad.toml" in str(caught.value) or "NOBODY" in str(caught.value)
        assert project.content == before
        # A new process, which remembers nothing, reads what was read before.
        again = Project(project.folder)
        assert open_summary(again)["corrections"] == ["SEX.kind=ordinal"]
        undo(again, again.version)
        undo(again, again.version, again=True)
        assert again.description.read_text() == text
        project = again
        before = project.content
    # The next good one replaces what failed.
    take_file(project, project.version, good)
    starts = [path.name for path in project.folder.glob("survey_start*")]
    assert starts == [project.content["description"]["start"]]


def test_a_wrong_correction_changes_nothing(desk, project):
    before = files_of(project.folder)
    for wrong in (["AGE.kind=huge"], ["NOBODY.kind=nominal"], ["AGE"], "AGE.kind=nominal", [1], 7):
        answer = desk.change("api/open/correct", settings=wrong)
        assert answer.status_code == 422
        assert answer.json()["error"]
    assert files_of(project.folder) == before


def test_the_page_shows_guesses_with_reasons_and_confidence(desk, survey_file):
    shown = desk.get("api/open").json()
    known = read_survey(survey_file).schema
    rows = {row["name"]: row for row in shown["survey"]["variables"]}
    assert list(rows) == list(known.names)
    for name, row in rows.items():
        assert row["reason"] == known[name].note
        assert row["confidence"] == (known[name].confidence and known[name].confidence.value)
    flags = {flag["kind"] for flag in shown["survey"]["flags"]}
    assert "role_guessed" in flags
    details = desk.get("api/open/column", params={"name": "SEX"}).json()
    answers = pl.read_csv(survey_file)["SEX"].drop_nulls()
    counts = {level["code"]: level["count"] for level in details["levels"]}
    assert counts == dict(answers.value_counts().iter_rows())
    assert desk.get("api/open/column", params={"name": "NOBODY"}).status_code == 422


def test_small_counts_are_withheld(project):
    with project.change(project.version) as content:
        content["settings"]["suppress_below"] = 400
    shown = open_summary(project)["survey"]
    counts = [
        row[state]
        for row in shown["variables"]
        for state in ("answered", "missing")
        if state in row
    ]
    assert counts
    assert all(count is None or count == 0 for count in counts)


def test_an_uploaded_file_is_inside_and_the_project_moves(desk, project, survey_file, tmp_path):
    first_rows = b"".join(survey_file.read_bytes().splitlines(keepends=True)[:200])
    answer = desk.upload("moved.csv", first_rows)
    assert answer.json()["used_as"] == "data"
    assert project.data == project.folder / "data" / "moved.csv"
    # The description of the file before is put aside, not lost.
    assert len(list((project.folder / "replaced").rglob("survey.toml"))) == 1
    there = tmp_path / "elsewhere"
    shutil.copytree(project.folder, there)
    (there / "server.json").unlink()
    again = Project(there)
    assert again.data == there / "data" / "moved.csv"
    assert open_summary(again)["survey"] == open_summary(project)["survey"]


def test_a_file_that_cannot_be_read_changes_nothing(desk, project):
    before = files_of(project.folder)
    assert desk.upload("broken.sav", b"$FL2 nonsense").status_code == 422
    assert desk.change("api/open", path="/nowhere/survey.csv").status_code == 422
    assert files_of(project.folder) == before


def test_a_survey_that_moved_keeps_its_description(project, survey_file, tmp_path):
    changes(project, "AGE.role=ignore")
    shutil.copy(survey_file, tmp_path / "here.csv")
    with project.change(project.version) as content:
        content["data"]["path"] = str(tmp_path / "gone.csv")
    with pytest.raises(InputError, match="does not exist any more"):
        open_summary(project)
    (project.folder / "runs" / "run-1").mkdir(parents=True)
    open_survey(project, project.version, tmp_path / "here.csv")
    assert project.survey().schema["AGE"].role == "ignore"
    # Another file would not fit the runs.
    (tmp_path / "other.csv").write_text("a,b\n1,2\n2,3\n")
    with pytest.raises(InputError, match="already contains runs"):
        open_survey(project, project.version, tmp_path / "other.csv")


def test_a_bad_file_on_the_command_line_leaves_no_project(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.sav").write_bytes(b"$FL2 nonsense")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    before = files_of(tmp_path)
    for words, said in (
        (["bad.sav"], "bad.sav"),
        (["absent.csv"], "does not exist"),
        (["full"], "not a project"),
        (["bad.sav", "-o", "full"], "not empty"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["desk", *words, "--no-browser"])
        assert stop.value.code == 2
        assert said in capsys.readouterr().err
    assert files_of(tmp_path) == before
    assert not (tmp_path / "bad-desk").exists()


def test_a_questionnaire_gives_description_and_rules(empty, tmp_path, monkeypatch):
    form = openpyxl.Workbook()
    form.remove(form.active)
    for name, rows in FORM.items():
        sheet = form.create_sheet(name)
        for row in rows:
            sheet.append(row)
    form.save(tmp_path / "form.xlsx")
    smokes = ["yes", "no"] * 60
    answers = {
        "age": list(range(20, 80)) * 2,
        "smokes": smokes,
        "a_day": [7 + n % 9 if one == "yes" else None for n, one in enumerate(smokes)],
        "cost": [n % 30 for n in range(120)],
    }
    pl.DataFrame(answers).write_csv(tmp_path / "answers.csv")
    project = empty
    with pytest.raises(InputError, match="No survey is open"):
        take_file(project, project.version, tmp_path / "form.xlsx", "form")
    assert take_file(project, project.version, tmp_path / "answers.csv") == "data"
    assert take_file(project, project.version, tmp_path / "form.xlsx") == "form"
    schema = project.survey().schema
    assert (schema["age"].minimum, schema["age"].maximum) == (15, 99)
    rules = RuleSet.from_toml(project.rules)
    assert [rule.target for rule in rules] == ["a_day"]
    assert {rule.status.value for rule in rules} == {"approved"}
    form_shown = open_summary(project)["form"]
    assert [one["question"] for one in form_shown["untranslated"]] == ["cost"]
    changes(project, "cost.role=ignore")
    place = run_commands(project, monkeypatch)
    assert (place / "survey.toml").read_text() == project.description.read_text()
    texts = [(folder / "rules.toml").read_text() for folder in (place, project.folder)]
    # Approved by the form a moment later.
    assert len({re.sub(r"at = .*", "", text) for text in texts}) == 1
