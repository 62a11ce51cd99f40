"""axe-core finds nothing serious on any step, in both themes, on a wide and a narrow screen.

It is not part of this project. Get it, for example with `npm install axe-core` in another folder,
and name its file: TABSODA_AXE=/there/node_modules/axe-core/axe.min.js. Without it, the tests here
are skipped; accessible.js and contrast.js, which the other tests use, find the most common faults.
"""

import os
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from test_desk_browser import Screen

from tabsoda import load_result
from tabsoda.skips.rule_set import RuleSet

pytestmark = pytest.mark.slow
RUN = """
const done = arguments[0];
axe.run(document, { resultTypes: ["violations"] }).then((found) => done(found.violations.flatMap(
  (one) => one.nodes.map((node) => `${one.impact} ${one.id}: ${node.html.slice(0, 120)}`))));
"""


@pytest.fixture(scope="module")
def axe() -> str:
    place = os.environ.get("TABSODA_AXE")
    if place is None:
        pytest.skip("TABSODA_AXE does not name axe.min.js")
    return Path(place).read_text(encoding="utf-8")


@pytest.fixture
def check(browser, axe):
    """Return a function that fails if axe finds something on what is shown."""

    def run(name: str) -> None:
        browser.execute_script(axe)
        for width in (1280, 360):
            metrics = {"deviceScaleFactor": 1, "mobile": False, "height": 800, "width": width}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            for scheme in ("light", "dark"):
                feature = {"name": "prefers-color-scheme", "value": scheme}
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
                assert browser.execute_async_script(RUN) == [], (name, width, scheme)
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    yield run
    browser.get("about:blank")


def test_an_empty_project(check, browser, serve, empty):
    screen = Screen(browser, serve(empty).address)
    for step in ("open", "routing", "impute", "look", "analyse", "export"):
        screen.step(step)
        check(step)
    screen.press("?")
    screen.wait(lambda: screen.one("#help[open]"))
    check("keys")


def test_a_finished_project(check, browser, serve, finished):
    rules = RuleSet.from_toml(finished.run_folder("first") / "model" / "rules.toml")
    rules.to_toml(finished.rules)
    screen = Screen(browser, serve(finished).address)
    screen.wait(lambda: screen.one('[data-name="EDUC"]'))
    check("open")
    for name in ("EDUC", "AGE"):
        screen.click(f'[data-name="{name}"] .link')
        screen.wait(lambda: screen.one("dialog[open]"))
        check(f"column {name}")
        screen.press(Keys.ESCAPE)
    screen.step("routing")
    screen.wait(lambda: screen.one("#cells-text"))
    check("routing")
    screen.step("impute")
    screen.click("#choice-accept_all")
    screen.click("#plan")
    screen.wait(lambda: screen.one("#plan-text"))
    screen.browser.execute_script("document.querySelector('.plan details').open = true")
    finished.jobs.submit("mine", "Mine", {})
    screen.wait(lambda: screen.one(".job"))
    check("impute")
    screen.step("look")
    screen.wait(lambda: Select(screen.one("[data-run]")).select_by_value("first") is None)
    screen.text("#commands", "runs/first")
    screen.click(".questions tbody tr button")
    screen.wait(lambda: screen.one(".detail h4"))
    screen.one("#by-group").send_keys("SEX")
    screen.wait(lambda: screen.one(".detail .group"))
    Select(screen.one("#other-run")).select_by_value("second")
    screen.text('[aria-label="Two runs side by side"]', "What differs")
    check("look")
    screen.step("analyse")
    screen.click('[data-kind="formula"]')
    screen.wait(lambda: screen.one("#outcome"))
    screen.one("#outcome").send_keys("HOURS")
    for number, term in enumerate(("AGE", "EDUC"), 1):
        screen.wait(lambda: screen.one("#add-term"))
        screen.one("#add-term").send_keys(term)
        screen.wait(lambda number=number: len(screen.all(".terms li")) == number)
    screen.press(Keys.ENTER)
    screen.browser.execute_script("document.querySelector('#estimate').click()")
    screen.wait(lambda: screen.one(".result tbody tr"))
    screen.browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )
    check("analyse")
    screen.step("export")
    screen.wait(lambda: screen.one("[data-write]"))
    check("export")


def test_the_review_page(check, browser, serve, finished):
    rules = RuleSet.from_toml(finished.run_folder("first") / "model" / "rules.toml")
    rules.to_toml(finished.rules)
    screen = Screen(browser, serve(finished).address + "review/", "article .actions")
    check("review")
    screen.press("e")
    screen.wait(lambda: screen.one("dialog[open], .editor"))
    check("editor")


def test_the_report(check, browser, finished):
    result = load_result(finished.run_folder("first"))
    page = finished.folder / "report.html"
    result.report(page)
    browser.get(page.as_uri())
    check("report")
