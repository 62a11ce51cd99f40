"""Steps 4 to 6 in a real browser: by clicks, for a screen reader, on a narrow screen."""

import json
import zipfile

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from test_desk_browser import ACCESSIBLE, CONTRAST, Screen

from tabsoda.analysis.saved_sensitivity import load_analyses
from tabsoda.desk.kept_analyses import kept_analyses


@pytest.fixture
def results(browser, serve, finished):
    browser.get_log("browser")
    screen = Screen(browser, serve(finished).address)
    yield screen
    wrong = [e["message"] for e in browser.get_log("browser") if "status of 4" not in e["message"]]
    assert wrong == []
    browser.get("about:blank")


def check_readable(screen, name):
    """Check names, roles and contrast of what is shown, and that nothing is wider than a phone."""
    assert screen.browser.execute_script(ACCESSIBLE) == [], name
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        screen.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        assert screen.browser.execute_script(CONTRAST) == [], (name, scheme)
    screen.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    metrics = {"deviceScaleFactor": 1, "mobile": False, "height": 800, "width": 360}
    screen.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    assert screen.browser.execute_script("return document.documentElement.scrollWidth") <= 360
    screen.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def choose_run(screen, run, selector, part):
    """Choose a run, and wait until the step shows it."""
    screen.wait(lambda: Select(screen.one("[data-run]")).select_by_value(run) is None)
    screen.text(selector, part)


def drawn(screen, selector):
    """Return whether an image was loaded."""
    return screen.browser.execute_script(
        f"return document.querySelector({json.dumps(selector)}).naturalWidth > 0"
    )


def test_looking_by_clicks(results, finished):
    results.step("look")
    choose_run(results, "first", "#commands", "runs/first")
    results.wait(lambda: results.one(".questions tbody tr"))
    report = json.loads((finished.run_folder("first") / "report.json").read_text("utf-8"))
    assert report["flags"][0]["text"] in results.one('[aria-label="Flags"]').text
    results.press("/")
    results.press("hours")
    results.wait(lambda: len(results.all(".questions tbody tr")) == 1)
    results.one(".questions tbody button").click()
    results.text(".detail h4", "HOURS")
    results.one("#by-group").send_keys("SEX")
    results.wait(lambda: len(results.all(".detail .group")) == 2)
    answered = next(one for one in report["variables"] if one["name"] == "HOURS")["states"]
    assert f"{answered['answered']:,} answered" in results.one(".detail").text
    Select(results.one("#other-run")).select_by_value("second")
    results.text('[aria-label="Two runs side by side"]', "What differs in the completed tables")
    settings = results.one('[aria-label="Settings, seeds, versions and files"]').text
    assert "seed 1 2" in settings
    check_readable(results, "look")
    # The report opens in a tab of its own, and its own script runs there.
    results.browser.execute_script("window.scrollTo(0, 0)")
    results.click("#open-report")
    home = results.browser.current_window_handle
    other = next(one for one in results.browser.window_handles if one != home)
    results.browser.switch_to.window(other)
    results.wait(lambda: results.one("#find").is_displayed())
    results.one("#find").send_keys("hours")
    results.wait(lambda: results.one("#found").text == "1 of 12")
    results.browser.close()
    results.browser.switch_to.window(home)


def test_a_late_answer_does_not_replace_a_question_that_was_chosen_later(results):
    results.step("look")
    choose_run(results, "first", "#commands", "runs/first")
    results.wait(lambda: len(results.all(".questions tbody button")) > 1)
    results.browser.execute_script("""
        const plain = window.fetch;
        let first = true;
        window.fetch = async (address, options) => {
          const response = await plain(address, options);
          if (String(address).includes("look/question") && first) {
            first = false;
            await new Promise((go) => { window.letGo = go; });
          }
          return response;
        };""")
    earlier, later = results.all(".questions tbody button")[:2]
    earlier.click()
    results.wait(lambda: results.browser.execute_script("return Boolean(window.letGo)"))
    later.click()
    results.text(".detail h4", later.text)
    results.browser.execute_async_script("window.letGo(); setTimeout(arguments[0], 200)")
    assert results.one(".detail h4").text.startswith(later.text)


def test_analysing_by_clicks(results, finished):
    results.step("analyse")
    choose_run(results, "first", ".step.analyse", "3 draws")
    results.wait(lambda: results.one("#add-column"))
    results.one("#add-column").send_keys("HOURS")
    results.wait(lambda: results.one(".picked li"))
    results.click("#estimate")
    results.wait(lambda: results.one(".result tbody tr"))
    results.wait(lambda: drawn(results, ".result img"))
    results.text("#commands", "tabsoda pool runs/first --mean HOURS")
    results.one("#code summary").click()
    for language, line in (("r", "means_of"), ("stata", "mi estimate"), ("python", "def pooled")):
        assert line in results.one(f'[data-language="{language}"] pre').text
    check_readable(results, "analyse")
    results.click("#keep")
    results.wait(lambda: results.one(".kept li"))
    assert kept_analyses(finished.folder)[0]["request"].of == ("HOURS",)
    # A shift of the imputed answers, as a job.
    results.one("#shift-column").send_keys("HOURS")
    results.click("#shift")
    results.wait(lambda: results.one("[data-sensitivity] img"), 60)
    assert len(load_analyses(finished.run_folder("first"))) == 1
    results.wait(lambda: drawn(results, "[data-sensitivity] img"))
    # The kept analysis is made again on the other run.
    choose_run(results, "second", "#again", "Make all on second")
    results.click("#again")
    results.wait(lambda: results.one(".kept li tbody tr"))
    assert "Pooled over 4 imputations" in results.one(".kept li").text


def test_a_regression_is_picked_and_its_formula_shown(results):
    results.step("analyse")
    results.wait(lambda: results.one("#add-column"))
    results.click('[data-kind="formula"]')
    results.wait(lambda: results.one("#outcome"))
    results.one("#outcome").send_keys("SEX")
    results.wait(lambda: results.one("#answer"))
    results.one("#add-term").send_keys("AGE")
    results.wait(lambda: len(results.all(".terms li")) == 1)
    results.one("#add-term").send_keys("EDUC")
    results.wait(lambda: len(results.all(".terms li")) == 2)
    form = results.all(".terms select")[1]
    Select(form).select_by_value("levels")
    results.press("\ue007")
    results.browser.execute_script("document.activeElement.blur()")
    results.press("e")
    results.text(".result h3", "I(SEX == 1) ~ AGE + C(EDUC) (binomial)")
    rows = [row.find_element(By.TAG_NAME, "th").text for row in results.all(".result tbody tr")]
    assert rows[0] == "Intercept"
    assert any("AGE" in text for text in rows)


def test_exporting_by_clicks(results, finished):
    results.step("export")
    choose_run(results, "first", "#commands", "runs/first")
    results.text("#methods", "3 completed tables were drawn")
    results.click('[data-write="csv"]')
    results.wait(lambda: results.one('[data-format="csv"] .files li'), 60)
    assert (finished.folder / "exports" / "first-csv" / "imputations.csv").is_file()
    results.click("#with-models")
    results.text("#commands", "--without-models")
    results.click("#archive")
    results.wait(lambda: results.one('[aria-label="Hand over"] .files a'), 60)
    with zipfile.ZipFile(finished.folder / "exports" / "study.zip") as packed:
        assert not any("/model/" in name for name in packed.namelist())
    check_readable(results, "export")
