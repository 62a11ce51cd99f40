"""Take the pictures of the documentation from a report on the embedded survey.

    python docs/pictures.py [STEPS]

Needs chromium, chromedriver and selenium. Writes docs/pictures/report.png and routing.png.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tabsoda import RuleSet, SkipMiner, TabSODAImputer, read_survey
from tabsoda.datasets import make_survey

PICTURES = Path(__file__).resolve().with_name("pictures")
WIDTH, HEIGHT = 1100, 820
_FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "no-proxy-server")


def write_example_report(folder: Path, steps: int | None) -> Path:
    """Impute the embedded survey, and write its report."""
    make_survey(n_rows=1000, seed=1).write(folder, formats=("sav",))
    survey = read_survey(folder / "survey.sav")
    mined = SkipMiner().mine(survey.table)
    rules = RuleSet.from_mined(mined, survey.table.columns).approve(note="read", by="Ann Smith")
    imputer = TabSODAImputer(
        description=survey.schema,
        rules=rules,
        settings={"training": {"max_steps": steps}} if steps else None,
        random_state=1,
    )
    result = imputer.fit(survey).impute(survey, m=5)
    result.report(folder / "report.html", imputer=imputer)
    return folder / "report.html"


def start_browser(profile: Path) -> Any:
    """Start Debian's chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*_FLAGS, f"window-size={WIDTH},{HEIGHT}", f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    service = webdriver.ChromeService(str(shutil.which("chromedriver")))
    return webdriver.Chrome(options=options, service=service)


def main() -> None:
    """Take both pictures."""
    PICTURES.mkdir(exist_ok=True)
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as place:
        page = write_example_report(Path(place), steps)
        browser = start_browser(Path(place) / "profile")
        try:
            browser.get(page.as_uri())
            browser.save_screenshot(str(PICTURES / "report.png"))
            routing = browser.find_element("id", "routing")
            routing.screenshot(str(PICTURES / "routing.png"))
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
