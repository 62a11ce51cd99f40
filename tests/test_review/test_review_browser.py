"""The page in a real browser: by keys, by clicks, and when somebody else was faster."""

import json
from dataclasses import replace

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tabsoda.review.session import ReviewSession
from tabsoda.schema import Reason
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, Rival


class Screen:
    """A page in the browser, and the file behind it."""

    def __init__(self, browser, rules_file) -> None:
        self.browser, self.file = browser, rules_file

    def wait(self, seen):
        WebDriverWait(self.browser, 15, 0.05, [Exception]).until(lambda _: seen())

    def press(self, keys):
        """Type where the focus is, as a person does."""
        ActionChains(self.browser).send_keys(keys).perform()

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, selector)]

    @property
    def selected(self):
        return self.one("[aria-current]").get_attribute("data-rule")

    def rule(self, identifier):
        return RuleSet.from_toml(self.file)[identifier]

    def progress(self, text):
        self.wait(lambda: self.one("#progress-text").text == text)


@pytest.fixture
def screen(browser, serve, session, rules_file):
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(serve(session).address)
    screen = Screen(browser, rules_file)
    screen.wait(lambda: screen.texts(".patterns"))
    yield screen
    # Drafts would make the browser ask before it leaves.
    browser.execute_script("window.onbeforeunload = null")
    wrong = [e["message"] for e in browser.get_log("browser") if "status of 4" not in e["message"]]
    assert wrong == []
    browser.get("about:blank")


def test_a_review_by_keys(screen):
    assert screen.texts("article h2") == list(RuleSet.from_toml(screen.file).sentences())
    assert screen.selected == "r001"
    screen.press("n")
    screen.press("five typing errors")
    screen.press(Keys.ESCAPE)
    screen.press("a")
    screen.progress("1 of 3 reviewed")
    rule = screen.rule("r001")
    assert (rule.status.value, rule.by, rule.note) == ("approved", "Ann", "five typing errors")
    # The next one is selected, and has the focus.
    assert screen.selected == "r002"
    screen.press("r")
    screen.progress("2 of 3 reviewed")
    assert screen.rule("r002").status.value == "rejected"
    screen.press("u")
    screen.progress("1 of 3 reviewed")
    assert screen.rule("r002").status.value == "proposed"
    screen.press("k")
    screen.wait(lambda: screen.selected != "r003")
    screen.press("/")
    screen.press("retired")
    screen.wait(lambda: screen.texts("article .id") == ["r003"])
    assert "1 of 3 reviewed" in screen.one("#live").get_attribute("textContent")


def test_a_review_by_clicks(screen, session):
    screen.one("[data-filter=attention]").click()
    screen.wait(lambda: screen.texts("article .id") == ["r001", "r002"])
    screen.one("[data-filter=all]").click()
    screen.one('[data-node="AGE"]').click()
    screen.wait(lambda: screen.texts("article .id") == ["r003"])
    counts = screen.texts(".counts td")
    rule = next(rule for rule in session.summary()["rules"] if rule["id"] == "r003")
    assert counts[1:] == [str(count) for count in rule["counts"].values()]
    screen.one(".actions .reject").click()
    screen.progress("1 of 3 reviewed")
    assert screen.rule("r003").status.value == "rejected"
    # A rejected rule leads nobody past anything: it is no longer drawn.
    screen.wait(lambda: not screen.browser.find_elements(By.CSS_SELECTOR, '[data-node="AGE"]'))
    screen.one("#gate-filter").click()
    screen.wait(lambda: len(screen.texts("article")) == 3)


def test_an_edit_is_checked_before_it_is_saved(screen):
    screen.one('[data-rule="r003"]').click()
    screen.wait(lambda: screen.selected == "r003" and screen.texts(".patterns"))
    screen.press("e")
    screen.wait(lambda: "at most 60" in screen.one(".outcome").text)
    bound = screen.browser.find_elements(By.CSS_SELECTOR, ".bounds input")[1]
    bound.send_keys(Keys.BACKSPACE * 2)
    screen.wait(lambda: "nothing asked of 'AGE'" in screen.one(".outcome.wrong").text)
    assert not screen.one("#editor .approve").is_enabled()
    bound.send_keys("50")
    screen.wait(lambda: "RETIRED is skipped when AGE is at most 50" in screen.one(".outcome").text)
    screen.one("#edit-why").send_keys("codebook, page 3")
    screen.one("#editor .approve").click()
    screen.wait(lambda: screen.rule("r003").any_of[0][0].up_to == 50)
    assert screen.rule("r003").history[-1].why == "codebook, page 3"
    screen.wait(lambda: "at most 50" in screen.one('[data-rule="r003"] h2').text)
    # Keys go to the rule again.
    screen.press("a")
    screen.progress("1 of 3 reviewed")


def test_a_new_rule_is_written_on_the_page(screen):
    screen.press("w")
    screen.wait(lambda: "Choose the question" in screen.one(".outcome").text)
    screen.one("#editor .target input").send_keys("PACKS")
    screen.wait(lambda: "when is PACKS skipped" in screen.one("#editor-title").text)
    # RETIRED comes later in the file: offered, with a warning.
    screen.one("#editor .paths > span input").send_keys("RETIRED")
    screen.wait(lambda: "comes after PACKS in the file" in screen.one("#editor .later").text)
    screen.browser.find_elements(By.CSS_SELECTOR, "#editor .levels input")[0].click()
    screen.wait(lambda: "PACKS is skipped when RETIRED is 1" in screen.one(".outcome").text)
    screen.one("#edit-why").send_keys("interviewer manual")
    screen.one("#editor .approve").click()
    screen.wait(lambda: screen.selected == "r004")
    rule = screen.rule("r004")
    assert (rule.target, rule.gates, rule.note) == ("PACKS", ("RETIRED",), "interviewer manual")
    assert "later gate" in screen.texts('[data-rule="r004"] .flag')
    screen.press("u")
    screen.wait(lambda: len(screen.texts("article")) == 3)


