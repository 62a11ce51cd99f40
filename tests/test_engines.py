"""The engine that a quality or a preset runs, and its settings: sized to the table."""

import json

import pytest
import torch

from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.presets import QUALITIES
from tabsoda.engine.settings import EngineSettings
from tabsoda.engines import fit_engine, load_engine, plan_work, settings_for
from tabsoda.errors import InputError
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.presets import PRESETS
from tabsoda.paper.settings import PaperSettings

# How many times its usual steps a quality takes at most; from the cheapest to the dearest.
MOST = {"fast": 4, "balanced": 4, "best": 2}
BY_QUALITY = pytest.mark.parametrize("name", MOST)


def unsized(name):
    return EngineSettings().replace(**QUALITIES[name])


@BY_QUALITY
def test_more_rows_never_mean_fewer_steps(name):
    steps = [settings_for(name, n, 40).training.max_steps for n in range(2, 200_000, 997)]
    assert steps == sorted(steps)
    usual = unsized(name).training.max_steps
    assert settings_for(name, 4000, 40).training.max_steps == usual
    assert (steps[0], steps[-1]) == (usual / 2, usual * MOST[name])
    assert all(count % 50 == 0 for count in steps)


@pytest.mark.parametrize(
    ("n_rows", "growth"), [(2, 0.5), (1000, 0.5), (4000, 1), (16_000, 2), (64_000, 4), (10**7, 4)]
)
@BY_QUALITY
def test_steps_grow_with_the_root_of_the_rows(name, n_rows, growth):
    usual = unsized(name).training.max_steps
    assert settings_for(name, n_rows, 40).training.max_steps == min(growth, MOST[name]) * usual


def test_qualities_cost_more_in_their_order():
    steps = [settings_for(name, 4000, 40).training.max_steps for name in MOST]
    assert steps == sorted(steps)
    assert len(set(steps)) == 3
    trees = [settings_for(name, 4000, 40).trees.effort for name in MOST]
    assert trees == ["quick", "full", "full"]
    networks = [unsized(name).network.name for name in MOST]
    assert networks == ["embedding", "embedding", "tokens"]


@pytest.mark.parametrize("name", ["fast", "balanced"])
def test_few_rows_get_a_small_network_that_drops_out_more(name):
    few, usual = settings_for(name, 1999, 40), settings_for(name, 2000, 40)
    assert few.network.width <= usual.network.width
    assert few.network.depth <= usual.network.depth
    assert few.network.dropout > usual.network.dropout
    assert few.training.batch_size <= 256
    assert few.training.held_out_share > usual.training.held_out_share


@pytest.mark.parametrize("name", ["fast", "balanced"])
def test_wide_tables_get_a_wider_network(name):
    narrow, wide = (settings_for(name, 4000, n).network.width for n in (100, 101))
    assert wide == 2 * narrow


def test_the_best_quality_averages_three_networks_where_rows_are_few():
    members = [settings_for("best", n, 40).network.members for n in (100, 10_000, 10_001)]
    assert members == [3, 3, 1]
    assert {settings_for(n, 100, 40).network.members for n in ("fast", "balanced")} == {1}


@BY_QUALITY
def test_many_rows_get_quick_trees(name):
    assert settings_for(name, 20_000, 40).trees == unsized(name).trees
    assert settings_for(name, 20_001, 40).trees.effort == "quick"


@BY_QUALITY
def test_large_tables_get_fewer_regressions_of_fewer_rows(name):
    usual = unsized(name).regressions
    assert settings_for(name, 10_000, 100).regressions == usual
    for shape in ((10_001, 40), (4000, 101)):
        large = settings_for(name, *shape).regressions
        assert 1 <= large.sets <= usual.sets
        assert 1 <= large.point_sets <= usual.point_sets
        assert large.max_rows < usual.max_rows
        assert (large.sets, large.max_rows) != (usual.sets, usual.max_rows)


@BY_QUALITY
def test_qualities_draw_from_regressions(name):
    settings = unsized(name)
    assert settings.draws.method == "refitted"
    assert min(settings.regressions.sets, settings.regressions.point_sets) > 0


@BY_QUALITY
def test_changes_hold_whatever_the_size(name):
    changes = {
        "regressions": {"sets": 17, "max_rows": 15_000},
        "training": {"max_steps": 7, "batch_size": 33, "held_out_share": 0.3},
        "network": {"width": 64, "dropout": 0.0},
        "trees": {"effort": "none"},
    }
    for shape in ((500, 20), (4000, 300), (100_000, 40)):
        settings = settings_for(name, *shape, changes)
        for group, values in changes.items():
            for field, value in values.items():
                assert getattr(getattr(settings, group), field) == value


@pytest.mark.parametrize("name", PRESETS)
def test_presets_of_the_paper_do_not_depend_on_the_table(name):
    for shape in ((10, 2), (4000, 40), (10**6, 500)):
        assert settings_for(name, *shape) == PaperSettings.preset(name)


def test_the_tiny_quality_is_small_and_the_same_for_every_table():
    tiny, fast = settings_for("tiny", 10, 2), settings_for("fast", 10, 2)
    for shape in ((4000, 40), (10**6, 500)):
        assert settings_for("tiny", *shape) == tiny
    assert tiny.training.max_steps < fast.training.max_steps / 4
    assert tiny.network.width < fast.network.width
    few = tiny.regressions
    assert (few.sets, few.rounds, few.point_sets, tiny.trees.effort) == (2, 1, 1, "quick")
    # Every part of the engine still runs.
    assert tiny.draws.method == "refitted"


def test_unknown_names_are_named_with_the_known_ones():
    with pytest.raises(InputError, match=r"'huge'.*'fast', 'balanced', 'best'.*'path', 'nsduh'"):
        settings_for("huge", 10, 2)
    with pytest.raises(InputError, match=r"'path'.*groups of settings") as caught:
        settings_for("fast", 10, 2, "path")
    assert "the parameter of that name" in caught.value.next_step


@pytest.mark.parametrize(
    ("name", "kind", "saved"),
    [("tiny", DefaultEngine, "default"), ("small", PaperEngine, "paper")],
)
def test_settings_decide_which_engine_is_fitted_and_its_file_which_is_loaded(
    name, kind, saved, mixed_table, tiny_settings, tmp_path
):
    table = mixed_table(60)
    settings = tiny_settings(name) if kind is PaperEngine else settings_for(name, *table.shape)
    engine = fit_engine(table, settings, seed=4, device="cpu")
    assert type(engine) is kind
    engine.save(tmp_path)
    assert json.loads((tmp_path / "model.json").read_text())["engine"] == saved
    loaded = load_engine(tmp_path, "cpu")
    assert type(loaded) is kind
    assert (loaded.settings, loaded.seed) == (engine.settings, 4)
    assert loaded.fingerprint() == engine.fingerprint()


def test_work_is_counted_for_the_engine_of_the_settings(mixed_table):
    table, cpu = mixed_table(60), torch.device("cpu")
    default, _ = plan_work(table, settings_for("balanced", *table.shape), 5, cpu)
    paper, _ = plan_work(table, settings_for("path", *table.shape), 5, cpu)
    assert set(default.stages) - set(paper.stages) == {"trees", "redrawing", "regressing"}
    # The paper draws by hundreds of passes through the network.
    assert paper.stages["drawing"][0] > 10 * default.stages["drawing"][0]
    fitted, _ = plan_work(table, settings_for("path", *table.shape), 5, cpu, fits=False)
    assert set(paper.stages) - set(fitted.stages) == {"training", "completing"}
