"""The desk in a real browser: by clicks and keys, for a screen reader, on a narrow screen."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from desk_project import wait_for
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from tabsoda.desk.describing import correct
from tabsoda.desk.job_lock import process_of
from tabsoda.desk.job_signals import pause_group
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import open_survey
from tabsoda.skips.rule_set import RuleSet

EVIL = '<img src=x onerror="document.title=\'pwned\'"><script>document.title="pwned"</script>'
STEPS = ("open", "routing", "impute", "look", "analyse", "export")
HERE = Path(__file__).parent
ACCESSIBLE = (HERE / "accessible.js").read_text(encoding="utf-8")
CONTRAST = (HERE / "contrast.js").read_text(encoding="utf-8")


class Screen:
    """The desk in the browser."""

    def __init__(self, browser, address, first="#step h2") -> None:
        self.browser = browser
        browser.get(address)
        self.wait(lambda: self.one(first))

    def wait(self, seen, seconds=30):
        WebDriverWait(self.browser, seconds, 0.05, [Exception]).until(lambda _: seen())

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector):
        self.wait(lambda: self.one(selector).is_enabled() and not self.one(selector).click())

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def step(self, name):
        self.click(f'[data-step="{name}"]')
        self.wait(lambda: self.one(f".step.{name} h2"))

    def text(self, selector, part, seconds=30):
        self.wait(lambda: part in self.one(selector).text, seconds)


@pytest.fixture
def screen(browser, serve, empty):
    browser.get_log("browser")
    screen = Screen(browser, serve(empty).address)
    yield screen
    wrong = [e["message"] for e in browser.get_log("browser") if "status of 4" not in e["message"]]
    assert wrong == []
    browser.get("about:blank")


def test_a_survey_is_opened_and_corrected_by_keys(screen, empty, survey_file, tmp_path):
    data = tmp_path / "labels.csv"
    pl.read_csv(survey_file).rename({"EDUC": EVIL}).write_csv(data)
    screen.one("#path").send_keys(str(data), Keys.ENTER)
    screen.wait(lambda: screen.one('[data-name="AGE"]'))
    assert empty.data == data
    # The first row of the grid has the focus; the arrow keys move it.
    screen.browser.execute_script("document.querySelector('.row[tabindex=\"0\"]').focus()")
    screen.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    focused = "return document.activeElement.dataset.name"
    screen.wait(lambda: screen.browser.execute_script(focused) == "AGE")
    screen.press(Keys.ENTER)
    screen.wait(lambda: screen.one("dialog[open] #column-title").text == "AGE")
    Select(screen.one('dialog[open] select[aria-label="Role"]')).select_by_value("ignore")
    screen.click("#save-column")
    screen.wait(lambda: empty.survey().schema["AGE"].role == "ignore")
    screen.text("#commands", "--set AGE.role=ignore")
    screen.wait(lambda: screen.one("#undo").is_enabled())
    screen.press("u")
    screen.wait(lambda: empty.survey().schema["AGE"].role == "question")
    # The name of a column is shown, never executed.
    screen.wait(lambda: EVIL in [e.text for e in screen.all(".row .name")])
    assert "pwned" not in screen.browser.title


DROP = """
const given = new DataTransfer();
given.items.add(new File([arguments[0]], "dropped.csv"));
document.querySelector(".drop").dispatchEvent(
  new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
"""


def test_a_dropped_file_is_copied_into_the_project(screen, empty, survey_file):
    screen.wait(lambda: screen.one(".drop"))
    screen.browser.execute_script(DROP, survey_file.read_text(encoding="utf-8"))
    screen.wait(lambda: screen.one('[data-name="AGE"]'))
    assert empty.data.parent == empty.folder / "data"
    assert empty.data.name == "dropped.csv"
    assert empty.data.read_bytes() == survey_file.read_bytes()


def test_what_the_page_loads_is_small(screen):
    """All files of the page, and what it asks for when it opens, are below 200 kB."""
    sizes = """return performance.getEntriesByType("resource")
      .concat(performance.getEntriesByType("navigation"))
      .map((entry) => [entry.name, entry.decodedBodySize])"""
    found = dict(screen.browser.execute_script(sizes))
    assert any(name.endswith("desk.js") for name in found)
    assert 10_000 < sum(found.values()) < 200_000, found


def test_the_six_steps_are_readable(screen, empty, survey_file):
    open_survey(empty, empty.version, survey_file)
    screen.browser.refresh()
    screen.wait(lambda: screen.one(".grid .row"))
    metrics = {"deviceScaleFactor": 1, "mobile": False, "height": 800}
    for number, name in enumerate(STEPS, 1):
        screen.press(str(number))
        screen.wait(lambda name=name: screen.one(f".step.{name} h2"))
        assert screen.one(f'[data-step="{name}"]').get_attribute("aria-current") == "page"
        assert screen.browser.execute_script(ACCESSIBLE) == []
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            screen.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            assert screen.browser.execute_script(CONTRAST) == [], (name, scheme)
        screen.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", metrics | {"width": 360}
        )
        wide = "return document.documentElement.scrollWidth"
        assert screen.browser.execute_script(wide) <= 360, name
        screen.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    screen.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    screen.press("?")
    screen.wait(lambda: screen.one("#help[open]"))


def test_two_tabs_do_not_fight(screen, empty, survey_file):
    open_survey(empty, empty.version, survey_file)
    screen.browser.refresh()
    screen.wait(lambda: screen.one('[data-name="SEX"] select'))
    # Another tab corrects a column while this one shows the earlier version.
    correct(empty, empty.version, ["AGE.role=ignore"])
    Select(screen.one('[aria-label="Kind of SEX"]')).select_by_value("ordinal")
    screen.text("#banner", "has changed since this page was loaded")
    role = "return document.querySelector('[aria-label=\"Role of AGE\"]').value"
    screen.wait(lambda: screen.browser.execute_script(role) == "ignore")
    schema = empty.survey().schema
    assert (schema["AGE"].role, schema["SEX"].kind) == ("ignore", "nominal")


def start_frozen(project):
    """Start mining and freeze it, so that it is still running when the page pauses it."""
    job = project.jobs.submit("mine", "Mine", {})["id"]
    pause_group(process_of(project.jobs.folder / f"{job}.lock"))
    return job


def test_pausing_a_job_does_not_hide_the_change_of_another_tab(screen, empty, survey_file):
    open_survey(empty, empty.version, survey_file)
    screen.browser.refresh()
    screen.wait(lambda: screen.one('[data-name="SEX"] select'))
    job = start_frozen(empty)
    screen.step("routing")
    screen.wait(lambda: screen.one('.job.running [data-action="pause"]'))
    correct(empty, empty.version, ["AGE.role=ignore"])
    screen.click('.job.running [data-action="pause"]')
    screen.wait(lambda: empty.jobs.get(job)["state"] == "paused")
    screen.wait(lambda: screen.one(".job.paused"))
    screen.click("#propose")
    screen.text("#banner", "has changed since this page was loaded")
    assert len(empty.jobs.summary()) == 1


def test_quick_changes_of_one_tab_follow_one_another(screen, empty, survey_file):
    open_survey(empty, empty.version, survey_file)
    screen.browser.refresh()
    screen.wait(lambda: screen.one('[data-name="SEX"] select'))
    screen.browser.execute_script("""
        for (const name of ["SEX", "AGE", "EDUC"]) {
          const box = document.querySelector(`[aria-label="Role of ${name}"]`);
          box.value = "ignore";
          box.dispatchEvent(new Event("change"));
        }""")
    screen.text("#commands", "--set EDUC.role=ignore")
    assert {empty.survey().schema[name].role for name in ("SEX", "AGE", "EDUC")} == {"ignore"}
    assert not screen.one("#banner").is_displayed()
    for _ in range(3):
        screen.press("u")
    screen.wait(lambda: empty.content["description"]["settings"] == [])
    assert not screen.one("#banner").is_displayed()


def test_selected_columns_are_corrected_together(screen, empty, survey_file):
    open_survey(empty, empty.version, survey_file)
    screen.browser.refresh()
    screen.wait(lambda: screen.one('[data-name="AGE"] select'))
    names = [one.get_attribute("data-name") for one in screen.all(".row[data-name]")]
    first, second, third = chosen = names[names.index("AGE") :][:3]
    screen.browser.execute_script(f"document.querySelector('[data-name=\"{first}\"]').focus()")
    held = ActionChains(screen.browser).key_down(Keys.SHIFT)
    held.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN).key_up(Keys.SHIFT).perform()
    marked = '.row[aria-selected="true"]'
    screen.wait(lambda: [e.get_attribute("data-name") for e in screen.all(marked)] == chosen)
    screen.text(".selection", "3 columns are selected")
    before = {name: empty.survey().schema[name].role for name in names}
    role = f'[aria-label="Role of {second}"]'
    screen.wait(lambda: Select(screen.one(role)).select_by_value("ignore") is None)
    screen.text("#commands", f"--set {third}.role=ignore")
    after = {name: empty.survey().schema[name].role for name in names}
    assert {name for name in names if before[name] != after[name]} == set(chosen)
    # One correction, which is undone at once; the selection stays.
    assert len(empty.content["description"]["settings"]) == 1
    screen.press("u")
    screen.wait(lambda: empty.survey().schema[third].role == "question")
    assert empty.content["description"]["settings"] == []
    # A missing code as well, even if it was typed and not added.
    screen.click(f'[data-name="{third}"] .link')
    screen.wait(lambda: screen.one("dialog[open] #also").is_selected())
    screen.one("#new-code").send_keys("77")
    screen.click("#save-column")
    screen.text("#commands", f"--set {third}.missing.77=refused")
    for name in chosen:
        assert empty.survey().schema[name].special_codes[77] == "refused"
    screen.browser.execute_script(f"document.querySelector('[data-name=\"{first}\"]').focus()")
    screen.press(Keys.ESCAPE)
    screen.wait(lambda: not screen.one(".selection").is_displayed())
    assert screen.all(marked) == []


ACTIVE = """const one = document.activeElement;
return one.getAttribute("aria-label") || one.dataset.action || one.id"""


def test_what_has_the_focus_keeps_it(screen, empty, survey_file):
    """By keys alone, one need not begin at the top of the page after every change."""
    open_survey(empty, empty.version, survey_file)
    screen.browser.refresh()
    screen.wait(lambda: screen.one('[data-name="SEX"] select'))
    screen.browser.execute_script("document.querySelector('[data-name=SEX]').focus()")
    screen.press(Keys.ARROW_RIGHT, "i")
    screen.text("#commands", "--set SEX.role=i")

    def focused():
        return screen.browser.execute_script(ACTIVE)

    screen.wait(lambda: focused() == "Role of SEX")
    screen.step("impute")
    screen.wait(lambda: screen.one("#plan"))
    screen.browser.execute_script("document.querySelector('#plan').focus()")
    screen.press(Keys.ENTER)
    screen.text("#plan-text", "would be imputed")
    assert focused() == "plan"
    job = start_frozen(empty)
    screen.wait(lambda: screen.one('.job.running [data-action="pause"]'))
    screen.browser.execute_script("document.querySelector('[data-action=pause]').focus()")
    screen.press(Keys.ENTER)
    # In its place is Continue.
    screen.wait(lambda: screen.one(".job.paused") and focused() == "resume")
    screen.press(Keys.ENTER)
    screen.wait(lambda: empty.jobs.get(job)["state"] == "finished")
    screen.wait(lambda: screen.one(".job.finished") and focused() == "remove")


def test_changes_that_wait_are_dropped_if_another_tab_was_faster(screen, empty, survey_file):
    open_survey(empty, empty.version, survey_file)
    screen.browser.refresh()
    screen.wait(lambda: screen.one('[data-name="SEX"] select'))
    correct(empty, empty.version, ["AGE.role=ignore"])
    screen.browser.execute_script("""
        for (const name of ["SEX", "EDUC"]) {
          const box = document.querySelector(`[aria-label="Role of ${name}"]`);
          box.value = "ignore";
          box.dispatchEvent(new Event("change"));
        }""")
    screen.text("#banner", "has changed since this page was loaded")
    # The next change is one of a person who has seen the other tab's.
    kind = '[aria-label="Kind of SEX"]'
    screen.wait(lambda: Select(screen.one(kind)).select_by_value("ordinal") is None)
    screen.wait(lambda: empty.survey().schema["SEX"].kind == "ordinal")
    assert [one.role for one in empty.survey().schema if one.name in ("SEX", "EDUC")] == (
        ["question", "question"]
    )


def test_a_wide_file_is_scrolled_not_drawn(screen, empty, tmp_path):
    wide = pl.DataFrame({f"Q{n:04d}": [n % 7, 1, 2, 3] for n in range(1500)})
    wide.write_csv(tmp_path / "wide.csv")
    open_survey(empty, empty.version, tmp_path / "wide.csv")
    screen.browser.refresh()
    screen.wait(lambda: screen.one(".grid .row[data-name]"))
    assert screen.one(".grid").get_attribute("aria-rowcount") == "1501"
    assert len(screen.all(".row[data-name]")) < 60
    screen.press("/")
    screen.press("q1499")
    screen.wait(
        lambda: [e.get_attribute("data-name") for e in screen.all(".row[data-name]")] == ["Q1499"]
    )


def test_an_error_goes_away_and_an_empty_box_is_not_zero(screen, empty, survey_file, tmp_path):
    screen.one("#path").send_keys(str(tmp_path), Keys.ENTER)
    screen.text("#banner", "is a folder")
    screen.one("#path").clear()
    screen.one("#path").send_keys(str(survey_file), Keys.ENTER)
    screen.wait(lambda: screen.one('[data-name="AGE"]'))
    assert not screen.one("#banner").is_displayed()
    screen.step("impute")
    screen.wait(lambda: screen.one("#choice-draws").clear() is None)
    screen.one("#choice-seed").send_keys("7", Keys.TAB)
    screen.text("#commands", "-m 5 --seed 7")
    assert screen.one("#choice-draws").get_attribute("value") == "5"


def test_a_late_answer_does_not_replace_the_commands_of_a_later_choice(screen, survey_file):
    screen.one("#path").send_keys(str(survey_file), Keys.ENTER)
    screen.wait(lambda: screen.one('[data-name="AGE"]'))
    screen.step("impute")
    screen.wait(lambda: screen.one("#choice-seed"))
    # The answer to the first choice waits until it is let go; later ones come at once.
    screen.browser.execute_script("""
        const plain = window.fetch;
        let first = true;
        window.fetch = async (address, options) => {
          const response = await plain(address, options);
          if (String(address).endsWith("impute/commands") && first) {
            first = false;
            await new Promise((go) => { window.letGo = go; });
            window.late = true;
          }
          return response;
        };""")
    Select(screen.one("#choice-quality")).select_by_value("fast")
    screen.wait(lambda: screen.browser.execute_script("return Boolean(window.letGo)"))
    Select(screen.one("#choice-quality")).select_by_value("best")
    screen.text("#commands", "--quality best")
    screen.browser.execute_script("window.letGo()")
    screen.wait(
        lambda: screen.browser.execute_script(
            "return window.late && new Promise((go) => setTimeout(() => go(true), 200))"
        )
    )
    assert "--quality best" in screen.one("#commands").text


@pytest.mark.slow
def test_from_a_file_to_a_run_by_clicks(screen, empty, survey_file, serve):
    # Chosen with the button, as a dropped file is: copied into the project.
    screen.one("#file").send_keys(str(survey_file))
    screen.wait(lambda: screen.one('[data-name="AGE"]'))
    assert empty.data == empty.folder / "data" / "survey.csv"
    screen.step("routing")
    screen.click("#mine")
    screen.text("#rules-text", "not reviewed", 60)
    screen.click("#review")
    screen.wait(lambda: screen.one("article .actions .approve"))
    screen.press("a")
    screen.wait(lambda: RuleSet.from_toml(empty.rules)["r001"].status.value == "approved")
    screen.click("#finish")
    screen.browser.switch_to.alert.accept()
    screen.text("#rules-text", "1 approved")
    screen.click("#approve-all")
    screen.browser.switch_to.alert.accept()
    screen.text("#rules-text", "0 not reviewed")
    screen.step("impute")
    screen.wait(lambda: Select(screen.one("#choice-quality")).select_by_value("tiny") is None)
    screen.click("#plan")
    screen.text("#plan-text", "would be imputed", 60)
    screen.click("#start")
    screen.click('.job.running [data-action="pause"]')
    screen.wait(lambda: screen.one(".job.paused"))
    # Closing the page does not end the job.
    screen.browser.get("about:blank")
    assert empty.jobs.summary()[0]["state"] == "paused"
    screen.browser.back()
    screen.click('.job.paused [data-action="resume"]')
    screen.wait(lambda: "run-1" in screen.one("#runs").text, 120)
    assert (empty.folder / "runs" / "run-1" / "report.html").is_file()
    # Opened again from a copy of the folder: everything is there.
    there = empty.folder.parent / "again"
    shutil.copytree(empty.folder, there)
    (there / "server.json").unlink()
    again = Project(there)
    wait_for(lambda: again.summary()["runs"][0]["finished"])
    Screen(screen.browser, serve(again).address + "#impute")
    screen.wait(lambda: "run-1" in screen.one("#runs").text)
