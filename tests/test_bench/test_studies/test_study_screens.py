"""Each method of a study is shown the skips of the screen and the miner that it asks for."""

import numpy as np
import pytest

import tabsoda.bench.methods.tabsoda as methods
from tabsoda.bench.cases import Mining, SurveyCase, load_case, save_case
from tabsoda.bench.methods.contract import without_skips
from tabsoda.bench.studies.cells import mining_of, run_cell
from tabsoda.bench.studies.study import cases_of, make_study
from tabsoda.datasets import make_survey
from tabsoda.errors import InputError
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.settings import MinerSettings

FEW_STEPS = {"training": {"max_steps": 2, "calibration_steps": 1}, "sampler": {"steps": 2}}
OPTIONS = {"preset": "small", "settings": FEW_STEPS, "device": "cpu"}
ASKED = {
    "paper": ("tabsoda-skip", {}),
    "paper, wide caps": ("tabsoda-skip", {"miner": "small-survey"}),
    "purity": ("tabsoda-skip", {"screen": "purity"}),
}
MINED_AS = {
    "paper": ("paper", "default"),
    "paper, wide caps": ("paper", "small-survey"),
    "purity": ("purity", "default"),
}


@pytest.fixture(scope="module")
def table():
    return make_survey(2500, n_columns=20, seed=4).true_table


@pytest.fixture(scope="module")
def study():
    entries = [
        {"name": name, "label": label, "options": OPTIONS | more}
        for label, (name, more) in ASKED.items()
    ]
    return make_study(
        {"surveys": ["s"], "methods": entries, "mechanisms": ["mcar"], "replications": 1}
    )


def found_by(table, screen, miner):
    """Mine a table directly; the skips as a mask."""
    return SkipMiner(MinerSettings.preset(miner), screen=screen).mine(without_skips(table))


def test_the_method_is_shown_exactly_what_its_screen_finds(table, study, monkeypatch, tmp_path):
    shown = []
    fit = methods.fit_engine

    def watched(table, *args, **options):
        shown.append(table.states.skipped)
        return fit(table, *args, **options)

    monkeypatch.setattr(methods, "fit_engine", watched)
    cases = cases_of(study, iter([("s", table)]))
    save_case(cases["s"], tmp_path / "s.npz")
    expected = {label: found_by(table, *how).states.skipped for label, how in MINED_AS.items()}
    for cell in study.cells(cases):
        for case in (cases["s"], load_case(tmp_path / "s.npz")):
            run_cell(case, cell)
            np.testing.assert_array_equal(shown.pop(), expected[cell.label])
    counts = [int(mask.sum()) for mask in expected.values()]
    # The three differ, so that one cannot stand for another.
    assert len(set(counts)) == 3, counts


def test_a_method_without_options_has_the_screen_of_its_name(table):
    assert mining_of("tabsoda-skip", {}) == Mining("paper", "default")
    assert mining_of("default-engine-skip", {}) == Mining("purity", "default")
    assert mining_of("default-engine-skip", {"screen": "paper"}) == Mining("paper", "default")
    assert mining_of("tabsoda", {}) is None
    assert mining_of("boosting", {}) is None


def test_a_mask_of_another_screen_is_not_used(table, study):
    case = SurveyCase.of("s", table, mine=[Mining("purity")])
    cells = {cell.label: cell for cell in study.cells({"s": case})}
    with pytest.raises(InputError, match=r"purity / default.*screen 'paper' with miner 'default'"):
        run_cell(case, cells["paper"])
