"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import tabsoda

MODULES = sorted(m.name for m in pkgutil.walk_packages(tabsoda.__path__, "tabsoda."))


def test_every_module_is_found():
    assert "tabsoda.engine.engine" in MODULES
    assert len(MODULES) > 90


@pytest.mark.parametrize("name", ["tabsoda", *MODULES])
def test_examples(name):
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags)
    for test in doctest.DocTestFinder().find(module):
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
