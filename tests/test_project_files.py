"""Files beside the code: types are announced, the citation names this version."""

from importlib.resources import files
from pathlib import Path

import tabsoda

ROOT = Path(__file__).resolve().parents[1]


def test_the_package_says_that_it_has_types():
    assert (files("tabsoda") / "py.typed").is_file()


def test_the_citation_names_this_version():
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {tabsoda.__version__}" in lines
