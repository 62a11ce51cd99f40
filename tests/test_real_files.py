"""The scores of real files separate right guesses, codes, gates and skip cells from wrong ones."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tabsoda import read_survey
from tabsoda.schema import Column, ColumnKind, ColumnRole, Reason, Schema
from tabsoda.skips.rules import Condition, SkipRule

FOLDER = Path(__file__).parents[1] / "benchmarks" / "real_files"
MODULES = ("raw", "judgement", "scoring", "draw", "summary", "workflow", "run")

DATA = """id,smokes,per_day,health
1,1,10,1
2,2,,2
3,2,,3
4,9,,1
5,1,20,9
"""

JUDGED = """
name = "tiny"
set = "dev"
file = "tiny.csv"
[[judged]]
columns = ["smokes"]
kind = ["nominal"]
codes = { "9" = ["refused"] }
[[judged]]
columns = ["health"]
kind = ["ordinal"]
codes = { "9" = ["dont_know"], "8" = ["refused"] }
[[judged]]
columns = ["per_day"]
kind = ["continuous"]
[design]
id = ["id"]
[skips]
codes = ["blank"]
nonresponse = ["9"]
columns = ["per_day"]
[[gate]]
targets = ["per_day"]
gate = ["smokes"]
"""


@pytest.fixture(scope="module")
def benchmark():
    """Load the benchmark's modules, which import one another by name."""
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    sys.path.insert(0, str(FOLDER))
    yield {name: importlib.import_module(name) for name in MODULES}
    sys.path.remove(str(FOLDER))
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.fixture
def judged(benchmark, tmp_path):
    (tmp_path / "tiny.csv").write_text(DATA, encoding="utf-8")
    (tmp_path / "tiny.toml").write_text(JUDGED, encoding="utf-8")
    return benchmark["judgement"].load_judgement(tmp_path / "tiny.toml"), tmp_path / "tiny.csv"


def described(path, health):
    """Read the file as if tabsoda had proposed this description."""
    columns = (
        Column("id", ColumnKind.NOMINAL, (1, 2, 3, 4, 5), role=ColumnRole.ID),
        Column("smokes", ColumnKind.NOMINAL, (1, 2), special_codes={9: Reason.REFUSED}),
        Column("per_day", ColumnKind.CONTINUOUS),
        health,
    )
    return read_survey(path, Schema(columns))


def health(kind=ColumnKind.ORDINAL, levels=(1, 2, 3), codes=None):
    codes = {9: Reason.DONT_KNOW} if codes is None else codes
    return Column("health", kind, levels, special_codes=codes)


def scores(benchmark, judged, column):
    judgement, path = judged
    raw = benchmark["raw"]
    occurring = raw.codes_by_column(path, [c.name for c in judgement.columns])
    survey = described(path, column)
    names = raw.column_names(path)
    return benchmark["scoring"].score_description(survey, judgement, names, occurring)


def test_a_right_description_scores_full(benchmark, judged):
    found = scores(benchmark, judged, health())
    for key in ("kinds", "roles", "design", "codes"):
        assert found[key]["right"] == found[key]["of"], key
    assert found["orders"] == {"wrong": 0, "of": 1, "columns": {}}
    # Code 8 does not occur in the file and is not scored.
    assert found["codes"]["of"] == 2


def test_a_wrong_kind_is_counted_once(benchmark, judged):
    found = scores(benchmark, judged, health(ColumnKind.NOMINAL))
    assert found["kinds"]["wrong"] == {"health": "nominal instead of ordinal"}
    assert found["orders"]["of"] == 0


def test_a_wrong_order_and_a_level_that_is_not_an_answer_are_counted(benchmark, judged):
    mixed = scores(benchmark, judged, health(levels=(1, 3, 2)))
    assert mixed["orders"]["wrong"] == 1
    kept = scores(benchmark, judged, health(levels=(1, 2, 3, 9), codes={}))
    assert kept["orders"]["wrong"] == 1
    assert kept["codes"]["wrong"] == {"health: 9": "answer instead of dont_know"}
    assert kept["missing"] == {"right": 1, "of": 2}
    unclear = scores(benchmark, judged, health(codes={9: Reason.OTHER}))
    assert unclear["codes"]["right"] == 1  # The wrong reason, but missing all the same.
    assert unclear["missing"] == {"right": 2, "of": 2}


