"""``tabsoda impute``: what it writes, which skips it takes, and which options it refuses."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest
from impute_runs import (
    assert_complete,
    assert_same,
    impute,
    impute_arguments,
    refused,
    start,
)

from tabsoda import RuleSet, TabSODAImputer, mine_rules, read_survey
from tabsoda.cli.impute_settings import parse_settings
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.engine.settings import EngineSettings
from tabsoda.engines import settings_for
from tabsoda.errors import InputError
from tabsoda.paper.settings import PaperSettings


@pytest.fixture(scope="module")
def result(survey, tmp_path_factory):
    out = tmp_path_factory.mktemp("result") / "new" / "out"
    impute(survey, out, "--rules", str(survey / "rules.toml"), "-m", "3", "--seed", "1")
    return out


def test_every_output_is_there_and_right(survey, result):
    assert_complete(result)
    source = read_survey(survey / "survey.csv", survey / "survey.toml")
    rules = RuleSet.from_toml(survey / "rules.toml")
    states = rules.apply(source.table)
    written = pl.read_parquet(result / "states.parquet")
    names = ("answered", "missing", "skipped")
    codes = np.column_stack([written[name].cast(pl.String).to_numpy() for name in states.names])
    assert np.array_equal(codes, np.array(names)[states.states])
    draws = sorted(path.name for path in (result / "imputations").iterdir())
    assert draws == ["001.parquet", "002.parquet", "003.parquet"]
    raw = source.frame
    for path in result.glob("**/[p0]*.parquet"):
        table = pl.read_parquet(path)
        assert table.columns == raw.columns
        # What was missing is answered now, unless an imputed gate leads past it.
        past = rules.apply(read_survey(path, survey / "survey.toml").table).skipped
        for position, name in enumerate(states.names):
            kept, before = table[name].to_list(), raw[name].to_list()
            for row, state in enumerate(states.states[:, position]):
                if state == 1:
                    assert (kept[row] is None) == past[row, position]
                else:
                    assert kept[row] == before[row]


def test_mode_and_median_are_what_the_model_says(survey, result):
    imputer = TabSODAImputer.load(result / "model", device="cpu")
    again = imputer.impute(survey / "survey.csv", m=3)
    assert again.point("mode").equals(pl.read_parquet(result / "point.parquet"))
    assert again.point("median").equals(pl.read_parquet(result / "point_median.parquet"))
    assert again.complete(2).equals(pl.read_parquet(result / "imputations" / "002.parquet"))


def test_the_manifest_records_how_the_result_was_made(survey, result):
    manifest = json.loads((result / "manifest.json").read_text())
    assert manifest["options"]["seed"] == 1
    assert {"numpy", "polars", "torch"} <= manifest["libraries"].keys()
    counts = manifest["counts"]
    assert counts["rows"] * counts["questions"] == sum(
        counts[name] for name in ("answered", "skipped", "missing")
    )
    assert sum(manifest["imputed_by_variable"].values()) == counts["imputed"] == counts["missing"]
    data = hashlib.sha256((survey / "survey.csv").read_bytes()).hexdigest()
    assert manifest["inputs"]["data"] == {"file": "survey.csv", "sha256": data}
    assert [entry["network"] for entry in manifest["rounds"]] == [1]
    assert settings_of(result) == settings_for("tiny", 300, 14)


def settings_of(result):
    return EngineSettings.from_dict(json.loads((result / "settings.json").read_text()))


def test_without_a_quality_the_balanced_one_is_run_as_it_is(survey, tmp_path):
    main(
        [
            *("impute", str(survey / "survey.csv"), "--survey", str(survey / "survey.toml")),
            *("-o", str(tmp_path / "out"), "--device", "cpu", "-m", "1"),
        ]
    )
    assert_complete(tmp_path / "out")
    assert settings_of(tmp_path / "out") == settings_for("balanced", 300, 14)


def test_rules_are_recorded_with_their_review(survey, result):
    events = json.loads((result / "manifest.json").read_text())["events"]
    kinds = [event["kind"] for event in events]
    assert "unreviewed_rules_applied" not in kinds
    assert kinds.count("rejected_rules_not_applied") == 1
    assert kinds.count("skips_taken_from_rules") == 1


@pytest.fixture
def proposed(survey, tmp_path):
    """Return a rules file in which one rule is rejected and nobody has looked at the others."""
    text = (survey / "rules.toml").read_text()
    (tmp_path / "rules.toml").write_text(text.replace('"approved"', '"proposed"'))
    return tmp_path / "rules.toml"


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_unreviewed_rules_are_refused(survey, proposed, tmp_path, capsys, dry):
    arguments = impute_arguments(survey, tmp_path / "x", "--rules", proposed, *dry)
    message = refused(capsys, *arguments, code=3)
    rules = RuleSet.from_toml(proposed)
    assert f"{len(rules.active)} of {len(rules)} rules" in message
    assert f"tabsoda review {proposed} DATA, or add --accept-all" in message
    assert not (tmp_path / "x").exists()


def test_unreviewed_rules_are_applied_when_accepted_and_named(survey, proposed, tmp_path, capsys):
    accepted = ["--rules", str(proposed), "--accept-all"]
    impute(survey, tmp_path / "x", *accepted, "--dry-run", "--json")
    facts = json.loads(capsys.readouterr().out)
    rules = RuleSet.from_toml(proposed)
    event = next(e for e in facts["events"] if e["kind"] == "unreviewed_rules_applied")
    counts = event["counts"]
    assert (counts["rules"], counts["of_rules"]) == (len(rules.active), len(rules))
    assert counts["identifiers"] == [rule.identifier for rule in rules.active]
    assert f"{len(rules.active)} of {len(rules)} rules" in event["text"]
    skipped = sum(variable["skipped"] for variable in facts["variables"].values())
    source = read_survey(survey / "survey.csv", survey / "survey.toml")
    assert skipped == rules.apply(source.table).skipped.sum() > 0


def test_rules_of_a_model_were_accepted_with_it(survey, proposed, tmp_path, capsys):
    accepted = ["--rules", str(proposed), "--accept-all", "-m", "1"]
    impute(survey, tmp_path / "x", *accepted)
    assert json.loads((tmp_path / "x" / "manifest.json").read_text())["options"][
        "accept_unreviewed"
    ]
    capsys.readouterr()
    model = ["--model", str(tmp_path / "x" / "model"), "--dry-run", "--json"]
    main(["impute", str(survey / "survey.csv"), *model])
    events = json.loads(capsys.readouterr().out)["events"]
    reasons = [e["counts"]["why"] for e in events if e["kind"] == "unreviewed_rules_applied"]
    assert len(reasons) == 1
    assert "came with the model" in reasons[0]


def test_mined_rules_are_used_only_when_accepted(survey, tmp_path, capsys):
    arguments = impute_arguments(survey, tmp_path / "x", "--mine")
    assert "--mine together with --accept-all" in refused(capsys, *arguments, code=3)
    impute(survey, tmp_path / "x", "--mine", "--accept-all", "--dry-run", "--json")
    events = json.loads(capsys.readouterr().out)["events"]
    mined = next(e for e in events if e["kind"] == "rules_mined")["counts"]["rules"]
    counts = next(e for e in events if e["kind"] == "unreviewed_rules_applied")["counts"]
    assert counts["rules"] == counts["of_rules"] == len(counts["identifiers"]) == mined > 0
    assert counts["why"] == "accepted without review"


def test_the_screen_asked_for_is_the_screen_used(tmp_path, capsys):
    make_survey(1500, 14, seed=4, nonresponse=0.02).write(tmp_path)
    data, survey = tmp_path / "survey.csv", tmp_path / "survey.toml"
    table = read_survey(data, survey).table
    given = ["impute", str(data), "--survey", str(survey), "--mine", "--accept-all"]
    counts = set()
    for screen, miner in (("paper", "default"), ("paper", "small-survey"), ("purity", "default")):
        main([*given, "--screen", screen, "--miner", miner, "--dry-run", "--json"])
        facts = json.loads(capsys.readouterr().out)
        expected = mine_rules(table, miner, screen=screen).apply(table).skipped.sum(axis=0)
        shown = [facts["variables"][name]["skipped"] for name in table.names]
        assert shown == expected.tolist()
        counts.add(sum(shown))
    assert len(counts) == 3
    for option, value in (("--screen", "paper"), ("--miner", "path")):
        said = refused(capsys, *given[:4], option, value, "--dry-run")
        assert f"The option {option} is for mining, but --mine is not given" in said


def test_mask_and_rules_add_up(survey, tmp_path, capsys):
    mask = pl.read_parquet(survey / "skip.parquet")
    half = mask.with_columns(
        pl.when(pl.int_range(pl.len()) < 150).then(c).otherwise(False).alias(c)
        for c in mask.columns
    )
    half.write_parquet(tmp_path / "half.parquet")
    skips = ["--rules", str(survey / "rules.toml"), "--skip-mask", str(tmp_path / "half.parquet")]
    impute(survey, tmp_path / "x", *skips, "--dry-run", "--json")
    facts = json.loads(capsys.readouterr().out)
    source = read_survey(survey / "survey.csv", survey / "survey.toml")
    by_rules = RuleSet.from_toml(survey / "rules.toml").apply(source.table).skipped
    either = by_rules | half.select(source.table.names).to_numpy()
    assert either.sum() > by_rules.sum()
    counts = [variable["skipped"] for variable in facts["variables"].values()]
    assert counts == either.sum(axis=0).tolist()


def test_dry_run_lists_every_variable_and_writes_nothing(survey, tmp_path, capsys):
    impute(survey, tmp_path / "x", "--skip-mask", str(survey / "skip.parquet"), "--dry-run")
    text = capsys.readouterr().out
    source = read_survey(
        survey / "survey.csv", survey / "survey.toml", skip_mask=survey / "skip.parquet"
    )
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}
    for position, name in enumerate(source.table.names):
        states = source.states
        counts = (m[:, position].sum() for m in (states.answered, states.skipped, states.missing))
        assert rows[name][1:] == [str(count) for count in counts]
    assert "This takes about" in text
    assert "every blank is treated" not in text
    assert not (tmp_path / "x").exists()
    assert max(map(len, text.splitlines())) <= 80


def test_without_rules_a_warning_says_that_blanks_are_imputed(survey, tmp_path, capsys):
    impute(survey, tmp_path / "x", "--dry-run")
    assert "every blank is treated as a missing answer" in " ".join(capsys.readouterr().out.split())
    impute(survey, tmp_path / "x")
    printed = capsys.readouterr()
    assert "every blank is treated as a missing answer" in " ".join(printed.err.split())
    assert "every blank taken as missing" in printed.out
    decisions = json.loads((tmp_path / "x" / "manifest.json").read_text())["events"]
    assert "every_blank_taken_as_missing" in [one["kind"] for one in decisions]
    flags = json.loads((tmp_path / "x" / "report.json").read_text())["flags"]
    assert "No blank is known to be a skip" in flags[0]["text"]


def test_dry_run_leaves_out_what_nobody_answered(survey, result, tmp_path, capsys):
    frame = pl.read_csv(survey / "survey.csv", infer_schema_length=None)
    frame.with_columns(SEX=pl.lit(None, dtype=pl.Int64)).write_csv(tmp_path / "empty.csv")
    dry = ["impute", str(tmp_path / "empty.csv"), "--dry-run", "--json"]
    main([*dry, "--survey", str(survey / "survey.toml")])
    facts = json.loads(capsys.readouterr().out)
    assert facts["variables"]["SEX"]["to_impute"] == 0
    assert facts["to_impute"] == sum(v["to_impute"] for v in facts["variables"].values())
    # A model knows what others answered.
    main([*dry, "--model", str(result / "model")])
    assert json.loads(capsys.readouterr().out)["variables"]["SEX"]["to_impute"] == 300


def test_text_fits_and_has_no_colour(survey, tmp_path):
    process = start(impute_arguments(survey, tmp_path / "out", "--mine", "--accept-all", "-m", "1"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "\x1b" not in out + err
    assert max(map(len, out.splitlines())) <= 80
    assert "Imputed:" in out
    # Rules that were mined go with the model, for rows still to come.
    assert len(RuleSet.from_toml(tmp_path / "out" / "model" / "rules.toml"))


def test_a_model_imputes_another_file_without_fitting(survey, result, tmp_path, capsys):
    rows = pl.read_csv(survey / "survey.csv", infer_schema_length=None)[100:160]
    rows.write_csv(tmp_path / "new.csv")
    model = ["--model", str(result / "model"), "-o", str(tmp_path / "out"), "-m", "2", "--json"]
    main(["impute", str(tmp_path / "new.csv"), *model])
    manifest = json.loads(capsys.readouterr().out)
    assert manifest["counts"]["rows"] == 60
    assert manifest["options"]["seed"] == 1
    for name, file in (("model", "model.json"), ("model_tensors", "model.safetensors")):
        digest = hashlib.sha256((result / "model" / file).read_bytes()).hexdigest()
        assert manifest["inputs"][name] == {"file": file, "sha256": digest}
    whole = pl.read_parquet(result / "imputations" / "002.parquet")[100:160]
    part = pl.read_parquet(tmp_path / "out" / "imputations" / "002.parquet")
    # Equal rows are distinguished by their order, so a row's imputations move with it.
    assert part.cast(pl.Float64).equals(whole.cast(pl.Float64))
    bad = refused(capsys, "impute", tmp_path / "new.csv", *model, "--seed", "4")
    assert "--seed is for fitting" in bad


def test_same_seed_same_result_and_another_seed_another(survey, result, tmp_path):
    rules = ["--rules", str(survey / "rules.toml"), "-m", "3"]
    impute(survey, tmp_path / "same", *rules, "--seed", "1")
    assert_same(tmp_path / "same", result)
    impute(survey, tmp_path / "other", *rules, "--seed", "2")
    assert not pl.read_parquet(tmp_path / "other" / "imputations" / "001.parquet").equals(
        pl.read_parquet(result / "imputations" / "001.parquet")
    )


def test_undeclared_values(survey, tmp_path, capsys):
    frame = pl.read_csv(survey / "survey.csv", infer_schema_length=None)
    frame = frame.with_columns(SEX=pl.when(pl.int_range(pl.len()) == 7).then(55).otherwise("SEX"))
    frame.write_csv(tmp_path / "odd.csv")
    description = ["--survey", str(survey / "survey.toml")]
    impute_odd = ["impute", tmp_path / "odd.csv", *description, "--dry-run"]
    commands = {
        "impute": impute_odd,
        "mine": ["mine", tmp_path / "odd.csv", *description],
        "check": ["check", tmp_path / "odd.csv", survey / "rules.toml", *description],
    }
    for command in commands.values():
        assert "'55' (1x)" in refused(capsys, *command)
        main([*map(str, command), "--unlisted", "missing"])
    capsys.readouterr()
    main([*map(str, impute_odd), "--unlisted", "missing", "--json"])
    variable = json.loads(capsys.readouterr().out)["variables"]["SEX"]
    assert variable["to_impute"] == 1 + int(frame["SEX"].is_null().sum())


SMALL = ("--preset", "small", "--set")


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--set", "steps=2"], "group.name=value"),
        (["--set", "training"], "group.name=value"),
        (["--set", "engine.steps=2"], "no group of settings called 'engine'"),
        (["--set", "training.steps=2"], "no setting called 'training.steps'. Expected: one of"),
        (
            ["--set", "training.max_steps=few"],
            "max_steps cannot be read. Found: 'few'. Expected: a",
        ),
        (["--set", "em.rounds=2"], "no group of settings called 'em'"),
        ([*SMALL, "em.round=2"], "no setting called 'em.round'. Expected: one of min_rounds"),
        ([*SMALL, "em.rounds=many"], "em.rounds cannot be read. Found: 'many'. Expected: a whole"),
        ([*SMALL, "em.rounds=0"], "em.rounds has an invalid value"),
        ([*SMALL, "loss.width_parity=2"], "Expected: true or false"),
        ([*SMALL, "temperature.grid=a,b"], "numbers separated by commas"),
        ([*SMALL, "training.max_steps=few"], "a whole number or none"),
        (["--set", "draws.steps=2", "--set", "draws.steps=3"], "given twice"),
        (["--set", "network.name=oak"], "one of 'embedding'"),
        (["--mine", "--skip-mask", "{}/skip.parquet"], "--mine cannot be combined with"),
        (["--model", "{}"], "There is no model"),
        (["--model", "{}", "--bits"], "--bits is for fitting"),
        (["--rules", "{}/none.toml"], "does not exist"),
        (["--preset", "huge"], "huge"),
        (["-m", "-1"], "-1"),
    ],
)
def test_bad_options_are_refused_before_any_work(survey, tmp_path, capsys, options, printed):
    arguments = [
        *("impute", str(survey / "survey.csv"), "-o", str(tmp_path / "out")),
        *(option.format(survey) for option in options),
    ]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    shown = capsys.readouterr()
    assert printed in " ".join((shown.err + shown.out).split())
    assert not (tmp_path / "out").exists()


def test_no_output_folder(survey, capsys):
    assert "Add -o FOLDER" in refused(capsys, "impute", survey / "survey.csv")


def test_settings_get_the_type_they_have():
    given = ["training.max_steps=none", "training.learning_rate=1e-3", "em.rounds = 3"]
    assert parse_settings(given, PaperSettings()) == {
        "training": {"max_steps": None, "learning_rate": 0.001},
        "em": {"rounds": 3},
    }
    changes = parse_settings(["training.max_steps=5", "trees.effort=none"], EngineSettings())
    assert changes == {"training": {"max_steps": 5}, "trees": {"effort": "none"}}
    assert isinstance(changes["training"]["max_steps"], int)
    with pytest.raises(InputError, match="given twice"):
        parse_settings(["draws.steps=3", "draws.steps=3"], EngineSettings())
