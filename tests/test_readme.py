"""What the README shows works as shown."""

import re
import shlex
from pathlib import Path

import pytest

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey

ROOT = Path(__file__).resolve().parents[1]
# Nobody looks at a page or waits for a fit in a test.
_IN_TESTS = {
    "review": ("--accept-all",),
    "impute": ("--set", "training.max_steps=20", "--set", "sampler.steps=8"),
}
README = (ROOT / "README.md").read_text(encoding="utf-8")
_FROM_SPSS = README.split("## From SPSS to a pooled regression")[1].split("\n## ")[0]


def _blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def _commands(text: str = README) -> list[list[str]]:
    lines = [line for block in _blocks("sh", text) for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("tabsoda ")]


def _run_python(blocks: list[str]) -> None:
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_python_blocks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _run_python([block for block in _blocks("python") if "TabSODAImputer" not in block])

    assert "PARTNER is skipped when MARITAL is 1 'Married'" in capsys.readouterr().out


@pytest.mark.slow
def test_python_blocks_that_train_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _run_python(_blocks("python"))
    means = [float(line) for line in capsys.readouterr().out.splitlines()[-3:]]

    assert all(1000 < mean < 6000 for mean in means)
    assert len(set(means)) == 3


def test_commands_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tabsoda.cli.demo_imputation.SETTINGS", {"training": {"max_steps": 20}})
    commands = _commands(README.replace(_FROM_SPSS, ""))
    for command in commands:
        main(command[1:])

    assert {command[1] for command in commands} >= {"demo", "inspect", "mine", "check"}
    assert (tmp_path / "rules.toml").stat().st_size > 0


def test_the_way_from_spss_takes_five_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_survey(n_rows=500, seed=1).write("demo-out", formats=("sav",))
    commands = _commands(_FROM_SPSS)
    assert [command[1] for command in commands] == ["inspect", "mine", "review", "impute", "pool"]
    for command in commands:
        main([*command[1:], *_IN_TESTS.get(command[1], ())])

    assert "C(SEX)" in capsys.readouterr().out
    assert (tmp_path / "imputed" / "report.html").stat().st_size > 0
    assert len(list((tmp_path / "imputed" / "imputations").iterdir())) == 20


@pytest.mark.parametrize("command", _commands(), ids=" ".join)
def test_help_lists_the_options_shown(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([command[1], "--help"])
    shown = capsys.readouterr().out

    for option in (word for word in command if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", shown), option


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z][a-z-]*)\n|`make ([a-z-]+)`", README):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE), target
