"""Results in one small file: the same cells come back, and old files are still read."""

import json

import pytest

from tabsoda.bench.studies.runner import run_study
from tabsoda.bench.studies.store import Store
from tabsoda.bench.tables.report import study_tables
from tabsoda.bench.tables.results_file import read_results, write_results
from tabsoda.errors import InputError


@pytest.fixture
def document(case, make_cells, tmp_path):
    store = Store(tmp_path / "out")
    cells = make_cells("mode", 2) + make_cells("tiny_methods:HotDeck", 2)
    run_study({case.name: case}, cells, store, sanity_check=False)
    return store.collect() | {"study": {"surveys": [case.name]}}


def test_what_is_read_gives_the_same_tables(document, tmp_path):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(document))
    write_results(new, document)
    assert new.stat().st_size < old.stat().st_size / 2
    assert read_results(old) == document
    read = read_results(new)
    for cell, given in zip(read["cells"], document["cells"], strict=True):
        for name in ("settings", "cells", "shape", "seconds", "machine"):
            assert cell[name] == given[name]
        for scope, metrics in cell["metrics"].items():
            assert metrics == {name: given["metrics"][scope][name] for name in metrics}
    assert study_tables(read) == study_tables(document)
    write_results(old, read)
    assert old.read_text() == new.read_text()


def test_another_format_is_refused(document, tmp_path):
    path = tmp_path / "new.json"
    write_results(path, document)
    path.write_text(path.read_text().replace('"version": 1', '"version": 9'))
    with pytest.raises(InputError, match="version 9"):
        read_results(path)
