"""The server answers the page and nobody else."""

import time

import httpx
import pytest
from smoking_review import Page

from tabsoda.review.app import PAGE
from tabsoda.skips.rule_set import RuleSet


def decision(page, **changed):
    body = {"version": page.version(), "ids": ["r001"], "action": "approve", "note": "fine"}
    return body | changed


def test_the_page_decides(page, rules_file):
    answer = page.post("api/decide", decision(page))
    assert answer.status_code == 200
    assert RuleSet.from_toml(rules_file)["r001"].status.value == "approved"
    assert answer.json()["version"] == page.version()
    assert answer.json()["can_undo"]


def test_the_address_has_to_be_known(page):
    for address in (
        page.origin,
        f"{page.origin}/api/rules",
        page.address.rstrip("/")[:-1] + "/api/rules",
        f"{page.origin}/%C3%A4/api/rules",
        f"{page.origin}/page/review.js",
    ):
        answer = page.client.get(address)
        assert answer.status_code == 403, address
        assert "r001" not in answer.text
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
def test_another_name_for_this_machine_is_turned_away(page, host):
    assert page.get("api/rules", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": None},
        {"x-tabsoda-review": None},
    ],
    ids=["another site", "opaque", "no origin", "no header"],
)
@pytest.mark.parametrize("path", ["decide", "edit", "undo", "preview", "finish"])
def test_a_forged_request_changes_nothing(page, rules_file, path, headers):
    before = rules_file.read_text()
    body = decision(page, id="r001", when=[[]])
    assert page.post(f"api/{path}", body, **headers).status_code == 403
    assert rules_file.read_text() == before
    assert page.get("api/rules").status_code == 200


def test_reading_by_post_and_writing_by_get_are_no_ways_in(page, rules_file):
    before = rules_file.read_text()
    assert page.get("api/decide?action=approve&ids=r001").status_code == 405
    assert page.get("api/finish").status_code == 405
    assert rules_file.read_text() == before


def test_an_old_page_is_told_about_the_conflict(page, rules_file):
    old = page.version()
    assert page.post("api/decide", decision(page)).status_code == 200
    newer = rules_file.read_text()
    answer = page.post("api/decide", decision(page, version=old, action="reject"))
    assert answer.status_code == 409
    assert "r001, by Ann" in answer.json()["error"]
    assert rules_file.read_text() == newer


def test_bad_requests_are_told(page, rules_file):
    before = rules_file.read_text()
    bad = {
        "api/edit": [({"id": "r001", "when": [[]]}, 422), ({"when": 1}, 422)],
        "api/decide": [
            ({}, 422),
            ({"ids": "r001", "action": "approve"}, 422),
            ({"ids": [["r001"]], "action": "approve"}, 422),
            ({"ids": ["r001"], "action": ["approve"]}, 422),
        ],
    }
    for path, bodies in bad.items():
        for body, status in bodies:
            answer = page.post(path, {"version": page.version()} | body)
            assert answer.status_code == status, body
            assert answer.json()["error"]
    for content in (b"{", b"[]", b"[" * 100_000, b'"' + b"x" * 300_000 + b'"'):
        answer = page.client.post("api/decide", content=content, headers=page.headers)
        assert answer.status_code == 400
    assert page.get("api/patterns?id=r009").status_code == 422
    assert rules_file.read_text() == before


def test_nothing_is_loaded_from_elsewhere_and_nothing_kept(page):
    for path in ("", "page/review.js", "page/review.css", "api/rules", "api/patterns?id=r001"):
        answer = page.get(path)
        assert answer.status_code == 200, path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
    for file in PAGE.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text, file.name
        assert "innerHTML" not in text, file.name
        assert len(text.splitlines()) <= 300, file.name
    for outside in ("page/../app.py", "page/%2e%2e/app.py", "page/..%2fapp.py"):
        assert page.get(outside).status_code in (403, 404)


def test_it_listens_on_this_machine_only(page):
    assert httpx.URL(page.address).host == "127.0.0.1"
    assert len(page.address.split("/")[3]) >= 32


def test_finish_ends_the_server(serve, session):
    page = Page(serve(session).address)
    assert page.post("api/finish", {}).json() == {"finished": True}
    page.client.close()
    with pytest.raises(httpx.ConnectError):
        _knock_for_ten_seconds(page.address)


def _knock_for_ten_seconds(address):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        httpx.get(address, trust_env=False)
        time.sleep(0.05)


def test_patterns_hold_no_row(page, smoking):
    answer = page.get("api/patterns?id=r003").json()
    assert answer["gates"] == ["AGE"]
    assert {"kind", "gates", "target", "count"} == set(answer["patterns"][0])
    # Ages are cut at the rule's own bound: nobody's own age is told.
    said = {text for pattern in answer["patterns"] for text in pattern["gates"]}
    assert said == {"up to 60", "above 60"}
