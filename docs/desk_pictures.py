"""Make the pictures of the guide to the desk: docs/pictures/desk_*.png.

    python docs/desk_pictures.py

Works through the steps on the embedded survey and takes a screenshot of each. It needs chromium,
chromedriver and selenium, and takes about a minute.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pictures import HEIGHT, PICTURES, WIDTH, start_browser

from tabsoda.datasets import make_survey
from tabsoda.desk.describing import correct
from tabsoda.desk.imputation_choice import ImputationChoice
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import open_survey
from tabsoda.desk.server import DeskServer
from tabsoda.review.reviewer import save_rules
from tabsoda.skips.rule_set import RuleSet

_ENDED = ("finished", "failed", "interrupted")
_PLAN = "document.querySelector('#plan').click()"
# Instead of the temporary folder.
_PLACE = "document.getElementById('source').textContent = 'survey.sav · /home/ann/health'"


def wait_until(seen: Callable[[], object]) -> None:
    """Wait until a function returns something true."""
    while not seen():
        time.sleep(0.1)


def wait_for(project: Project, job: str, *states: str) -> None:
    """Wait until a job is in one of the states."""
    wait_until(lambda: project.jobs.get(job)["state"] in states)


def take(
    browser: Any,
    server: DeskServer,
    step: str,
    name: str,
    script: str = "",
    seen: str = "",
    height: int = HEIGHT,
) -> None:
    """Show a step, run a script on it, and write the picture.

    Parameters
    ----------
    browser : webdriver
    server : DeskServer
    step : str
        The hash of its address.
    name : str
        The picture, without ``desk_`` and its extension.
    script : str
        What is clicked before the picture is taken.
    seen : str
        The selector of an element to wait for after that.
    height : int
        Of the window, in pixels.
    """
    browser.get("about:blank")
    browser.set_window_size(WIDTH, height)
    browser.get(f"{server.address}#{step}")
    wait_until(lambda: browser.find_elements("css selector", f".step.{step}"))
    browser.execute_script(script)
    wait_until(lambda: not seen or browser.find_elements("css selector", seen))
    time.sleep(1)
    browser.execute_script(_PLACE)
    browser.save_screenshot(str(PICTURES / f"desk_{name}.png"))


def open_and_route(project: Project, browser: Any, server: DeskServer) -> None:
    """Correct a column, mine and approve rules."""
    correct(project, project.version, ["EDUC.kind=ordinal"])
    take(browser, server, "open", "open", height=1560)
    click = "document.querySelector('[data-name=EDUC] .link').click()"
    take(browser, server, "open", "column", click, "dialog[open]")
    wait_for(project, project.jobs.submit("mine", "Mine the routing rules", {})["id"], *_ENDED)
    wait_for(project, project.jobs.submit("edits", "Propose edits", {})["id"], *_ENDED)
    take(browser, server, "routing", "routing", height=1300)
    rules = RuleSet.from_toml(project.rules)
    save_rules(rules.approve(note="read", by="Ann Smith"), project.rules)


def impute(project: Project, browser: Any, server: DeskServer) -> None:
    """Plan a run, and take a picture while it runs."""
    choice = ImputationChoice("first", "fast", 5, 1)
    job = project.jobs.submit("impute", "Impute first (fast, 5 draws)", choice.to_dict())["id"]
    wait_until(lambda: (project.jobs.get(job)["progress"] or {}).get("done"))
    project.jobs.pause(job)
    take(browser, server, "impute", "impute", _PLAN, "#plan-text")
    project.jobs.resume(job)
    wait_for(project, job, *_ENDED)


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        project = Project(folder / "health")
        data = project.folder / "data"
        make_survey(n_rows=1000, seed=1).write(data, formats=("sav",))
        open_survey(project, project.version, data / "survey.sav")
        with project.change(project.version) as content:
            content["settings"]["reviewer"] = "Ann Smith"
        server = DeskServer(project)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        browser = start_browser(folder / "profile")
        try:
            open_and_route(project, browser, server)
            impute(project, browser, server)
        finally:
            browser.quit()
            server.stop()
            thread.join()


if __name__ == "__main__":
    main()
