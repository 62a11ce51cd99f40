"""What the README shows works as shown."""

import re
from pathlib import Path

import pytest

from document_blocks import ROOT, blocks, fit_quickly
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey

README = (ROOT / "README.md").read_text(encoding="utf-8")
_FROM_SPSS = README.split("## From SPSS to a pooled regression")[1].split("\n## ")[0]
_MORE = README.split("\n## More\n")[1].split("\n## ")[0]


def _python(text: str = README) -> list[str]:
    return [block.text for block in blocks(text) if block.language == "python"]


def _commands(text: str = README) -> list[list[str]]:
    return [command for block in blocks(text) for command in block.commands]


def _run(text: str) -> None:
    for command in _commands(text):
        # The other methods of diagnose take long, and are tested elsewhere.
        methods = ["--methods", "mode,default-engine"] if command[1] == "diagnose" else []
        main([*command[1:], *methods])


@pytest.fixture
def at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the file that the README begins with."""
    monkeypatch.chdir(tmp_path)
    make_survey(n_rows=400, seed=1).write("demo-out", formats=("sav",))
    return tmp_path


def _check_the_way_from_spss(folder: Path, shown: str) -> dict[str, float]:
    """Check the files and the pooled model; return its coefficients."""
    terms = shown[shown.index("SEX (vs 1 'Male')") :]
    found = re.findall(r"^(AGE|  2 'Female') +(-?[\d.]+)", terms, flags=re.MULTILINE)
    coefficients = {name.strip(): float(value) for name, value in found}
    assert list(coefficients) == ["2 'Female'", "AGE"]
    assert "Pooled over 20 imputations" in shown
    assert "<html" in (folder / "imputed" / "report.html").read_text(encoding="utf-8")
    assert len(list((folder / "imputed" / "imputations").iterdir())) == 20
    return coefficients


def test_the_way_from_spss_takes_five_commands(
    at_work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fit_quickly(monkeypatch)
    order = ["inspect", "mine", "review", "impute", "pool"]
    assert [command[1] for command in _commands(_FROM_SPSS)] == order
    _run(_FROM_SPSS)
    _check_the_way_from_spss(at_work, capsys.readouterr().out)
    _run(_MORE)
    assert (at_work / "for_stata" / "imputations.do").is_file()
    assert (at_work / "diagnosis" / "diagnosis.html").is_file()


@pytest.mark.slow
def test_the_way_from_spss_as_it_stands(at_work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(_FROM_SPSS)
    coefficients = _check_the_way_from_spss(at_work, capsys.readouterr().out)
    # Older people weigh more in the simulated survey, and women less.
    assert coefficients["AGE"] > 0 > coefficients["2 'Female'"]


def test_the_way_from_spss_takes_fifteen_lines(
    at_work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fit_quickly(monkeypatch)
    (block,) = _python(_FROM_SPSS)
    assert len([line for line in block.splitlines() if line.strip()]) <= 15
    exec(compile(block, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "PARTNER is skipped when MARITAL is 1 'Married'" in shown
    assert "Pooled over 20 imputations" in shown
    assert "<html" in (at_work / "report.html").read_text(encoding="utf-8")


def test_frames_go_in_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fit_quickly(monkeypatch)
    (block,) = _python(_MORE)
    names: dict = {}
    exec(compile(block, "README.md", "exec"), names)
    means = [float(line) for line in capsys.readouterr().out.splitlines()]
    assert len(set(means)) == 3
    assert all(1000 < mean < 6000 for mean in means)
    assert type(names["completed"]) is type(names["frame"])
    assert names["completed"]["INCOME"].notna().all()


@pytest.mark.parametrize("command", _commands(), ids=" ".join)
def test_help_lists_the_options_shown(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([command[1], "--help"])
    shown = capsys.readouterr().out

    for option in (word for word in command if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", shown), option


def test_pictures_are_small() -> None:
    pictures = [ROOT / path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)]
    assert {picture.stem for picture in pictures} == {"report", "routing"}
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000


def test_results_are_there() -> None:
    shown = README.split("<!-- results:begin -->")[1].split("<!-- results:end -->")[0]
    assert "| TabSODA" in shown
    assert "Prec." in shown


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z][a-z-]*)\n|`make ([a-z-]+)`", README):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE), target
