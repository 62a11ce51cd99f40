"""The section of the report with sensitivity analyses: kept in the folder, shown, escaped."""

import base64
import html
import json
import re
import stat
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.analysis import Sensitivity, pooled_mean, sensitivity
from tabsoda.analysis.saved_sensitivity import ANALYSES, load_analyses
from tabsoda.cli.main import main
from tabsoda.errors import InputError
from tabsoda.report.page import render_page
from tabsoda.report.summary import summarise_result
from tabsoda.results import Imputations, ImputedCells

SCRIPT = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def result():
    """Return a result in which 8 incomes are imputed; incomes are not below 5."""
    generator = np.random.default_rng(2)
    age = generator.integers(20, 80, 120).astype(float)
    income = np.round(10 + 0.2 * age + generator.normal(0, 2, 120), 1)
    income[:8] = np.nan
    frame = pl.DataFrame({"age": age, "income": pl.Series(income).fill_nan(None)})
    description = [
        {"name": "age", "type": "continuous", "label": SCRIPT},
        {"name": "income", "type": "continuous", "minimum": 5},
    ]
    survey = read_survey(frame, description)
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.round(generator.normal(20, 3, (3, 8)), 1)
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)


@pytest.fixture
def folder(result, tmp_path):
    result.save(tmp_path / "out")
    return tmp_path / "out"


def command(folder, *words):
    main(["sensitivity", str(folder), "--no-design", *words])


def images(page):
    found = re.findall(r'<img class="figure" src="data:image/svg\+xml;base64,([^"]+)"', page)
    return [base64.b64decode(one).decode() for one in found]


def test_an_analysis_is_kept_and_replaced_by_the_same_one(folder, result, capsys):
    command(folder, "--formula", "income ~ age", "--shift", "income=-1..1:0.5")
    command(folder, "--mean", "income", "--null", "20", "--shift", "income=-9..0:3 units")
    assert "Kept in sensitivity.json of the folder, for tabsoda report." in capsys.readouterr().out
    command(folder, "--formula", "income ~ age", "--shift", "income=-2..2:1")
    command(folder, "--mean", "income", "--shift", "income=0", "--no-save")
    assert stat.S_IMODE((folder / ANALYSES).stat().st_mode) == 0o600
    kept = load_analyses(folder)
    assert [one.kind for one in kept] == ["mean", "estimate"]
    assert [point.deltas[0] for point in kept[1].points] == [-2, -1, 0, 1, 2]
    expected = sensitivity(result, "income ~ age", "income=-2..2:1", design=None)
    assert kept[1].to_dict() == expected.to_dict()
    assert str(kept[1]) == str(expected)
    assert kept[1].picture() == expected.picture()


def test_a_new_result_in_the_folder_has_no_old_analyses(folder, result):
    command(folder, "--mean", "income", "--shift", "income=0")
    result.save(folder, force=True)
    assert not (folder / ANALYSES).exists()


def test_the_report_shows_table_picture_and_paragraph(folder, result, capsys):
    command(folder, "--mean", "income", "--null", "20", "--shift", "income=-30..0:10 units")
    main(["report", str(folder)])
    page = (folder / "report.html").read_text()
    [one] = json.loads((folder / "report.json").read_text())["sensitivity"]
    found = sensitivity(
        result, lambda r: pooled_mean(r, "income", design=None), "income=-30..0:10 units", null=20.0
    )
    assert one["points"] == found.to_dict()["points"]
    assert one["sentence"] == found.sentence()
    assert html.escape(found.sentence()) in page.replace("&#39;", "&#x27;")
    assert one["table"][0][-1] == "moved back"
    for row in one["table"]:
        cells = "".join(
            f'<{tag} class="n">{html.escape(cell)}</{tag}>'
            for cell in row
            for tag in (("th",) if row is one["table"][0] else ("td",))
        )
        assert cells in page
    assert images(page) == [found.picture()]
    assert '<a href="#sensitivity">Sensitivity</a>' in page
    assert "<h3>Mean of income</h3>" in page
    assert '<p class="facts">Shift: income, in units</p>' in page


def test_small_counts_are_withheld(result):
    found = sensitivity(
        result, lambda r: pooled_mean(r, "income", design=None), "income=-30..0:2 units"
    )
    few = [point for point in found.points if 0 < point.n_moved_back < 10]
    assert few
    [one] = summarise_result(result, suppress_below=10, sensitivity=[found])["sensitivity"]
    assert one["shifts"][0]["imputed_answers"] is None
    assert "We shifted fewer than 10 imputed answers to income" in one["sentence"]
    counts = [point[name] for point in one["points"] for name in ("shifted", "moved_back")]
    assert not [count for count in counts if count is not None and 0 < count < 10]
    assert [row[-1] for row in one["table"][1:]].count("–") == len(few)
    page = render_page(summarise_result(result, suppress_below=10, sensitivity=[found]))
    assert "8 imputed answers" not in page
    [shown] = summarise_result(result, sensitivity=[found])["sensitivity"]
    assert "We shifted the 8 imputed answers to income" in shown["sentence"]


def test_without_an_analysis_there_is_no_section(result):
    summary = summarise_result(result)
    assert summary["sensitivity"] is None
    assert 'id="sensitivity"' not in render_page(summary)


def test_labels_are_escaped_in_page_and_picture(hostile, tmp_path):
    name = hostile.table.names[0]
    shift = f"{name}[1]=-1..1:1"
    found = sensitivity(hostile, lambda r: pooled_mean(r, "age"), "age=-1..1:1")
    renamed = Sensitivity.from_dict(found.to_dict() | {"term": SCRIPT, "formula": shift})
    hostile.report(tmp_path / "page.html", sensitivity=[renamed])
    page = (tmp_path / "page.html").read_text()
    section = page[page.index('<section id="sensitivity">') : page.index('<section id="methods">')]
    assert "<script" not in section
    assert f"Mean of {html.escape(SCRIPT, quote=False)}".replace("'", "&#39;") in section
    [drawn] = images(section)
    assert "<script" not in drawn
    assert SCRIPT in "".join(ElementTree.fromstring(drawn).itertext())


def test_another_file_of_that_name_is_refused(folder, capsys):
    (folder / ANALYSES).write_text('{"format": 7}')
    for words in (["report", str(folder)], ["sensitivity", str(folder), "--mean", "income"]):
        with pytest.raises(SystemExit) as caught:
            main([*words, *(["--shift", "income=0"] if words[0] == "sensitivity" else [])])
        assert caught.value.code == 2
        assert "cannot be read" in capsys.readouterr().err
    assert (folder / ANALYSES).read_text() == '{"format": 7}'
    (folder / ANALYSES).write_text('{"format": 1, "analyses": [{"term": "x"}]}')
    with pytest.raises(InputError, match="KeyError"):
        load_analyses(folder)
