"""The page of settings says what the settings say."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("settings_page", DOCS / "settings_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    written = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert written == script.page(), "run: python docs/settings_page.py"
