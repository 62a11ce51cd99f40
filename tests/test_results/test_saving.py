"""Results saved in Python: the folder of the command, and what ``load_result`` reads."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tabsoda import RuleSet, TabSODAImputer, impute_file, load_result, read_survey
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.errors import InputError, OutputExistsError
from tabsoda.results.result_folder import load_manifest


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a survey, its description, its rules (not reviewed) and a mask."""
    folder = tmp_path_factory.mktemp("survey")
    survey = make_survey(250, n_columns=12, seed=3, nonresponse=0.1)
    survey.write(folder)
    survey.rules.to_toml(folder / "rules.toml")
    text = (folder / "rules.toml").read_text()
    (folder / "rules.toml").write_text(text.replace('"approved"', '"proposed"'))
    return folder


def _command(place, out, *options):
    files = ["--survey", str(place / "survey.toml"), "-o", str(out), "--device", "cpu"]
    main(
        [
            "impute",
            str(place / "survey.csv"),
            *files,
            "--quality",
            "tiny",
            "-m",
            "2",
            "--seed",
            "4",
            *options,
        ]
    )


def _imputer(**options):
    return TabSODAImputer(quality="tiny", random_state=4, device="cpu", **options)


def _assert_same_folder(one, other):
    """Check that two results hold the same files with the same contents, but for times."""
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert names == sorted(str(p.relative_to(other)) for p in other.rglob("*") if p.is_file())
    for name in names:
        if name.endswith(".json"):
            contents = [_without_times(json.loads((f / name).read_text())) for f in (one, other)]
            assert contents[0] == contents[1], name
        elif name != "report.html":
            assert (one / name).read_bytes() == (other / name).read_bytes(), name


def _without_times(content):
    """Leave out seconds, and hashes of files that hold seconds."""
    if isinstance(content, list):
        return [_without_times(item) for item in content]
    if not isinstance(content, dict):
        return content
    kept = {k: v for k, v in content.items() if "seconds" not in k}
    timed = ("record/record.json", "model/model.json", "model/imputer.json")
    timed += ("model.json", "own_sha256")
    return {k: _without_times(v) for k, v in kept.items() if k not in timed}


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--rules", "rules.toml", "--accept-all"], {"accept_unreviewed": True}),
        (["--mine", "--accept-all"], {"skips": "mine", "accept_unreviewed": True}),
        (["--skip-mask", "skip.parquet", "--unlisted", "missing"], {}),
    ],
    ids=["rules", "mine", "mask"],
)
def test_a_few_lines_of_python_write_the_folder_of_the_command(
    place, tmp_path, options, parameters, monkeypatch
):
    monkeypatch.chdir(place)
    _command(place, tmp_path / "command", *options)
    mask, rules = "--skip-mask" in options, "--rules" in options
    survey = read_survey(
        place / "survey.csv",
        place / "survey.toml",
        skip_mask=place / "skip.parquet" if mask else None,
        unlisted="missing" if mask else "error",
    )
    imputer = _imputer(rules=place / "rules.toml" if rules else None, **parameters)
    result = imputer.fit(survey).impute(survey, m=2)
    result.save(tmp_path / "python", report=True)
    _assert_same_folder(tmp_path / "command", tmp_path / "python")


def test_impute_file_is_the_command(place, tmp_path):
    _command(place, tmp_path / "command", "--no-report")
    imputer = _imputer(description=place / "survey.toml")
    impute_file(place / "survey.csv", imputer, tmp_path / "python", m=2, report=False)
    _assert_same_folder(tmp_path / "command", tmp_path / "python")


@pytest.fixture(scope="module")
def result(place):
    rules = RuleSet.from_toml(place / "rules.toml").approve()
    frame = pl.read_csv(place / "survey.csv", infer_schema_length=None)
    imputer = _imputer(description=place / "survey.toml", rules=rules)
    return imputer.fit(frame).impute(frame, m=2)


def test_what_is_saved_is_loaded(result, tmp_path):
    manifest = result.save(tmp_path / "out")
    loaded = load_result(tmp_path / "out")
    for number in (1, 2):
        assert np.array_equal(loaded.values(number), result.values(number), equal_nan=True)
    assert [*loaded.events] == [*result.events]
    assert loaded.routing == result.routing
    assert manifest == load_manifest(tmp_path / "out")
    assert manifest["options"]["seed"] == 4
    # Saved again without its model, the result still states how it came about.
    again = loaded.save(tmp_path / "again")
    assert again["options"] == manifest["options"]
    assert not (tmp_path / "again" / "model").exists()


def test_the_model_of_a_saved_result_imputes_new_rows(result, place, tmp_path):
    result.save(tmp_path / "out")
    model = TabSODAImputer.load(tmp_path / "out" / "model", device="cpu")
    again = model.impute(pl.read_csv(place / "survey.csv", infer_schema_length=None), m=2)
    assert np.array_equal(again.values(2), result.values(2), equal_nan=True)
    assert again.run.files.keys() >= {"model", "model_tensors"}


def test_fitting_again_does_not_change_the_model_of_a_result(place, tmp_path):
    survey = read_survey(place / "survey.csv", place / "survey.toml")
    imputer = _imputer().fit(survey)
    result = imputer.impute(survey, m=1)
    imputer.set_params(random_state=9).fit(survey)
    result.save(tmp_path / "out")
    model = TabSODAImputer.load(tmp_path / "out" / "model", device="cpu")
    assert model.random_state == 4
    assert np.array_equal(model.impute(survey, m=1).values(1), result.values(1), equal_nan=True)


def test_frames_of_pandas_are_saved_in_the_form_of_the_file(place, tmp_path):
    import pandas as pd

    frame = pd.read_csv(place / "survey.csv", low_memory=False)
    result = _imputer(description=place / "survey.toml").fit(frame).impute(frame, m=1)
    result.save(tmp_path / "out")
    saved = pl.read_parquet(tmp_path / "out" / "imputations" / "001.parquet")
    assert saved.columns == list(frame.columns)
    loaded = load_result(tmp_path / "out")
    assert np.array_equal(loaded.values(1), result.values(1), equal_nan=True)


def test_folders_that_are_not_free_are_left_alone(result, place, tmp_path):
    result.save(tmp_path / "out")
    with pytest.raises(OutputExistsError, match="contains a finished result"):
        result.save(tmp_path / "out")
    result.save(tmp_path / "out", force=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "point.parquet").write_text("keep")
    with pytest.raises(OutputExistsError, match="would overwrite files"):
        result.save(tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "point.parquet").read_text() == "keep"


def test_a_plain_array_is_not_saved(tmp_path):
    values = np.random.default_rng(0).normal(size=(60, 3))
    values[:5, 1] = np.nan
    result = _imputer().fit(values).impute(values, m=1)
    with pytest.raises(InputError, match="plain array cannot be saved"):
        result.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_rules_are_used_without_a_fit(place, tmp_path):
    survey = read_survey(place / "survey.csv", place / "survey.toml")
    imputer = _imputer().fit(survey)
    with pytest.raises(InputError, match="are not reviewed"):
        imputer.use_rules(place / "rules.toml")
    imputer.use_rules(place / "rules.toml", accept_unreviewed=True)
    result = imputer.impute(survey, m=1)
    rules = RuleSet.from_toml(place / "rules.toml")
    assert (result.skipped_in(1) & ~survey.states.skipped).any()
    assert imputer.prepare(survey).rules == rules
    assert Path(result.run.files["rules"].path).name == "rules.toml"
