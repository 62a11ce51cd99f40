"""Every setting at and beyond its bounds; the presets against the paper's hyperparameter table."""

import json
import math
from dataclasses import fields

import pytest

from tabsoda.em.loop import pseudo_missing_weight
from tabsoda.errors import InputError
from tabsoda.presets import PRESETS
from tabsoda.settings import Settings

ALL = [
    (group.name, item)
    for group in fields(Settings)
    for item in fields(getattr(Settings(), group.name))
]
NUMBERS = [
    (group, item)
    for group, item in ALL
    if item.metadata["choices"] is None and not isinstance(item.default, bool | tuple)
]


def named(cases):
    return pytest.mark.parametrize(
        ("group", "item"), cases, ids=[f"{group}.{item.name}" for group, item in cases]
    )


def with_value(group, item, value):
    # The other end of the sampler's noise must not be in the way of the one at its bound.
    base = Settings().replace(sampler={"noise_min": 1e-6, "noise_max": 1e6})
    if item.name == "bootstrap":
        # Only networks with decoder heads have members to draw rows for.
        base = base.replace(backbone={"name": "embedding"})
    changed = base.replace(**{group: {item.name: value}})
    return getattr(getattr(changed, group), item.name)


@named(ALL)
def test_every_setting_is_explained(group, item):
    assert len(item.metadata["meaning"]) > 8
    assert not item.metadata["meaning"].endswith(".")


@named(NUMBERS)
def test_bounds_are_allowed_and_no_more(group, item):
    low, high = item.metadata["low"], item.metadata["high"]
    whole = "int" in str(item.type)
    step = 1 if whole else 1e-9
    for bound, beyond in ((low, -step), (high, step)):
        if bound is None:
            continue
        value = int(bound) if whole else float(bound)
        assert with_value(group, item, value) == value
        with pytest.raises(InputError, match=rf"{group}\.{item.name} is out of range") as caught:
            with_value(group, item, value + beyond)
        assert item.metadata["meaning"].rstrip(".") in caught.value.next_step


@pytest.mark.parametrize(
    ("group", "name", "allowed", "refused", "expected"),
    [
        ("training", "plateau_factor", 0.999, 1.0, "a number from 0 below 1"),
        ("training", "calibration_noise", 1e-9, 0.0, "a number above 0"),
        ("backbone", "width", 6, 7, "a number from 4, even"),
    ],
)
def test_bounds_that_are_not_allowed_themselves(group, name, allowed, refused, expected):
    assert getattr(getattr(Settings().replace(**{group: {name: allowed}}), group), name) == allowed
    with pytest.raises(InputError, match=rf"{group}\.{name} is out of range") as caught:
        Settings().replace(**{group: {name: refused}})
    assert caught.value.expected == expected


