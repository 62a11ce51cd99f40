"""Tables to copy and figures: every number of the estimates, in its place."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tabsoda.analysis import pool
from tabsoda.analysis.request import EstimateRequest
from tabsoda.cli.main import main
from tabsoda.errors import InputError
from tabsoda.publishing.figures import draw_estimates
from tabsoda.publishing.scripts import analysis_script
from tabsoda.publishing.tables import TABLE_FORMATS, result_table, table_text

SVG = "{http://www.w3.org/2000/svg}"
REQUESTS = [
    EstimateRequest("mean", ("income", "members"), by="smokes"),
    EstimateRequest("share", ("region",)),
    EstimateRequest("table", ("smokes", "region"), by="area"),
    EstimateRequest("formula", ("I(smokes == 1) ~ income",), "binomial", exponentiate=True),
    EstimateRequest("quantile", ("income:0.25", "income:0.75")),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.kind)
def test_a_table_has_a_cell_for_every_heading(request_, described):
    parts = request_.estimate(described)
    table = result_table(request_, parts)
    assert {len(row) for row in table.rows} == {len(table.header)}
    lines = table_text(table, "tsv").splitlines()
    assert [line.split("\t") for line in lines[1:]] == [[e.text for e in r] for r in table.rows]
    # The first columns name things, the others are numbers.
    numbers = [e.text for row in table.rows for e in row[table.left :]]
    if request_.kind != "mean":
        assert all(re.match(r"[-<.∞\d]", text) for text in numbers)
    for form in TABLE_FORMATS:
        assert request_.title.split()[0] in table_text(table, form) or form == "tsv"


def test_a_table_shows_the_pooled_numbers(described):
    request = EstimateRequest("table", ("smokes", "region"))
    (pooled,) = request.estimate(described)
    table = result_table(request, [pooled])
    assert table.header == ("smokes", "N", "c", "a", "b")
    shown = [[float(cell.text.split()[0]) for cell in row[2:]] for row in table.rows]
    expected = [one.estimates * 100 for one in (*pooled.rows.values(), pooled.total)]
    np.testing.assert_allclose(shown, expected, atol=0.051)
    assert [row[0].text for row in table.rows] == ["2 'No'", "1 'Yes'", "All"]
    with pytest.raises(InputError, match="Unknown format"):
        table_text(table, "docx")


def test_latex_and_html_take_any_label(described):
    table = result_table(REQUESTS[1], REQUESTS[1].estimate(described))
    assert r"95 \% interval" in table_text(table, "tex")
    assert "<script" not in table_text(table, "html")


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.kind)
def test_a_figure_places_every_estimate_between_its_ends(request_, described):
    parts = request_.estimate(described)
    root = ElementTree.fromstring(str(draw_estimates(request_, parts)))
    dots = [float(dot.get("cx")) for dot in root.iter(f"{SVG}circle")]
    reaches = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("class") == "reach"]
    ends = [[float(x) for x in re.findall(r"[ML](-?[\d.]+) ", d)] for d in reaches]
    names = [t for t in root.iter(f"{SVG}text") if t.get("class") == "name"]
    assert len(dots) == len(ends) == len(names)
    for dot, (low, high) in zip(dots, ends, strict=True):
        assert low <= dot <= high
    # Places on the axis are a linear function of the estimates.
    if request_.kind in ("share", "quantile"):
        places = np.polyfit(parts[0].estimates, dots, 1)
        np.testing.assert_allclose(np.polyval(places, parts[0].estimates), dots, atol=0.02)


def test_estimates_without_an_interval_and_terms_called_nan_are_shown():
    unknown = pool([500.0, 500.0], [1.0, 1.0], names=["unknown"])
    unknown = replace(unknown, within=np.array([[np.nan]]))
    known = pool([2.0, 2.0], [1.0, 1.0], names=["nan"])
    request = EstimateRequest("mean", ("a", "b"))
    picture = ElementTree.fromstring(str(draw_estimates(request, [known, unknown])))
    width = float(picture.get("viewBox").split()[2])
    across = [float(dot.get("cx")) for dot in picture.iter(f"{SVG}circle")]
    assert len(across) == 2
    assert 0 < across[0] < across[1] < width
    rows = [[entry.text for entry in row] for row in result_table(request, [known, unknown]).rows]
    assert rows[0][:2] == ["nan", "2"]
    assert rows[1][:2] == ["unknown", "500"]


def test_the_command_prints_tables_and_code(described, tmp_path, capsys):
    described.save(tmp_path / "out")
    words = ["pool", str(tmp_path / "out"), "--mean", "income", "--by", "smokes"]
    capsys.readouterr()
    main([*words, "--format", "tsv"])
    request = EstimateRequest("mean", ("income",), by="smokes")
    expected = table_text(result_table(request, request.estimate(described)), "tsv")
    assert capsys.readouterr().out == expected
    main([*words, "--code", "stata"])
    assert capsys.readouterr().out == analysis_script(described, request, "stata")
    main([*words, "--picture", str(tmp_path / "a.svg")])
    picture = str(draw_estimates(request, request.estimate(described)))
    assert (tmp_path / "a.svg").read_text("utf-8") == picture
    with pytest.raises(SystemExit) as ended:
        main([*words, "--picture", str(tmp_path / "a.svg")])
    assert ended.value.code == 2
    assert "already exists" in capsys.readouterr().err
