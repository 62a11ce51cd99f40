"""``tabsoda impute``: what it writes, what it refuses, and that no interruption spoils anything."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from tabsoda import RuleSet, TabSODAImputer, read_survey
from tabsoda.cli.impute_settings import parse_settings
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.errors import InputError
from tabsoda.settings import Settings

QUICK = {
    "backbone.width": "16",
    "training.max_steps": "6",
    "training.min_epoch_steps": "3",
    "training.calibration_steps": "5",
    "sampler.steps": "4",
    "em.rounds": "2",
}


def options_of(settings, **changed):
    merged = settings | {name.replace("__", "."): value for name, value in changed.items()}
    return [word for name, value in merged.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Write a survey of 300 with 14 questions, its true rules (one rejected) and its skip mask."""
    folder = tmp_path_factory.mktemp("survey")
    truth = make_survey(300, n_columns=14, seed=3, nonresponse=0.1)
    truth.write(folder)
    rules = truth.rules.reject(truth.rules.rules[-1].identifier)
    rules.to_toml(folder / "rules.toml")
    return folder


def impute_arguments(survey, out, *options, **changed):
    return [
        "impute",
        str(survey / "survey.csv"),
        *("--survey", str(survey / "survey.toml"), "-o", str(out), "--device", "cpu"),
        *options_of(QUICK, **changed),
        *options,
    ]


def impute(survey, out, *options, **changed):
    main(impute_arguments(survey, out, *options, **changed))


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    message = capsys.readouterr().err
    # Outside a terminal an error is one line.
    assert message.splitlines()[-1].startswith("Error: ")
    return " ".join(message.split())


