"""What the documents name exists."""

import importlib.util
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tabsoda"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
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
    equations = text.split("## States and skips")[1].split("## Symbols")[0]
    rows = [line for line in equations.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith(("| paper", "| ---"))]

    assert len(rows) > 30
    for row in rows:
        assert re.search(r"`tabsoda\.[\w.]+` \| `tests/[\w/]+\.py` \|$", row), row


def test_the_reading_order_of_the_paper_holds_every_file() -> None:
    text = (ROOT / "docs" / "paper_to_code.md").read_text(encoding="utf-8")
    order = text.split("## Reading order")[1].split("## States and skips")[0]
    files = [path.name for path in (SOURCE / "paper").glob("*.py") if path.stem != "__init__"]
    assert sorted(re.findall(r"`(\w+\.py)`", order)) == sorted(files)


def test_contributing_lists_every_package_and_module() -> None:
    first_cells = re.findall(r"^\| (`[^|]+`) \|", CONTRIBUTING, flags=re.MULTILINE)
    listed = {name for cell in first_cells for name in re.findall(r"`([\w/]+)`", cell)}
    nested = {f"engine/{path.parent.name}" for path in SOURCE.glob("engine/*/__init__.py")}
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "_version"}
    assert listed == PACKAGES | nested | modules


@pytest.mark.parametrize("path", re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.(?:py|js))`", CONTRIBUTING))
def test_files_that_contributing_names_exist(path: str) -> None:
    folder = ROOT / "tests" / "test_schema" if path.startswith("test_") else SOURCE
    assert (ROOT / path if path.startswith("tests/") else folder / path).is_file()


def test_the_picture_of_the_packages_is_current() -> None:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = (ROOT / "docs" / "pictures" / "packages.svg").read_text(encoding="utf-8")
    assert written == script.packages_svg(), "run: python docs/pictures.py packages"
    shown = set(re.findall(r"\w+", " ".join(re.findall(r"<text[^>]*>([^<]+)", written))))
    assert PACKAGES - {"_internal"} <= shown
