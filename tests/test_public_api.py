"""The public names, what importing costs, and which way imports may go."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tabsoda

SOURCE = Path(tabsoda.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
HEAVY = ("torch", "polars", "sklearn", "pandas", "scipy", "pyreadstat")


def test_public_names():
    assert tabsoda.__all__ == [
        "CellState",
        "CellStates",
        "CheckResult",
        "CodedTable",
        "Column",
        "ColumnKind",
        "ColumnRole",
        "Condition",
        "Event",
        "EventLog",
        "Imputations",
        "InputError",
        "MinedSkips",
        "MinerSettings",
        "PaperSettings",
        "Reason",
        "RuleSet",
        "Schema",
        "Settings",
        "SkipMiner",
        "SkipRule",
        "Survey",
        "TabSODAError",
        "TabSODAImputer",
        "__version__",
        "check",
        "impute_file",
        "load_result",
        "mine_rules",
        "pool",
        "read_survey",
        "skip_metrics",
    ]
    assert dir(tabsoda) == sorted(tabsoda.__all__)


@pytest.mark.parametrize("name", tabsoda.__all__)
def test_every_public_name_is_there_and_documented(name):
    thing = getattr(tabsoda, name)
    assert thing.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nothing'"):
        tabsoda.nothing  # noqa: B018


def _heavy_modules_after(code):
    program = f"{code}\nimport sys\nsys.stderr.write(' '.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    loaded = result.stderr.split()
    assert "tabsoda" in loaded
    return {name for name in HEAVY if name in loaded}


def test_importing_the_package_and_asking_for_help_load_nothing_heavy():
    assert _heavy_modules_after("import tabsoda") == set()
    help_text = "from tabsoda.cli.main import main\nmain(['--help'])"
    assert _heavy_modules_after(help_text) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_is_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_nothing_but_the_commands_imports_the_commands():
    for path in FILES:
        if path.parent.name != "cli":
            assert not [name for name in _imports(path) if name.startswith("tabsoda.cli")], path


@pytest.mark.parametrize("folder", ["diffusion", "em", "encoding"])
def test_the_engine_needs_no_data_frames(folder):
    for path in (SOURCE / folder).rglob("*.py"):
        roots = {name.split(".")[0] for name in _imports(path)}
        assert not roots & {"polars", "pydantic", "narwhals", "pandas"}, path


def test_the_diffusion_knows_no_survey():
    outside = ("schema", "states", "skips", "reading", "survey", "table", "imputations", "em")
    for path in (SOURCE / "diffusion").rglob("*.py"):
        parts = {name.split(".")[1] for name in _imports(path) if name.startswith("tabsoda.")}
        assert not parts & set(outside), path
