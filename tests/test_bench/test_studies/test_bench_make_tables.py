"""``make tables``: pages and tables are rebuilt from results alone."""

import importlib.util
import json
from pathlib import Path

import pytest

from tabsoda.bench.studies.runner import run_study
from tabsoda.bench.studies.store import Store

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "imputation" / "make_tables.py"


@pytest.fixture
def script(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("make_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    places = {
        "ROOT": tmp_path,
        "RESULTS": tmp_path / "results",
        "MINER": tmp_path / "miner.json",
        "TABLES": tmp_path / "docs" / "tables",
        "PAGES": (tmp_path / "docs" / "results.md", tmp_path / "README.md"),
    }
    for name, place in places.items():
        monkeypatch.setattr(module, name, place)
    return module


def test_pages_show_what_the_results_say(script, case, make_cells, tmp_path):
    store = Store(tmp_path / "out")
    cells = make_cells("mode", 2) + make_cells("tiny_methods:HotDeck", 2)
    run_study({case.name: case}, cells, store, sanity_check=False)
    (tmp_path / "results").mkdir()
    document = store.collect()
    (tmp_path / "results" / "demo.json").write_text(json.dumps(document))
    scores = dict.fromkeys(("precision", "recall", "f1", "fpr", "accuracy"), 0.25)
    run = {"survey": "s", "screen": "purity", "variables": 9, "mined": 3, "rules": 4}
    run |= {"conditions": 2}
    (tmp_path / "miner.json").write_text(json.dumps({"runs": [run | {"all_cells": scores}]}))
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "results.md"
    page.write_text(
        "# Results\n\n<!-- table: demo/mar -->\n<!-- end -->\n\n<!-- table: miner -->\noutdated\n"
        "<!-- end -->\n"
    )
    readme = tmp_path / "README.md"
    readme.write_text("Before\n<!-- results:begin -->\nold\n<!-- results:end -->\nAfter\n")
    script.main()
    shown = readme.read_text()
    assert shown.startswith("Before\n<!-- results:begin -->\n**Skip masks")
    assert shown.endswith("that it skips.\n<!-- results:end -->\nAfter\n")
    assert "| s | 9 | 3 | 4 | 2 | 0.250 |" in shown
    assert "old" not in shown
    text = page.read_text()
    mean = sum(
        cell["metrics"]["all"]["nominal_accuracy"]
        for cell in document["cells"]
        if cell["settings"]["method"] == "mode"
    )
    assert f"{mean / 2:.3f} ±" in text
    assert "| s | purity | 9 | 3 | 4 | 2 | 0.250 |" in text
    assert "outdated" not in text
    tables = tmp_path / "docs" / "tables"
    assert {path.suffix for path in tables.iterdir()} == {".md", ".tex", ".html", ".svg"}
    before = {path: path.read_bytes() for path in [page, readme, *tables.iterdir()]}
    script.main()
    assert before == {path: path.read_bytes() for path in [page, readme, *tables.iterdir()]}


def test_results_need_both_markers(script):
    with pytest.raises(script.InputError, match="does not end them"):
        script.fill_results("<!-- results:begin -->\n", {})
    assert script.fill_results("nothing marked", {}) == "nothing marked"


def test_medians_are_compared_with_methods_that_ran_as_often(script):
    def cell(label, mechanism, mode, median):
        settings = {"survey": "s", "mechanism": mechanism, "track": "resolved", "label": label}
        settings |= {"skip_view": "own", "method": label, "replication": 0}
        return {"settings": settings, "metrics": {"all": {"mace": mode, "mace_median": median}}}

    cells = [cell("Ours", "mar", 0.7, 0.4), cell("Ours", "mnar", 0.9, 0.5)]
    cells += [cell("Peer", "mar", 0.5, 0.45), cell("Peer", "mnar", 0.7, 0.55)]
    cells += [cell("Once", "mar", 0.1, 0.1)]
    [[*line]] = script.median_table(cells, ours="Ours").rows
    # Ours is off by 0.45 on average, the peer by 0.6 and 0.5.
    assert [entry.text for entry in line] == ["Peer", "0.600", "-25.0 %", "0.500", "-10.0 %"]
