"""What the documents name exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _find(pattern: str) -> list[tuple[str, str]]:
    """Return (document, match) for each match of a pattern in any document, each once."""
    found = {
        (str(path.relative_to(ROOT)), match)
        for path in DOCUMENTS
        for match in re.findall(pattern, path.read_text(encoding="utf-8"))
    }
    return sorted(found)


def _resolve(name: str) -> object:
    """Import the longest module in a dotted name, then follow the attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            thing = getattr(thing, attribute)
        return thing
    raise AssertionError(f"{name} cannot be imported")


@pytest.mark.parametrize(("document", "name"), _find(r"`(tabsoda(?:\.\w+)+)`"))
def test_named_functions_exist(document: str, name: str) -> None:
    assert _resolve(name) is not None


@pytest.mark.parametrize(("document", "path"), _find(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`"))
def test_named_files_exist(document: str, path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("document", "target"), _find(r"\]\((?!https?:)([^)#]+)"))
def test_links_lead_somewhere(document: str, target: str) -> None:
    assert ((ROOT / document).parent / target).exists()


def test_every_row_of_the_paper_table_has_code_and_test() -> None:
    text = (ROOT / "docs" / "paper_to_code.md").read_text(encoding="utf-8")
    rows = [line for line in text.split("## Symbols")[0].splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith(("| paper", "| ---"))]

    assert len(rows) > 30
    for row in rows:
        assert re.search(r"`tabsoda\.[\w.]+` \| `tests/[\w/]+\.py` \|$", row), row