def start(arguments, **options):
    """Run the command in a process of its own, with a quiet single-threaded torch."""
    return subprocess.Popen(
        [sys.executable, "-m", "tabsoda.cli.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "80"},
        **options,
    )


def wait_for(path, process):
    deadline = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def contents(folder):
    """Return every table of a result, and the model's tensors, by name."""
    tables = {str(p.relative_to(folder)): pl.read_parquet(p) for p in folder.rglob("*.parquet")}
    return tables, (folder / "model" / "model.safetensors").read_bytes()


def assert_complete(folder):
    """Check that the manifest describes exactly the files that are there."""
    listed = json.loads((folder / "manifest.json").read_text())["outputs_sha256"]
    files = [p for p in folder.rglob("*") if p.is_file() and p.name != "manifest.json"]
    assert {str(p.relative_to(folder)) for p in files} == set(listed)
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def assert_same(one, other):
    tables, tensors = contents(one)
    other_tables, other_tensors = contents(other)
    assert tables.keys() == other_tables.keys()
    assert all(tables[name].equals(other_tables[name]) for name in tables)
    assert tensors == other_tensors


@pytest.fixture(scope="module")
def result(survey, tmp_path_factory):
    out = tmp_path_factory.mktemp("result") / "new" / "out"
    impute(survey, out, "--rules", str(survey / "rules.toml"), "-m", "3", "--seed", "1")
    return out


def test_every_output_is_there_and_right(survey, result):
    assert_complete(result)
    source = read_survey(survey / "survey.csv", survey / "survey.toml")
    states = RuleSet.from_toml(survey / "rules.toml").apply(source.table)
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
        for position, name in enumerate(states.names):
            kept, before = table[name].to_list(), raw[name].to_list()
            for row, state in enumerate(states.states[:, position]):
                assert (kept[row] == before[row]) if state != 1 else (kept[row] is not None)


def test_mode_and_median_are_what_the_model_says(survey, result):
    imputer = TabSODAImputer.load(result / "model", device="cpu")
    again = imputer.impute(survey / "survey.csv", m=3)
    assert again.point("mode").equals(pl.read_parquet(result / "point.parquet"))
    assert again.point("median").equals(pl.read_parquet(result / "point_median.parquet"))
    assert again.complete(2).equals(pl.read_parquet(result / "imputations" / "002.parquet"))


def test_manifest_tells_how_the_result_came_about(survey, result):
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
    assert [entry["round"] for entry in manifest["rounds"]] == [1, 2]
    settings = json.loads((result / "settings.json").read_text())
    expected = Settings.preset("small").replace(
        **parse_settings(f"{k}={v}" for k, v in QUICK.items())
    )
    resolved = expected.resolve(*_columns(survey)).to_dict()
    assert settings == json.loads(json.dumps(resolved))


def _columns(survey):
    columns = read_survey(survey / "survey.csv", survey / "survey.toml").table.columns
    return len(columns), sum(not column.is_categorical for column in columns)


def test_rules_are_recorded_with_their_review(survey, result):
    events = json.loads((result / "manifest.json").read_text())["events"]
    told = [event["decision"] for event in events]
    assert "unreviewed rules applied" not in told
    assert told.count("rejected rules not applied") == 1
    assert told.count("skips taken from rules") == 1


def test_unreviewed_rules_are_applied_and_counted(survey, tmp_path, capsys):
    text = (survey / "rules.toml").read_text()
    (tmp_path / "rules.toml").write_text(text.replace('"approved"', '"proposed"'))
    impute(survey, tmp_path / "x", "--rules", str(tmp_path / "rules.toml"), "--dry-run", "--json")
    facts = json.loads(capsys.readouterr().out)
    rules = RuleSet.from_toml(tmp_path / "rules.toml")
    event = next(e for e in facts["events"] if e["decision"] == "unreviewed rules applied")
    assert event["detail"].startswith(f"{len(rules.active)} of {len(rules)} rules")
    skipped = sum(variable["skipped"] for variable in facts["variables"].values())
    source = read_survey(survey / "survey.csv", survey / "survey.toml")
    assert skipped == rules.apply(source.table).skipped.sum() > 0


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


def test_dry_run_tells_every_variable_and_writes_nothing(survey, tmp_path, capsys):
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
    assert not (tmp_path / "x").exists()
    assert max(map(len, text.splitlines())) <= 80


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
    process = start(impute_arguments(survey, tmp_path / "out", "--mine", "-m", "1"))
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
    # Equal rows are told apart by their order, so a row's imputations move with it.
    assert part.cast(pl.Float64).equals(whole.cast(pl.Float64))
    bad = refused(capsys, "impute", tmp_path / "new.csv", *model, "--seed", "4")
    assert "--seed is about fitting" in bad


def test_same_seed_same_result_and_another_seed_another(survey, result, tmp_path):
    rules = ["--rules", str(survey / "rules.toml"), "-m", "3"]
    impute(survey, tmp_path / "same", *rules, "--seed", "1")
    assert_same(tmp_path / "same", result)
    impute(survey, tmp_path / "other", *rules, "--seed", "2")
    assert not pl.read_parquet(tmp_path / "other" / "imputations" / "001.parquet").equals(
        pl.read_parquet(result / "imputations" / "001.parquet")
    )


def test_interrupted_it_goes_on_after_the_last_round(survey, tmp_path):
    arguments = impute_arguments(survey, tmp_path / "out", em__rounds="8")
    process = start(arguments)
    wait_for(tmp_path / "out" / ".checkpoint" / "round.json", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Finished rounds are kept" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".checkpoint"]
    done = json.loads((tmp_path / "out" / ".checkpoint" / "round.json").read_text())["round"]
    assert 1 <= done < 8

    main(arguments)
    assert_complete(tmp_path / "out")
    events = json.loads((tmp_path / "out" / "manifest.json").read_text())["events"]
    resumed = [event["detail"] for event in events if event["decision"] == "resumed"]
    assert resumed == [f"after round {done}"]
    impute(survey, tmp_path / "whole", em__rounds="8")
    tables, _ = contents(tmp_path / "out")
    expected, _ = contents(tmp_path / "whole")
    assert all(tables[name].equals(expected[name]) for name in expected)


@pytest.mark.slow
def test_killed_while_writing_nothing_passes_for_a_result(survey, tmp_path):
    out = tmp_path / "out"
    arguments = impute_arguments(survey, out, "-m", "150")
    process = start(arguments)
    wait_for(out / ".writing" / "imputations" / "020.parquet", process)
    process.kill()
    process.communicate(timeout=60)
    assert not (out / "manifest.json").exists()
    assert not (out / "point.parquet").exists()
    main(arguments)
    assert_complete(out)


def test_no_room_for_a_round_is_told(survey, tmp_path):
    out = tmp_path / "out"
    arguments = impute_arguments(survey, out, "-m", "1")

    def limit_file_size():
        import resource

        # Less than a round takes.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

    process = start(arguments, preexec_fn=limit_file_size)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    message = " ".join(err.split())
    assert "cannot be written to" in message
    assert "File too large" in message
    assert not list(out.glob("[!.]*"))
    main(arguments)
    assert_complete(out)


def test_no_room_for_the_result_keeps_the_earlier_one(survey, tmp_path, capsys, monkeypatch):
    impute(survey, tmp_path, "-m", "1")

    def full(self, path):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        message = refused(capsys, *impute_arguments(survey, tmp_path, "--seed", "5", "--force"))
    assert "No space left on device" in message
    assert json.loads((tmp_path / "manifest.json").read_text())["options"]["seed"] == 0
    # The rounds are kept beside it, so that nothing has to be computed again.
    assert (tmp_path / ".checkpoint" / "round.json").exists()
    impute(survey, tmp_path, "--seed", "5", "--force")
    assert_complete(tmp_path)


def test_folders_that_are_not_free(survey, result, tmp_path, capsys):
    arguments = impute_arguments(survey, result)
    assert "finished result" in refused(capsys, *arguments)
    (tmp_path / "mine.txt").write_text("keep")
    assert "is not empty" in refused(capsys, *impute_arguments(survey, tmp_path))
    assert "is a file" in refused(capsys, *impute_arguments(survey, tmp_path / "mine.txt" / "x"))
    assert "holds the data itself" in refused(capsys, *impute_arguments(survey, survey, "--force"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unfinished_run_of_another_command_is_left_alone(survey, tmp_path, capsys, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TabSODAImputer, "impute", stopped)
        with pytest.raises(SystemExit):
            impute(survey, tmp_path, "--seed", "1")
    before = (tmp_path / ".checkpoint" / "round.safetensors").read_bytes()
    message = refused(capsys, *impute_arguments(survey, tmp_path, "--seed", "2"))
    assert "unfinished run of another command. Found: seed 1 there, 2 now" in message
    other = refused(
        capsys, *impute_arguments(survey, tmp_path, "--seed", "1", "--rules", survey / "rules.toml")
    )
    assert "another command" in other
    assert (tmp_path / ".checkpoint" / "round.safetensors").read_bytes() == before
    impute(survey, tmp_path, "--seed", "2", "--force")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["options"]["seed"] == 2
    assert "resumed" not in [event["decision"] for event in manifest["events"]]


def test_force_replaces_a_result_whole(survey, tmp_path):
    impute(survey, tmp_path, "-m", "3")
    impute(survey, tmp_path, "-m", "1", "--force")
    assert_complete(tmp_path)
    assert len(list((tmp_path / "imputations").iterdir())) == 1


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


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--set", "rounds=2"], "group.name=value"),
        (["--set", "em"], "group.name=value"),
        (["--set", "engine.rounds=2"], "no group of settings called 'engine'"),
        (["--set", "em.round=2"], "no setting called 'em.round'. Expected: one of min_rounds"),
        (["--set", "em.rounds=many"], "em.rounds cannot be read. Found: 'many'. Expected: a whole"),
        (["--set", "em.rounds=0"], "em.rounds is out of range"),
        (["--set", "loss.width_parity=2"], "Expected: true or false"),
        (["--set", "temperature.grid=a,b"], "numbers with commas"),
        (["--set", "training.max_steps=few"], "a whole number or none"),
        (["--set", "em.rounds=2", "--set", "em.rounds=3"], "given twice"),
        (["--set", "backbone.name=oak"], "one of 'mlp'"),
        (["--mine", "--skip-mask", "{}/skip.parquet"], "--mine looks for rules"),
        (["--model", "{}"], "There is no model"),
        (["--model", "{}", "--bits"], "--bits is about fitting"),
        (["--rules", "{}/none.toml"], "does not exist"),
        (["--preset", "huge"], "huge"),
        (["-m", "-1"], "-1"),
    ],
)
def test_bad_options_are_told_before_any_work(survey, tmp_path, capsys, options, told):
    arguments = [
        *("impute", str(survey / "survey.csv"), "-o", str(tmp_path / "out")),
        *(option.format(survey) for option in options),
    ]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    shown = capsys.readouterr()
    assert told in " ".join((shown.err + shown.out).split())
    assert not (tmp_path / "out").exists()


def test_no_output_folder(survey, capsys):
    assert "Add -o FOLDER" in refused(capsys, "impute", survey / "survey.csv")


def test_settings_get_the_type_they_have():
    assert parse_settings(
        ["training.max_steps=none", "training.learning_rate=1e-3", "em.rounds = 3"]
    ) == {"training": {"max_steps": None, "learning_rate": 0.001}, "em": {"rounds": 3}}
    assert isinstance(parse_settings(["training.max_steps=5"])["training"]["max_steps"], int)
    with pytest.raises(InputError, match="given twice"):
        parse_settings(["em.rounds=3", "em.rounds=3"])
