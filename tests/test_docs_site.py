"""The site is built without a warning, holds every public name, and asks nothing of the network."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tabsoda
from document_blocks import ROOT

pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r"<(?:link|script|img|iframe|source)[^>]+(?:href|src)=\"?(?:https?:)?//")
    styled = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        assert not fetched.search(page.read_text(encoding="utf-8")), page.name
    for sheet in site.rglob("*.css"):
        assert not styled.search(sheet.read_text(encoding="utf-8")), sheet.name


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    shown = "".join(
        page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")
    )
    anchors = {name.rpartition(".")[2] for name in re.findall(r'id="(tabsoda[\w.]+)"', shown)}
    assert set(tabsoda.__all__) - {"__version__"} <= anchors


def test_the_reference_gives_no_wrong_default(site: Path) -> None:
    for page in (site / "reference").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        # The parser would say that the quality is fast by default; the signature says balanced.
        assert "default:\n" not in text, page.name
        assert not re.search(r":(class|func|meth|mod|attr):", text), page.name


def test_every_command_is_in_the_reference(site: Path) -> None:
    from tabsoda.cli.main import app

    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for verb in (name for name in app if not name.startswith("-")):
        assert f'<h2 id="{verb}">' in text
    assert "--gate-policy" in text
    assert "False]" not in text


def test_links_to_code_are_text_on_the_site(site: Path) -> None:
    text = (site / "how_it_works.html").read_text(encoding="utf-8")
    assert "src/tabsoda/reading" in text
    assert 'href="../src' not in text


def test_a_page_opened_in_a_browser_stays_at_home(site: Path, browser) -> None:
    browser.get((site / "guides" / "report.html").as_uri())
    assert browser.find_element("tag name", "h1").text.startswith("Reading the report")
    picture = browser.find_element("css selector", "article img")
    assert picture.get_property("naturalWidth") > 500
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    addresses = [
        message["params"]["request"]["url"]
        for message in sent
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert addresses
    outside = [a for a in addresses if not a.startswith(("file:", "data:", "blob:", "chrome"))]
    assert outside == []
