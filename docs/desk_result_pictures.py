"""Take the pictures of steps 4 to 6 of the desk: ``python docs/desk_result_pictures.py``.

Imputes the embedded survey twice, opens the project on the desk and takes screenshots. It needs
chromium, chromedriver and selenium.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pictures import PICTURES, start_browser
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import Select, WebDriverWait

from tabsoda import TabSODAImputer, mine_rules
from tabsoda.analysis.request import EstimateRequest
from tabsoda.datasets import make_survey
from tabsoda.desk.kept_analyses import keep
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import open_survey
from tabsoda.desk.server import DeskServer
from tabsoda.imputer.file_imputation import impute_file

WIDTH = 1200


def make_project(folder: Path) -> Project:
    """Return a project with two runs and one kept analysis."""
    (folder / "data").mkdir(parents=True)
    make_survey(n_rows=1000, seed=1).write(folder / "data", formats=("sav",))
    project = Project(folder)
    data = folder / "data" / "survey.sav"
    open_survey(project, project.version, data)
    rules = mine_rules(project.survey()).approve(note="read", by="Ann Smith")
    rules.to_toml(project.rules)
    for name, seed in (("main", 1), ("other-seed", 2)):
        imputer = TabSODAImputer(
            quality="fast", rules=project.rules, random_state=seed, device="cpu"
        )
        run = project.run_folder(name)
        impute_file(data, imputer, run, m=5, description=project.description)
    keep(project, project.version, EstimateRequest("mean", ("KILOS",), by="SEX"))
    return project


class Screen:
    """The desk in a browser of a fixed width."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address = browser, address

    def wait(self, seen: Callable[[], Any]) -> None:
        """Wait until something is seen; errors count as not yet."""
        WebDriverWait(self.browser, 240, 0.05, [Exception]).until(lambda _: seen())

    def one(self, selector: str) -> Any:
        """Return an element."""
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        """Return all elements."""
        found: list[Any] = self.browser.find_elements(By.CSS_SELECTOR, selector)
        return found

    def open(self, step: str) -> None:
        """Show a step of the main run."""
        self.browser.get(f"{self.address}#{step}")
        self.browser.refresh()
        self.wait(lambda: self.one(f".step.{step} [data-run]"))
        runs = Select(self.one("[data-run]"))
        if runs.first_selected_option.get_attribute("value") != "main":
            # The step is drawn anew; a click before that would still mean the other run.
            before = self.one(f".step.{step}")
            runs.select_by_value("main")
            self.wait(lambda: staleness_of(before)(self.browser))

    def save(self, name: str, height: int) -> None:
        """Save a picture of the top of the page."""
        self.browser.execute_script(
            "document.activeElement.blur(); window.scrollTo(0, 0);"
            # Not the temporary folder.
            "document.getElementById('source').textContent = 'survey.sav · study'"
        )
        size = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        time.sleep(0.5)
        self.browser.save_screenshot(str(PICTURES / f"{name}.png"))


def take(screen: Screen) -> None:
    """Take one picture of each step."""
    screen.open("look")
    screen.wait(lambda: screen.one('[data-name="INCOME"] button').click() is None)
    screen.wait(lambda: screen.one("#by-group").send_keys("SEX") is None)
    screen.wait(lambda: len(screen.all(".detail .group")) >= 2)
    screen.save("desk_look", 1180)
    screen.open("analyse")
    screen.wait(lambda: screen.one('[data-kind="formula"]').click() is None)
    screen.wait(lambda: screen.one("#outcome").send_keys("KILOS") is None)
    for number, name in enumerate(("AGE", "SEX", "CHRONIC"), 1):
        screen.wait(lambda name=name: screen.one("#add-term").send_keys(name) is None)  # type: ignore[misc]
        screen.wait(lambda number=number: len(screen.all(".terms li")) == number)  # type: ignore[misc]
    screen.one("#estimate").click()
    screen.wait(lambda: screen.one(".result tbody tr"))
    drawn = "return document.querySelector('.result img').naturalWidth > 0"
    screen.wait(lambda: screen.browser.execute_script(drawn))
    screen.save("desk_analyse", 1280)
    screen.one("#code summary").click()
    code = screen.one('[data-language="stata"]')
    code.screenshot(str(PICTURES / "desk_code.png"))
    screen.open("export")
    for target in ("stata", "r"):
        screen.wait(lambda target=target: screen.one(f'[data-write="{target}"]').click() is None)  # type: ignore[misc]
        files = f'[data-format="{target}"] .files li'
        screen.wait(lambda files=files: screen.one(files))  # type: ignore[misc]
    screen.save("desk_export", 900)


def main() -> None:
    """Make the project, serve it and take the pictures."""
    with tempfile.TemporaryDirectory() as place:
        server = DeskServer(make_project(Path(place) / "study"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        browser = start_browser(Path(place) / "profile")
        try:
            take(Screen(browser, server.address))
        finally:
            browser.quit()
            server.stop()
            thread.join(10)


if __name__ == "__main__":
    main()
