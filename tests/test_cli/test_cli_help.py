"""Help explains what a command does, and fits a narrow terminal."""

import re
import subprocess
import sys
from importlib import import_module
from inspect import getdoc
from typing import get_args, get_type_hints

import pytest

from tabsoda.cli.main import app, main
from tabsoda.engine.presets import QUALITIES

VERBS = [name for name in app if not name.startswith("-")]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


def _words(text: str) -> str:
    bare = re.sub(r"[•╭╮╰╯│─]|^ *- ", " ", text.replace("`", ""), flags=re.MULTILINE)
    return " ".join(bare.split())


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_the_whole_docstring(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([verb, "--help"])
    shown = capsys.readouterr().out
    document = getdoc(getattr(import_module(f"tabsoda.cli.{verb}"), verb)) or ""
    opening, _, options = document.partition("Parameters\n")
    assert _words(opening) in _words(shown)
    for line in options.splitlines():
        if line.startswith("    ") and "[default" not in line:
            assert _words(" ".join(line.split()[:3])) in _words(shown), line
    assert max(map(len, shown.splitlines())) <= 80
    assert "False]" not in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("module", "command"),
    [("impute", "impute"), ("diagnose", "diagnose"), ("torchrun", "fit_together")],
)
def test_commands_take_the_qualities_of_the_engine(module: str, command: str) -> None:
    function = getattr(import_module(f"tabsoda.cli.{module}"), command)
    hint = get_type_hints(function)["quality"]
    named = {name for part in (hint, *get_args(hint)) for name in get_args(part)}
    assert {name for name in named if isinstance(name, str)} == set(QUALITIES)
    assert "tiny is for tests and first tries" in _words(getdoc(function) or "")


def test_patterns_keep_their_asterisks(capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "--help"])
    shown = capsys.readouterr().out
    assert "Q12_*.kind=ordinal" in shown
    assert "INT*.role=ignore" in shown


def test_commands_are_listed_in_the_order_of_the_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--help"])
    listed = re.findall(r"^│ (\w+) ", capsys.readouterr().out, flags=re.MULTILINE)
    assert listed == VERBS
    # First the page that leads through all of them.
    order = ["desk", "inspect", "questionnaire", "mine", "review", "edits", "check", "impute"]
    assert listed[:8] == order


def test_help_imports_no_model_library() -> None:
    code = "import sys; from tabsoda.cli.main import main; main(['impute', '--help']);"
    slow = ("torch", "sklearn", "pandas", "polars", "scipy.stats")
    code += f"print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
