"""Settings by quality: sized to the table, never against what was said."""

import pytest

from tabsoda.paper.presets import PRESETS
from tabsoda.paper.settings import PaperSettings
from tabsoda.quality import QUALITIES, settings_for
from tabsoda.settings import Settings

# How many times its usual steps a quality takes at most.
MOST = {"fast": 4, "balanced": 4, "best": 2}
pytestmark = pytest.mark.usefixtures("all_regressions")
BY_QUALITY = pytest.mark.parametrize("name", QUALITIES)


@BY_QUALITY
def test_more_rows_never_mean_fewer_steps(name):
    steps = [settings_for(name, n, 40).training.max_steps for n in range(2, 200_000, 997)]
    assert steps == sorted(steps)
    usual = Settings.preset(name).training.max_steps
    assert settings_for(name, 4000, 40).training.max_steps == usual
    assert (steps[0], steps[-1]) == (usual / 2, usual * MOST[name])
    assert all(count % 50 == 0 for count in steps)


@pytest.mark.parametrize(
    ("n_rows", "growth"), [(2, 0.5), (1000, 0.5), (4000, 1), (16_000, 2), (64_000, 4), (10**7, 4)]
)
@BY_QUALITY
def test_steps_grow_with_the_root_of_the_rows(name, n_rows, growth):
    usual = Settings.preset(name).training.max_steps
    assert settings_for(name, n_rows, 40).training.max_steps == min(growth, MOST[name]) * usual


def test_qualities_cost_more_in_their_order():
    steps = [settings_for(name, 4000, 40).training.max_steps for name in QUALITIES]
    assert steps == sorted(steps)
    assert len(set(steps)) == 3
    trees = [settings_for(name, 4000, 40).experts.trees for name in QUALITIES]
    assert trees == ["quick", "full", "full"]
    assert [Settings.preset(name).backbone.name for name in QUALITIES] == [
        "embedding",
        "embedding",
        "tokens",
    ]


@pytest.mark.parametrize("name", ["fast", "balanced"])
def test_few_rows_get_a_small_network_that_drops_out_more(name):
    few, usual = settings_for(name, 1999, 40), settings_for(name, 2000, 40)
    assert few.backbone.width <= usual.backbone.width
    assert few.backbone.depth <= usual.backbone.depth
    assert few.backbone.dropout > usual.backbone.dropout
    assert few.training.batch_size <= 256
    assert few.temperature.held_out_share > usual.temperature.held_out_share


@pytest.mark.parametrize("name", ["fast", "balanced"])
def test_wide_tables_get_a_wider_network(name):
    narrow, wide = (settings_for(name, 4000, n).backbone.width for n in (100, 101))
    assert wide == 2 * narrow


def test_the_best_quality_averages_three_networks_where_rows_are_few():
    members = [settings_for("best", n, 40).backbone.members for n in (100, 10_000, 10_001)]
    assert members == [3, 3, 1]
    assert {settings_for(n, 100, 40).backbone.members for n in ("fast", "balanced")} == {1}


@BY_QUALITY
def test_many_rows_grow_quick_trees(name):
    assert settings_for(name, 20_000, 40).experts == Settings.preset(name).experts
    assert settings_for(name, 20_001, 40).experts.trees == "quick"


@BY_QUALITY
def test_large_tables_get_fewer_regressions_of_fewer_rows(name):
    usual = Settings.preset(name).regressions
    assert settings_for(name, 10_000, 100).regressions == usual
    for shape in ((10_001, 40), (4000, 101)):
        large = settings_for(name, *shape).regressions
        assert 1 <= large.sets <= usual.sets
        assert 1 <= large.point_sets <= usual.point_sets
        assert large.max_rows < usual.max_rows
        assert (large.sets, large.max_rows) != (usual.sets, usual.max_rows)


@BY_QUALITY
def test_qualities_draw_from_regressions(name):
    settings = Settings.preset(name)
    assert settings.sampler.draws == "refitted"
    assert min(settings.regressions.sets, settings.regressions.point_sets) > 0


@BY_QUALITY
def test_what_was_said_stands(name):
    said = {
        "regressions": {"sets": 17, "max_rows": 15_000},
        "training": {"max_steps": 7, "batch_size": 33},
        "backbone": {"width": 64, "dropout": 0.0},
        "temperature": {"held_out_share": 0.3},
        "experts": {"trees": "none"},
    }
    for shape in ((500, 20), (4000, 300), (100_000, 40)):
        settings = settings_for(name, *shape, said)
        for group, values in said.items():
            for field, value in values.items():
                assert getattr(getattr(settings, group), field) == value


@pytest.mark.parametrize("name", PRESETS)
def test_presets_of_the_paper_do_not_depend_on_the_table(name):
    for shape in ((10, 2), (4000, 40), (10**6, 500)):
        assert settings_for(name, *shape) == PaperSettings.preset(name)
