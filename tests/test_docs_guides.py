"""Every guide does what it shows: its files are written, its commands and its Python are run."""

import shutil
from pathlib import Path

import pytest

from document_blocks import ROOT, blocks, fit_quickly
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey

DOCS = ROOT / "docs"
PAGES = [*sorted((DOCS / "guides").glob("*.md")), DOCS / "settings.md"]
# These fit several times.
SLOW = {"first_imputation", "imputing", "routing"}
# Languages of other programs, and what is only looked at.
NOT_RUN = {"r", "stata", "text"}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what guides take as given: a survey, its rules, its imputations."""
    folder = tmp_path_factory.mktemp("prepared")
    made = make_survey(n_rows=300, seed=1)
    made.write(folder, formats=("sav",))
    later = make_survey(n_rows=40, seed=2, questionnaire_seed=1)
    later.write(folder / "later", formats=("sav",))
    (folder / "later" / "survey.sav").rename(folder / "next_wave.sav")
    data, description, rules = (folder / n for n in ("survey.sav", "survey.toml", "rules.toml"))
    survey = ["--survey", str(description)]
    with pytest.MonkeyPatch.context() as patch:
        fit_quickly(patch)
        main(["mine", str(data), *survey, "-o", str(rules)])
        main(["review", str(rules), "--accept-all", "--by", "Ann Smith"])
        out = ["-m", "3", "-o", str(folder / "imputed")]
        main(["impute", str(data), *survey, "--rules", str(rules), *out])
    return folder


def _in_tests(command: list[str], folder: Path, given: set[str]) -> list[str]:
    """Adapt a command: nobody looks at a page here, and three draws are enough."""
    words = [*command[1:]]
    if "-m" in words:
        words[words.index("-m") + 1] = "3"
    if words[0] == "review" and "--accept-all" not in words and "--min-precision" not in words:
        words.append("--accept-all")
    if words[0] == "diagnose":
        words += ["--methods", "mode,default-engine"]
    if "-o" in words:
        target = words[words.index("-o") + 1]
        # What was only taken as given is made by the page itself.
        if target in given and words[0] != "report":
            path = folder / target
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            given.discard(target)
    return words


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else [])
        for page in PAGES
    ],
)
def test_the_page_does_what_it_shows(
    page: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    given = {path.name for path in folder.iterdir()}
    monkeypatch.chdir(folder)
    fit_quickly(monkeypatch)
    names: dict[str, object] = {}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.title is not None:
            (folder / block.title).write_text(block.text, encoding="utf-8")
            given.discard(block.title)
        elif block.reason is None and block.language == "python":
            text = block.text.replace("m=20", "m=3")
            exec(compile(text, str(page), "exec"), names)
        elif block.reason is None and block.language == "sh":
            assert block.commands, block.text
            for command in block.commands:
                main(_in_tests(command, folder, given))
        else:
            assert block.reason or block.language in NOT_RUN, block.language


def test_guides_show_something_to_run() -> None:
    shown = {page.stem: blocks(page.read_text(encoding="utf-8")) for page in PAGES}
    empty = [name for name, found in shown.items() if not any(b.language == "sh" for b in found)]
    # They say what not to do, and what to choose.
    assert set(empty) == {"limits", "settings"}


def test_the_description_of_the_guide_says_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tabsoda import read_survey

    monkeypatch.chdir(tmp_path)
    for block in blocks((DOCS / "guides" / "describing.md").read_text(encoding="utf-8")):
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
    survey = read_survey("answers.csv", "survey.toml")
    assert int(survey.states.skipped.sum()) == 2
    assert int(survey.states.missing.sum()) == 4
    assert survey.schema["health"].levels == (1, 2, 3, 4)
