"""``--interaction`` and ``--straight-lines`` of ``tabsoda impute`` and of the torchrun command."""

import json

import polars as pl
import pytest
from impute_runs import impute, impute_arguments, refused

from tabsoda import TabSODAImputer, load_result
from tabsoda.cli.main import main
from tabsoda.cli.torchrun import fit_together
from tabsoda.errors import InputError
from tabsoda.schema import ColumnKind
from tabsoda.schema.files import load_schema


@pytest.fixture(scope="module")
def names(survey):
    """Return two numbers of the survey."""
    numbers = load_schema(survey / "survey.toml").of_kind(ColumnKind.CONTINUOUS)
    return [one.name for one in numbers[:2]]


def test_requested_terms_are_in_the_result_and_its_model(survey, names, tmp_path, capsys):
    first, second = names
    terms = (f"{first}:{second}", f"{first}:{first}")
    words = [word for term in terms for word in ("--interaction", term)]
    impute(survey, tmp_path / "out", *words, "-m", "1", "--no-report")
    assert set(load_result(tmp_path / "out").requested_interactions) == set(terms)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["options"]["interactions"] == list(terms)
    impute_with = ["impute", str(survey / "survey.csv"), "--model", str(tmp_path / "out/model")]
    refusal = refused(capsys, *impute_with, *words, "-o", tmp_path / "new")
    assert "--interaction is for fitting, but --model is already fitted" in refusal
    assert TabSODAImputer.load(tmp_path / "out/model").interactions == list(terms)


def test_straight_lines(survey, tmp_path):
    impute(survey, tmp_path / "out", "--straight-lines", "-m", "1", "--no-report")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["regressions"]["interactions"] is False
    assert load_result(tmp_path / "out").interactions == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--interaction", "A:B", "--straight-lines"), "cannot be combined"),
        (("--interaction", "A:B", "--preset", "small"), "--interaction does not apply to the"),
        (("--straight-lines", "--preset", "small"), "--straight-lines does not apply to the"),
        (("--interaction", "NOBODY:HEARD"), "names 'NOBODY', which is not in this table"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(survey, tmp_path, capsys, options, message):
    words = impute_arguments(survey, tmp_path / "out", *options)
    assert message in refused(capsys, *words)
    assert not (tmp_path / "out").exists()


def test_shards_have_the_terms(survey, names, tmp_path):
    table = pl.read_csv(survey / "survey.csv", infer_schema_length=None)
    table.write_parquet(survey / "survey.parquet")
    term = ":".join(names)
    words = impute_arguments(
        survey, tmp_path / "out", "--interaction", term, "-m", "1", "--shard-rows", "200"
    )
    words[1] = str(survey / "survey.parquet")
    main(words)
    assert load_result(tmp_path / "out").requested_interactions == (term,)
    assert TabSODAImputer.load(tmp_path / "out/model").interactions == [term]


def test_a_fit_by_torchrun_has_the_terms(survey, names, tmp_path):
    term = ":".join(names)
    data, toml = survey / "survey.csv", survey / "survey.toml"
    options = {"survey": toml, "quality": "tiny", "interaction": (term,), "device": "cpu"}
    fit_together(data, model=tmp_path / "model", **options)
    assert TabSODAImputer.load(tmp_path / "model").interactions == [term]
    with pytest.raises(InputError, match="cannot be combined"):
        fit_together(data, model=tmp_path / "other", straight_lines=True, **options)
