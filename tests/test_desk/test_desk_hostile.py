"""Texts of a hostile survey are shown on every step, and none of them is executed."""

import polars as pl
import pytest
from test_desk_browser import EVIL, Screen

from tabsoda import TabSODAImputer
from tabsoda.analysis.request import EstimateRequest
from tabsoda.datasets import make_survey
from tabsoda.desk.kept_analyses import keep
from tabsoda.desk.project import Project
from tabsoda.desk.receiving import open_survey
from tabsoda.imputer.file_imputation import impute_file
from tabsoda.skips.mining import mine_survey

pytestmark = pytest.mark.slow
# Also for where a text is part of an attribute, an address or a style.
QUOTED = "\"'><svg onload=document.title='pwned'>`${document.title='pwned'}</style></title>"
FILE = "<img src=x onerror=document.title='pwned'>.csv"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Project:
    """Return a project whose names, labels, answers, notes and files are markup."""
    root = tmp_path_factory.mktemp("hostile")
    make_survey(n_rows=300, n_columns=12, seed=3).write(root / "plain")
    table = pl.read_csv(root / "plain" / "survey.csv")
    text = {1: EVIL, 2: QUOTED}
    table = table.with_columns(pl.col("SEX").replace_strict(text, default=None).alias("SEX"))
    table = table.rename({"EDUC": EVIL, "HOURS": QUOTED})
    folder = root / "<b onclick=x>study"
    (folder / "data").mkdir(parents=True)
    data = folder / "data" / FILE
    table.write_csv(data)
    project = Project(folder)
    open_survey(project, project.version, data)
    toml = project.description.read_text(encoding="utf-8")
    named = '[[variable]]\nname = "AGE"\n'
    assert named in toml
    evil = EVIL.replace("\\", "\\\\").replace('"', '\\"')
    toml = toml.replace(named, f'{named}label = "{evil}"\nuniverse = "{evil}"\n')
    project.description.write_text(toml, encoding="utf-8")
    rules = mine_survey(project.survey()).rules
    rules = rules.approve([rule.identifier for rule in rules], EVIL, by=EVIL)
    rules.to_toml(project.rules)
    imputer = TabSODAImputer(
        quality="tiny",
        random_state=1,
        description=project.description,
        rules=project.rules,
        device="cpu",
    )
    impute_file(data, imputer, folder / "runs" / "first", m=2)
    keep(project, project.version, EstimateRequest("mean", ("AGE",)), EVIL)
    return project


def test_no_text_of_a_survey_is_executed(browser, serve, hostile):
    browser.get_log("browser")
    address = serve(hostile).address
    screen = Screen(browser, address)
    screen.wait(lambda: screen.one('[data-name="AGE"]'))
    assert EVIL in [one.text for one in screen.all(".row .text")]
    assert FILE in screen.one("#source").text
    screen.click('[data-name="SEX"] .link')
    screen.wait(lambda: EVIL in screen.one("dialog[open]").text)
    screen.browser.refresh()
    screen.step("routing")
    screen.wait(lambda: screen.one("#cells-text"))
    screen.step("impute")
    screen.click("#plan")
    screen.text("#plan-text", "would be imputed")
    screen.step("look")
    screen.wait(lambda: screen.one(".questions tbody tr"))
    screen.wait(lambda: QUOTED in screen.one(".questions").text)
    next(one for one in screen.all(".questions button") if one.text == QUOTED).click()
    screen.text(".detail h4", QUOTED)
    screen.one("#by-group").send_keys("SEX")
    screen.wait(lambda: EVIL in screen.one(".detail").text)
    screen.step("analyse")
    assert EVIL in screen.one(".kept").text
    screen.click('[data-kind="share"]')
    screen.one("#add-column").send_keys("SEX")
    screen.wait(lambda: screen.one(".picked li"))
    screen.click("#estimate")
    screen.wait(lambda: EVIL in screen.one(".result table").text)
    screen.step("export")
    screen.wait(lambda: screen.one("[data-write]"))
    Screen(browser, address + "review/", "article")
    screen.wait(lambda: EVIL in screen.one("article").text)
    assert browser.title != "pwned"
    # No part of a text has become an element, or a request.
    browser.get(address + "api/look/report?run=first")
    screen.wait(lambda: screen.one("h1"))
    assert browser.title != "pwned"
    assert not screen.all("img[src=x], svg[onload]")
    wrong = [one["message"] for one in browser.get_log("browser")]
    assert [text for text in wrong if "Content Security" in text or "404" in text] == []
