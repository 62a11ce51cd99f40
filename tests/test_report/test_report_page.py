"""The page: self-contained, bounded, and deaf to what labels say; seen in a real browser."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tabsoda.analysis import pooled_mean, sensitivity
from tabsoda.datasets import make_survey
from tabsoda.reading import read_survey
from tabsoda.report.page import render_page
from tabsoda.report.report import write_summary
from tabsoda.report.routing import describe_rules
from tabsoda.report.summary import summarise_result
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.table import CodedTable


@pytest.fixture(scope="module")
def page(hostile, hostile_rules, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    found = sensitivity(hostile, lambda result: pooled_mean(result, "age"), "age=-1..1:1")
    found = replace(
        found, term=f"{hostile.table.names[0]}{hostile.table.columns[0].label}\u202e\x01"
    )
    summary = summarise_result(hostile, strata=["=cmd()"], sensitivity=[found])
    summary["routing"] = describe_rules(hostile_rules)
    write_summary(summary, path)
    return path


def test_nothing_of_the_survey_is_markup(page, hostile):
    text = page.read_text(encoding="utf-8")
    assert text.count("<script>") == 1
    assert "<img src=x" not in text
    assert "<b>bold" not in text
    assert "{{ 7 * 7 }}" in text
    assert "\u202e" not in text
    assert not re.search(
        r'(src|href)="(?!#|data:image/(png|svg\+xml);base64,[A-Za-z0-9+/=]+")', text
    )
    assert "default-src &#39;none&#39;" in text
    summary = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert summary["variables"][0]["name"] == hostile.table.columns[0].name


def test_a_browser_runs_no_label_and_asks_nobody(page, browser):
    browser.get(page.as_uri())
    assert browser.title == "Imputation report"
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    # The picture is well-formed, whatever its labels contain.
    assert browser.execute_script("return document.querySelector('.analysis img').naturalWidth")
    labels = browser.execute_script(
        "return [...document.querySelectorAll('.variable .label')].map((e) => e.textContent)"
    )
    assert "<img src=x onerror=\"document.title='owned'\">" in labels
    # The style is applied, hence the policy allows it.
    assert browser.execute_script("return getComputedStyle(document.querySelector('.bar')).height")


def test_questions_can_be_found_by_name_and_label(page, browser):
    browser.get(page.as_uri())
    field = browser.find_element("id", "find")
    assert field.is_displayed()
    field.send_keys("AGE style")
    rows = browser.find_elements("css selector", ".questions tbody tr")
    assert [row.is_displayed() for row in rows] == [False, False, True]
    assert browser.find_element("id", "found").text == "1 of 3"
    cards = browser.find_elements("css selector", ".variable")
    assert sum(card.is_displayed() for card in cards) == 1


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_in_either_scheme(page, browser, width, scheme):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    browser.get(page.as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 22, 21)"}[scheme]


def test_what_is_wider_than_the_window_is_reached_by_keys(page, browser):
    metrics = {"deviceScaleFactor": 1, "mobile": False, "height": 800, "width": 360}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    wide, reached = browser.execute_script(
        "const parts = [...document.querySelectorAll('body *')].filter("
        "  (one) => getComputedStyle(one).overflowX === 'auto');"
        "const wide = parts.filter((one) => one.scrollWidth > one.clientWidth);"
        "return [wide.length, parts.filter((one) => one.tabIndex === 0).length]"
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide == reached > 0


@pytest.mark.parametrize("width", [320, 390, 700, 1280])
@pytest.mark.parametrize("n_questions", [1, 5, 23])
def test_labels_of_the_map_do_not_overlap(browser, draw, tmp_path, width, n_questions):
    names = [f"MW_LONG_NAME_OF_QUESTION_{k}" for k in range(n_questions)]
    (tmp_path / "report.html").write_text(_page([], 20, draw, n_questions, names))
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get((tmp_path / "report.html").as_uri())
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.ticks div')].map((e) => [e.getBoundingClientRect(),"
        " getComputedStyle(e).overflow, e.textContent]).filter((e) => e[0].width > 0).map("
        "(e) => [e[0].left, e[0].right, e[1], e[2]])"
    )
    assert len(boxes) == min(n_questions, 4 if width <= 700 else 8)
    assert boxes[0][3] == names[0]
    image = browser.find_element("css selector", ".map img").rect
    edges = [edge for left, right, _, _ in boxes for edge in (left, right)]
    assert edges == pytest.approx(sorted(edges), abs=0.5)
    assert edges[0] >= image["x"]
    assert edges[-1] <= image["x"] + image["width"]
    assert {box[2] for box in boxes} == {"hidden"}


def test_paper_gets_everything_but_the_contents_list(page, browser):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.get(page.as_uri())
    shown = browser.execute_script(
        "return ['nav', '.search', '#methods', '.variable'].map("
        "(name) => document.querySelector(name).getClientRects().length > 0)"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == [False, False, True, True]


def test_a_report_of_a_huge_survey_stays_small(draw):
    rng = np.random.default_rng(0)
    levels = tuple(range(25))
    long = "a very long label, as codebooks have them, with no end in sight " * 8
    columns = tuple(
        Column(f"QUESTION{k}", ColumnKind.ORDINAL, levels, long, dict.fromkeys(levels, long))
        for k in range(2200)
    )
    values = rng.integers(0, 25, (40, 2200)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    table = CodedTable.from_values(columns, values)
    rules = RuleSet(
        tuple(
            SkipRule(f"r{k}", f"QUESTION{k}", ((Condition(f"QUESTION{k - 1}", (1, 2, 5)),),))
            for k in range(1, 1000)
        ),
        columns,
    )
    summary = summarise_result(Imputations(table, draw(table, 2)))
    summary["routing"] = describe_rules(rules)
    page = render_page(summary)
    assert 1_000_000 < len(page.encode()) < 5_000_000
    assert "more questions are left out" in page
    assert len(summary["variables"]) == 2200


def test_a_result_without_anything_imputed_has_a_page_too():
    table = CodedTable.from_values((Column("q", ColumnKind.CONTINUOUS),), np.ones((3, 1)))
    nothing = np.empty(0, dtype=np.int64)
    cells = ImputedCells(nothing, nothing, np.empty((0, 0)), np.empty(0), np.empty(0))
    text = render_page(summarise_result(Imputations(table, cells)))
    assert "No draws were made" in text
    assert 'id="variables"' not in text


def test_objects_show_themselves_in_notebooks_as_text(hostile, hostile_rules):
    shown = hostile._repr_html_() + hostile_rules._repr_html_()
    assert "imputed cells, 5 draws" in shown
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    survey = read_survey(make_survey(50, n_columns=14).to_frame())
    assert "50 respondents" in survey._repr_html_()
    assert "more</p>" in survey._repr_html_()


def _page(history, n_missing, draw, n_questions=3, names=None):
    names = names or [f"Q{k}" for k in range(n_questions)]
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in names)
    values = np.tile([[0.0], [1.0]], (100, n_questions))
    values[:n_missing] = np.nan
    table = CodedTable.from_values(columns, values)
    return render_page(summarise_result(Imputations(table, draw(table, 2), history=history)))


def test_convergence_is_shown_only_where_there_were_rounds(draw):
    rounds = [
        {"round": k, "loss": 1.0, "losses": [2.0, 1.0], "change": 0.1, "epochs": 2} for k in (1, 2)
    ]
    assert 'id="convergence"' in _page(rounds, 20, draw)
    assert 'id="convergence"' not in _page(rounds[:1], 20, draw)


def test_questions_with_few_imputed_cells_share_one_table(draw):
    few = _page([], 3, draw, n_questions=30)
    assert few.count('class="variable"') == 0
    assert "Fewer than 10 imputed answers" in few
    assert all(f'class="name">Q{k}<' in few for k in range(30))
    many = _page([], 20, draw)
    assert many.count('class="variable"') == 3
    assert "Fewer than 10" not in many


def test_reviews_are_dated_by_the_day(hostile, hostile_rules):
    rules = [replace(rule, at="2024-03-01T12:34:56+00:00", by="Ann") for rule in hostile_rules]
    summary = summarise_result(hostile)
    summary["routing"] = describe_rules(RuleSet(tuple(rules), hostile.table.columns))
    assert 'Ann <span class="status">2024-03-01</span>' in render_page(summary)


def test_sections_without_content_are_left_out(draw):
    complete = _page([], 0, draw)
    for anchor in ("variables", "routing", "rules", "conflicts", "calibration", "decisions"):
        assert f'id="{anchor}"' not in complete
        assert f'href="#{anchor}"' not in complete
