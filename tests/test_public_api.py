"""The public names, what importing them loads, and what the engines need."""

import subprocess
import sys

import pytest

import tabsoda

HEAVY = {"torch", "polars", "sklearn", "pandas", "scipy", "pyreadstat"}


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
        "Derivation",
        "Edit",
        "EngineSettings",
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
        "read_form",
        "read_survey",
        "read_survey_with_form",
        "sensitivity",
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


def _modules_after(code):
    program = f"{code}\nimport sys\nsys.stderr.write(' '.join(['', *sys.modules]))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return set(result.stderr.split())


def test_importing_the_package_and_asking_for_help_load_nothing_heavy():
    help_text = "from tabsoda.cli.main import main\nmain(['--help'])"
    for code in ("import tabsoda", help_text):
        loaded = _modules_after(code)
        assert "tabsoda" in loaded
        assert loaded & HEAVY == set()


_FIT = """
import numpy as np

from tabsoda.engines import fit_engine, settings_for
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable

generator = np.random.default_rng(0)
levels = generator.integers(0, 3, size=(120, 2)).astype(float)
values = np.column_stack([levels, levels.sum(axis=1) + generator.normal(size=120)])
values[:10, 0] = values[10:20, 2] = np.nan
columns = (
    Column("scale", ColumnKind.ORDINAL, levels=(1, 2, 3)),
    Column("choice", ColumnKind.NOMINAL, levels=(1, 2, 3)),
    Column("amount", ColumnKind.CONTINUOUS),
)
table = CodedTable.from_values(columns, values)
settings = settings_for({name!r}, *table.shape, {changes})
cells = fit_engine(table, settings, device="cpu").impute(table, n_draws=2)
assert cells.draws.shape == (2, 20) and np.isfinite(cells.draws).all()
"""
# Other dependencies of the package, without those that torch or scikit-learn load by themselves.
_OTHERS = {
    "cyclopts",
    "defusedxml",
    "polars",
    "pydantic",
    "pyreadstat",
    "safetensors",
    "tomli_w",
}


@pytest.mark.parametrize(
    ("name", "changes"), [("tiny", {}), ("small", {"training": {"max_steps": 5}})]
)
def test_engines_run_with_torch_numpy_scipy_and_scikit_learn_alone(name, changes):
    loaded = _modules_after(_FIT.format(name=name, changes=changes))
    assert {"torch", "tabsoda.engines"} <= loaded
    assert loaded & _OTHERS == set()
