"""Running ``tabsoda impute`` in tests: short fits, and what a result must hold."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey

TINY = ("--quality", "tiny")
# Of the paper's engine, for what it alone does.
TINY_PAPER = (
    *("--preset", "small", "--set", "backbone.width=16", "--set", "training.max_steps=6"),
    *("--set", "training.min_epoch_steps=3", "--set", "training.calibration_steps=5"),
    *("--set", "sampler.steps=4"),
)


def write_survey(folder):
    """Write a survey of 300 with 14 questions, its true rules (one rejected) and its skip mask."""
    truth = make_survey(300, n_columns=14, seed=3, nonresponse=0.1)
    truth.write(folder)
    rules = truth.rules.reject(truth.rules.rules[-1].identifier)
    rules.to_toml(folder / "rules.toml")
    return folder


def impute_arguments(survey, out, *options, **changed):
    """Return the arguments of a run in the tiny quality, unless the options name another."""
    settings = [f"{name.replace('__', '.')}={value}" for name, value in changed.items()]
    is_named = "--quality" in options or "--preset" in options
    return [
        "impute",
        str(survey / "survey.csv"),
        *("--survey", str(survey / "survey.toml"), "-o", str(out), "--device", "cpu"),
        *(() if is_named else TINY),
        *(word for text in settings for word in ("--set", text)),
        *options,
    ]


def impute(survey, out, *options, **changed):
    main(impute_arguments(survey, out, *options, **changed))


def refused(capsys, *arguments, code=2):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == code
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


def disk_full_at(patch, name):
    """Let the disk be full when the file of this name is written."""
    write = Path.write_bytes

    def full(self, content):
        if name in self.name:
            raise OSError(28, "No space left on device")
        return write(self, content)

    patch.setattr(Path, "write_bytes", full)


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
    # The report is not part of the result: tabsoda report writes it again.
    apart = ("manifest.json", "report.html", "report.json")
    files = [p for p in folder.rglob("*") if p.is_file() and p.name not in apart]
    assert {str(p.relative_to(folder)) for p in files} == set(listed)
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def assert_same(one, other):
    tables, tensors = contents(one)
    other_tables, other_tensors = contents(other)
    assert tables.keys() == other_tables.keys()
    assert all(tables[name].equals(other_tables[name]) for name in tables)
    assert tensors == other_tensors