def test_cards_show_the_text_of_the_gate(screen):
    texts = screen.texts('[data-rule="r003"] .texts dd')
    assert texts == ["Retired?", "Age in years"]


def test_rules_of_a_gate_are_approved_together(browser, serve, smoking, rules_file):
    rules = RuleSet.from_toml(rules_file)
    never = replace(rules["r001"], identifier="r004", target="PACKS")
    rival = Rival(((Condition("AGE", up_to=30.0),),), fired_blank=10)
    first = replace(rules["r001"], rivals=(rival,))
    both = (first, rules["r002"], rules["r003"], never)
    RuleSet(both, smoking.table.columns).to_toml(rules_file)
    browser.get(serve(ReviewSession(rules_file, smoking, "Ann")).address)
    screen = Screen(browser, rules_file)
    screen.wait(lambda: screen.texts(".patterns"))
    screen.one("[data-filter=rivals]").click()
    screen.wait(lambda: screen.texts("article .id") == ["r001"])
    assert "Skipped when AGE is at most 30" in screen.one(".rivals li").text
    screen.one("[data-filter=all]").click()
    button = next(b for b in browser.find_elements(By.CSS_SELECTOR, ".together button"))
    assert button.text == "Approve all 2 rules of EVER"
    button.click()
    question = browser.switch_to.alert
    assert "r001" in question.text
    question.accept()
    screen.progress("2 of 4 reviewed")
    after = RuleSet.from_toml(rules_file)
    assert [after[name].status.value for name in ("r001", "r004")] == ["approved", "approved"]
    assert all(after[name].history[-1].by == "Ann" for name in ("r001", "r004"))
    screen.one('[data-rule="r001"]').click()
    screen.wait(lambda: screen.texts(".rivals button"))
    screen.one(".rivals button").click()
    screen.wait(lambda: screen.rule("r001").gates == ("AGE",))
    assert screen.rule("r001").status.value == "proposed"
    browser.get("about:blank")


def test_reasons_are_added_to_a_condition_and_taken_away(screen):
    screen.press("e")
    screen.wait(lambda: "NOW is skipped when EVER is 2" in screen.one(".outcome").text)

    def choose(text):
        labels = screen.browser.find_elements(By.CSS_SELECTOR, "#editor label.check")
        next(label for label in labels if label.text == text).click()

    choose("or was answered with “don't know”")
    choose("or was refused")
    screen.wait(lambda: ", refused or 'don't know'" in screen.one(".outcome").text)
    screen.one("#editor .approve").click()
    both = (Reason.REFUSED, Reason.DONT_KNOW)
    screen.wait(lambda: screen.rule("r001").any_of[0][0].reasons == both)
    screen.wait(lambda: "refused or" in screen.one('[data-rule="r001"] h2').text)
    screen.press("e")
    screen.wait(lambda: ", refused or 'don't know'" in screen.one(".outcome").text)
    choose("or was refused")
    screen.wait(lambda: ", refused" not in screen.one(".outcome").text)
    screen.one("#editor .approve").click()
    screen.wait(lambda: screen.rule("r001").any_of[0][0].reasons == both[1:])


def test_somebody_else_was_faster(screen, smoking):
    other = ReviewSession(screen.file, smoking, "Ben")
    other.decide(other.summary()["version"], ["r002"], "reject", "not in this wave")
    screen.press("n")
    screen.press("mine")
    screen.press(Keys.ESCAPE)
    screen.press("a")
    screen.wait(lambda: "by Ben" in screen.one("#banner").text)
    assert screen.rule("r001").status.value == "proposed"
    # The newer decision is shown, and what was typed is still there.
    assert "not in this wave" in screen.one('[data-rule="r002"] .signed').text
    assert screen.one("#note").get_attribute("value") == "mine"
    screen.one("#again").click()
    screen.progress("2 of 3 reviewed")
    assert (screen.rule("r001").note, screen.rule("r002").by) == ("mine", "Ben")


def test_a_file_without_rules_says_so(browser, serve, smoking, tmp_path):
    path = tmp_path / "none.toml"
    RuleSet((), smoking.table.columns).to_toml(path)
    browser.get(serve(ReviewSession(path, smoking, "Ann")).address)
    screen = Screen(browser, path)
    screen.wait(lambda: "There are no rules. Press w" in screen.one("#nothing").text)
    screen.press("w")
    screen.wait(lambda: screen.one("dialog[open]").is_displayed())
    browser.get("about:blank")


def test_labels_are_text_and_nothing_comes_from_elsewhere(screen, browser):
    assert "<script>" in screen.one("article h2").text
    assert "Smoke <b>now</b>?" in screen.texts("article .texts dd")
    assert browser.find_elements(By.CSS_SELECTOR, "article img, article script, article b") == []
    assert "pwned" not in browser.title
    asked = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    urls = [
        m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"
    ]
    page = browser.current_url
    assert page in urls
    assert all(url.startswith(page) for url in urls)