def test_a_reversed_scale_is_in_order(benchmark, judged):
    assert scores(benchmark, judged, health(levels=(3, 2, 1)))["orders"]["wrong"] == 0


def test_a_judged_order_of_words_beats_the_alphabet(benchmark):
    order = ("Never", "Sometimes", "Always")
    column = benchmark["judgement"].JudgedColumn("often", ("ordinal",), order=order)
    assert benchmark["scoring"].in_order(["Always", "Sometimes", "Never"], column)
    assert not benchmark["scoring"].in_order(["Always", "Never", "Sometimes"], column)


def test_a_rule_with_another_gate_is_false(benchmark, judged):
    judgement, _ = judged
    rules = [
        SkipRule("r1", "per_day", ((Condition("smokes", (2,)),),)),
        SkipRule("r2", "per_day", ((Condition("smokes", (2,)), Condition("health", (1,))),)),
        SkipRule("r3", "health", ((Condition("smokes", (2,)),),)),
    ]
    found = benchmark["scoring"].score_gates(rules, judgement.gates)
    assert (found["rules"], found["judged_rules"], found["true_gates"]) == (3, 2, 1)
    assert found["targets_right"] == 0


def test_skip_cells_are_those_of_the_codes(benchmark, judged):
    judgement, path = judged
    survey = described(path, health())
    states, truth, scored = benchmark["scoring"].masked_states(survey, judgement.skips)
    names = survey.table.names
    assert [names[position] for position in scored] == ["per_day"]
    assert truth[:, names.index("per_day")].tolist() == [False, True, True, True, False]
    # The refusal of row 4 is a plain blank for the miner.
    assert states.answered[:, names.index("smokes")].tolist() == [True, True, True, False, True]
    assert not states.skipped.any()


def test_letters_are_found_in_stata_files(benchmark, tmp_path):
    import pandas as pd
    import pyreadstat

    frame = pd.DataFrame({"q": [1, 2, "a"]}, dtype=object)
    pyreadstat.write_dta(frame, tmp_path / "x.dta", missing_user_values={"q": ["a"]})
    assert benchmark["raw"].codes_by_column(tmp_path / "x.dta", ["q"]) == {"q": {"1", "2", ".a"}}


def test_the_draw_is_fixed(benchmark):
    names = [f"q{number}" for number in range(100)]
    drawn = benchmark["draw"].draw(names)
    assert len(drawn) == 40
    assert drawn == benchmark["draw"].draw(names)
    assert drawn == sorted(drawn, key=names.index)


def test_every_judgement_is_whole(benchmark):
    kinds = {kind.value for kind in ColumnKind} | {"any"}
    found = benchmark["judgement"].load_all()
    assert sum(j.facts["set"] == "heldout" for j in found) >= 6
    for judgement in found:
        names = [column.name for column in judgement.columns]
        assert len(names) == len(set(names)) == min(40, judgement.facts["columns"]), judgement.name
        assert all(set(column.kinds) <= kinds for column in judgement.columns), judgement.name


def test_the_readme_is_current(benchmark, tmp_path):
    for file in FOLDER.glob("results*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    benchmark["summary"].write_readme(tmp_path)
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


def test_errors_on_held_out_files_are_counted_and_not_named(benchmark):
    result = {"kinds": {"right": 1, "of": 2, "wrong": {"q": "nominal"}}, "columns": 5}
    kept = benchmark["run"].without_details(result)
    assert kept == {"kinds": {"right": 1, "of": 2}, "columns": 5}
    for file in ("results.json", "results_before.json"):
        entries = json.loads((FOLDER / file).read_text(encoding="utf-8"))
        for judgement in benchmark["judgement"].load_all():
            kinds = entries.get(judgement.name, {}).get("kinds", {})
            assert ("wrong" in kinds) <= (judgement.facts["set"] == "dev")


def test_without_files_it_says_what_to_do(benchmark, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        benchmark["run"].files_in([tmp_path])
    assert ended.value.code == 2
    assert "TABSODA_REAL_FILES" in capsys.readouterr().err


def test_cells_of_an_empty_file_have_no_precision(benchmark):
    nothing = np.zeros(3, dtype=bool)
    assert benchmark["scoring"].score_cells(nothing, nothing)["precision"] is None
