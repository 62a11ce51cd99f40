"""Every setting of both engines at and beyond its bounds."""

import json
import math
from dataclasses import fields

import pytest

from tabsoda.errors import InputError
from tabsoda.paper.settings import PaperSettings
from tabsoda.presets import PRESETS
from tabsoda.settings import Settings

ALL = [
    (kind, group.name, item)
    for kind in (Settings, PaperSettings)
    for group in fields(kind)
    for item in fields(getattr(kind(), group.name))
]
NUMBERS = [
    (kind, group, item)
    for kind, group, item in ALL
    if item.metadata["choices"] is None and not isinstance(item.default, bool | tuple)
]


def named(cases):
    return pytest.mark.parametrize(
        ("kind", "group", "item"),
        cases,
        ids=[f"{kind.__name__}.{group}.{item.name}" for kind, group, item in cases],
    )


def with_value(kind, group, item, value):
    # The other end of the sampler's noise must not be in the way of the one at its bound.
    base = kind().replace(sampler={"noise_min": 1e-6, "noise_max": 1e6})
    if item.name == "bootstrap":
        # Only networks with decoder heads have members to draw rows for.
        base = base.replace(backbone={"name": "embedding"})
    changed = base.replace(**{group: {item.name: value}})
    return getattr(getattr(changed, group), item.name)


@named(ALL)
def test_every_setting_is_explained(kind, group, item):
    assert len(item.metadata["meaning"]) > 8
    assert not item.metadata["meaning"].endswith(".")


@named(NUMBERS)
def test_bounds_are_allowed_and_no_more(kind, group, item):
    low, high = item.metadata["low"], item.metadata["high"]
    whole = "int" in str(item.type)
    step = 1 if whole else 1e-9
    for bound, beyond in ((low, -step), (high, step)):
        if bound is None:
            continue
        value = int(bound) if whole else float(bound)
        assert with_value(kind, group, item, value) == value
        with pytest.raises(InputError, match=rf"{group}\.{item.name} is out of range") as caught:
            with_value(kind, group, item, value + beyond)
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
def test_what_is_no_number_is_refused(kind, group, item, value):
    with pytest.raises(InputError, match=rf"{group}\.{item.name}"):
        with_value(kind, group, item, value)


@named([case for case in NUMBERS if "int" in str(case[2].type)])
def test_counts_are_whole(kind, group, item):
    with pytest.raises(InputError, match=r"Expected: a whole number"):
        with_value(kind, group, item, 2.5)


@named([case for case in NUMBERS if case[2].default is not None])
def test_none_is_no_number(kind, group, item):
    with pytest.raises(InputError, match="Expected: a number"):
        with_value(kind, group, item, None)


def test_an_optional_count_may_be_none():
    assert Settings().replace(training={"max_steps": None}).training.max_steps is None


@named([case for case in ALL if isinstance(case[2].default, bool)])
def test_switches_take_true_and_false_only(kind, group, item):
    assert with_value(kind, group, item, not item.default) is (not item.default)
    for value in (1, 0, "yes", None):
        with pytest.raises(InputError, match="Expected: True or False"):
            with_value(kind, group, item, value)


@named([case for case in ALL if case[2].metadata["choices"] is not None])
def test_choices_take_what_is_listed_only(kind, group, item):
    for value in ("banana", None, 1):
        expected = rf"{group}\.{item.name} is .*one of '{item.metadata['choices'][0]}'"
        with pytest.raises(InputError, match=expected):
            with_value(kind, group, item, value)


@named([case for case in ALL if isinstance(case[2].default, tuple)])
def test_lists_take_numbers_within_bounds_only(kind, group, item):
    assert with_value(kind, group, item, [0.0, 2]) == (0.0, 2)
    for value in ((), (-1e-9,), ("a",), (math.nan,), (True,), 0.5, None):
        with pytest.raises(InputError, match=rf"{group}\.{item.name}"):
            with_value(kind, group, item, value)


def test_unknown_names_are_told_with_the_known_ones():
    with pytest.raises(InputError, match=r"'huge'.*'fast', 'balanced', 'best'"):
        Settings.preset("huge")
    with pytest.raises(InputError, match=r"'sampling'.*encoding, noise, backbone"):
        Settings().replace(sampling={})
    with pytest.raises(InputError, match=r"'em\.round'.*min_rounds, rounds"):
        Settings().replace(em={"round": 3})


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
        Settings().replace(**changes)
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
        Settings().replace(training={"conditioning": "noisy"}, backbone={"name": "embedding"})
    with pytest.raises(InputError, match="does not divide"):
        Settings.preset("best").replace(backbone={"width": 98})


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_survive_json(preset):
    settings = Settings.preset(preset)
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