@named(NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1", True, (1,), [2]])
def test_what_is_no_number_is_refused(group, item, value):
    with pytest.raises(InputError, match=rf"{group}\.{item.name}"):
        with_value(group, item, value)


@named([case for case in NUMBERS if "int" in str(case[1].type)])
def test_counts_are_whole(group, item):
    with pytest.raises(InputError, match=r"Expected: a whole number"):
        with_value(group, item, 2.5)


@named([case for case in NUMBERS if case[1].default is not None])
def test_none_is_no_number(group, item):
    with pytest.raises(InputError, match="Expected: a number"):
        with_value(group, item, None)


def test_an_optional_count_may_be_none():
    assert Settings().replace(training={"max_steps": None}).training.max_steps is None


@named([case for case in ALL if isinstance(case[1].default, bool)])
def test_switches_take_true_and_false_only(group, item):
    assert with_value(group, item, not item.default) is (not item.default)
    for value in (1, 0, "yes", None):
        with pytest.raises(InputError, match="Expected: True or False"):
            with_value(group, item, value)


@named([case for case in ALL if case[1].metadata["choices"] is not None])
def test_choices_take_what_is_listed_only(group, item):
    for value in ("banana", None, 1):
        expected = rf"{group}\.{item.name} is .*one of '{item.metadata['choices'][0]}'"
        with pytest.raises(InputError, match=expected):
            with_value(group, item, value)


@named([case for case in ALL if isinstance(case[1].default, tuple)])
def test_lists_take_numbers_within_bounds_only(group, item):
    assert with_value(group, item, [0.0, 2]) == (0.0, 2)
    for value in ((), (-1e-9,), ("a",), (math.nan,), (True,), 0.5, None):
        with pytest.raises(InputError, match=rf"{group}\.{item.name}"):
            with_value(group, item, value)


# Table "TabSODA hyperparameter configuration" of the paper's appendix, row by row: PATH, NSDUH.
PAPER = {
    "em.rounds": (5, 5),
    "em.min_rounds": (2, 2),
    "sampler.chains": (20, 20),
    "training.pseudo_missing": ((0.0, 0.0, 0.25, 0.5, 0.75),) * 2,
    "loss.continuous": (0.25, 0.25),
    "loss.nominal": (1.0, 1.0),
    "loss.ordinal": (3.0, 3.0),
    "loss.ranked_probability": (0.1, 0.1),
    "loss.class_balanced": (False, False),
    "loss.width_parity": (True, True),
    "encoding.max_dominant_share": (0.70, 0.70),
    "training.calibration_noise": (0.02, 0.02),
    "encoding.standardizer_refresh": ("each_round", "once"),
    "backbone.width": (1024, 512),
    "noise.log_mean": (-1.2, -1.2),
    "noise.log_sd": (1.2, 1.2),
    "noise.data_scale": (0.5, 0.5),
    "training.batch_size": (4096, 4096),
    "training.max_epochs": (1000, 1000),
    "training.patience": (100, 100),
    "training.learning_rate": (1e-4, 5e-5),
    "training.calibration_learning_rate": (1e-3, 5e-4),
    "encoding.cutpoint_prior": (5.0, 5.0),
    "sampler.steps": (50, 50),
    "sampler.refresh_cycles": (4, 1),
    "sampler.noise_max": (20.0, 5.0),
    "sampler.noise_min": (0.002, 0.002),
    "sampler.exponent": (7.0, 7.0),
    "sampler.churn": (0.0, 0.0),
    "sampler.noise_scale": (1.0, 1.0),
    "temperature.held_out_share": (0.20, 0.20),
    "temperature.grid": ((0.5, 0.7, 1.0, 1.4, 2.0),) * 2,
    # Where the table is silent, its text and algorithm: noise on all entries, one low-noise pass,
    # sums over columns, coupled cutpoints, decoding by mode at temperature 1 inside the loop.
    "training.conditioning": ("noisy", "noisy"),
    "training.low_noise_pass": (True, True),
    "training.monitor": ("training_loss", "training_loss"),
    "training.max_steps": (None, None),
    "training.min_epoch_steps": (1, 1),
    "training.average_decay": (0.0, 0.0),
    "training.plateau_factor": (0.9, 0.9),
    "training.plateau_patience": (50, 50),
    "loss.reduction": ("sum", "sum"),
    "encoding.shared_cutpoints": (True, True),
    "encoding.latent_draws": (True, True),
    "encoding.ordinal": ("latent", "latent"),
    "encoding.continuous": ("standard", "standard"),
    "sampler.inner_decode": ("mode", "mode"),
    "sampler.point": ("chains", "chains"),
    "backbone.sees_visible": (True, True),
    "backbone.sees_skips": (True, True),
    "backbone.dropout": (0.0, 0.0),
    "em.stop_change": (0.0, 0.0),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_presets_are_the_papers_table(name):
    group, field = name.split(".")
    found = tuple(getattr(getattr(Settings.preset(p), group), field) for p in ("path", "nsduh"))
    assert found == PAPER[name]


def test_unknown_names_are_told_with_the_known_ones():
    with pytest.raises(
        InputError, match=r"'huge'.*'fast', 'balanced', 'best', 'path', 'nsduh', 'small'"
    ):
        Settings.preset("huge")
    with pytest.raises(InputError, match=r"'sampling'.*encoding, noise, backbone"):
        Settings().replace(sampling={})
    with pytest.raises(InputError, match=r"'em\.round'.*min_rounds, rounds"):
        Settings().replace(em={"round": 3})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": {"point": "one_pass"}}, r"sampler\.point needs"),
        ({"training": {"monitor": "held_out"}}, r"training\.monitor needs"),
        ({"sampler": {"noise_min": 20.0}}, "not below"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        Settings.preset("path").replace(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": {"draws": "sequential"}}, r"sampler\.draws needs decoder heads"),
        ({"experts": {"trees": "quick"}}, r"experts\.trees needs decoder heads"),
        ({"regressions": {"sets": 2}}, r"regressions\.sets needs decoder heads"),
        ({"backbone": {"members": 2}}, r"backbone\.members needs decoder heads"),
        ({"backbone": {"bootstrap": True}}, r"backbone\.bootstrap needs decoder heads"),
    ],
)
def test_what_needs_decoder_heads_is_refused_without_and_taken_with(changes, message):
    with pytest.raises(InputError, match=message):
        Settings.preset("small").replace(**changes)
    [(group, values)] = changes.items()
    taken = getattr(Settings.preset("fast").replace(**changes), group)
    assert {name: getattr(taken, name) for name in values} == values


def test_draws_anew_need_regressions_to_draw_from():
    with pytest.raises(InputError, match=r"'refitted' needs regressions.*regressions\.sets = 0"):
        Settings.preset("fast").replace(regressions={"sets": 0})
    plain = Settings.preset("fast").replace(
        regressions={"sets": 0}, sampler={"draws": "sequential"}
    )
    assert plain.regressions.sets == 0


def test_backbones_refuse_what_they_cannot_do():
    with pytest.raises(InputError, match=r"'embedding' needs training\.conditioning"):
        Settings.preset("path").replace(backbone={"name": "embedding"})
    with pytest.raises(InputError, match="does not divide"):
        Settings.preset("best").replace(backbone={"width": 98})


@pytest.mark.parametrize(
    ("n_columns", "n_continuous", "refresh"),
    [(1000, 99, "each_round"), (1000, 100, "once"), (10, 1, "once"), (57, 1, "each_round")],
)
def test_the_ten_percent_rule(n_columns, n_continuous, refresh):
    resolved = Settings().resolve(n_columns, n_continuous)
    assert resolved.encoding.standardizer_refresh == refresh


def test_what_was_said_is_not_resolved_away():
    said = Settings().replace(encoding={"standardizer_refresh": "each_round"})
    assert said.resolve(10, 10) == said


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_survive_json(preset):
    settings = Settings.preset(preset)
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_the_ramp_is_the_papers_for_five_rounds_and_stretched_for_others():
    ramp = Settings.preset("path").training.pseudo_missing
    assert [pseudo_missing_weight(ramp, r, 5) for r in range(1, 6)] == list(ramp)
    assert [pseudo_missing_weight(ramp, r, 3) for r in (1, 2, 3)] == [0.0, 0.25, 0.75]
    nine = [pseudo_missing_weight(ramp, r, 9) for r in range(1, 10)]
    assert nine == [0, 0, 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75]
    assert pseudo_missing_weight(ramp, 1, 1) == 0.0
    assert [pseudo_missing_weight((0.3,), r, 4) for r in (1, 4)] == [0.3, 0.3]
