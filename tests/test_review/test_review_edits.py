"""Edits of the description on the review page: listed with counts, approved in the file."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from smoking_review import EVIL, Page

from tabsoda.review.session import ReviewSession
from tabsoda.schema.files import load_description

TEXT = f"""\
# Mine.
[[edit]]
rule = "PACKS <= 4"      # a comment
label = '''{EVIL}'''
approved = false

[[variable]]
name = "AGE"
kind = "continuous"

[[edit]]
rule = "AGE >= 18"
"""


@pytest.fixture
def description(tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def edited(smoking, rules_file, description) -> ReviewSession:
    return ReviewSession(rules_file, smoking, "Ann", description=description)


def approved(path):
    return [edit.approved for edit in load_description(path).edits]


def test_edits_are_listed_and_approved_without_touching_the_rest_of_the_file(
    serve, edited, description
):
    page = Page(serve(edited).address)
    with page.client:
        first, second = page.get("api/edits").json()["edits"]
        packs = edited.survey.table.values[:, 3]
        assert first["known"] == int((packs > 0).sum())
        assert first["violated"] == int((packs > 4).sum())
        assert (first["approved"], second["approved"], second["violated"]) == (False, True, 0)
        body = {"number": 0, "approved": True, "rule": "PACKS <= 4"}
        assert page.post("api/edits", body, origin="https://evil.example").status_code == 403
        assert approved(description) == [False, True]
        answer = page.post("api/edits", body)
        assert answer.json()["edits"][0]["approved"]
        assert approved(description) == [True, True]
        page.post("api/edits", body | {"number": 1, "rule": "AGE >= 18", "approved": False})
        assert approved(description) == [True, False]
        wrong = page.post("api/edits", body | {"rule": "AGE >= 19"})
        assert wrong.status_code == 422
        assert "does not contain this edit" in wrong.json()["error"]
        kept = [line for line in TEXT.splitlines() if "approved" not in line]
        assert [x for x in description.read_text().splitlines() if "approved" not in x] == kept


def test_small_counts_are_hidden(smoking, rules_file, description):
    description.write_text('[[edit]]\nrule = "AGE < 89"\n')
    session = ReviewSession(rules_file, smoking, "Ann", 10, description)
    (edit,) = session.edits.summary()["edits"]
    assert (edit["known"], edit["violated"]) == (400, None)


def test_an_inline_list_is_not_changed(edited, description):
    description.write_text('edit = [{ rule = "AGE >= 18" }]\n')
    from tabsoda import InputError

    with pytest.raises(InputError, match="cannot change"):
        edited.edits.decide(0, False, "AGE >= 18")
    assert approved(description) == [True]


def test_a_click_in_the_browser_approves(browser, serve, edited, description):
    browser.get(serve(edited).address)
    wait = WebDriverWait(browser, 15, 0.05, [Exception])
    panel = browser.find_element(By.ID, "edits-panel")
    wait.until(lambda _: panel.is_displayed())
    panel.find_element(By.TAG_NAME, "summary").click()
    assert panel.find_element(By.TAG_NAME, "summary").text == "Edits (1 not approved)"
    assert EVIL in panel.text
    panel.find_elements(By.TAG_NAME, "button")[0].click()
    wait.until(lambda _: approved(description) == [True, True])
    wait.until(lambda _: "0 not approved" in panel.text)
    assert browser.title != "pwned"
    browser.get("about:blank")


def test_without_edits_the_page_shows_no_list(browser, serve, session):
    browser.get(serve(session).address)
    wait = WebDriverWait(browser, 15, 0.05, [Exception])
    wait.until(lambda _: browser.find_elements(By.CSS_SELECTOR, "article"))
    assert not browser.find_element(By.ID, "edits-panel").is_displayed()
    browser.get("about:blank")
