"""Every setting of both engines at and beyond its bounds."""

import json
import math
from dataclasses import fields

import pytest

from tabsoda.engine.presets import QUALITIES
from tabsoda.engine.settings import EngineSettings
from tabsoda.errors import InputError
from tabsoda.paper.presets import PRESETS
from tabsoda.paper.settings import PaperSettings

ALL = [
    (kind, group.name, item)
    for kind in (EngineSettings, PaperSettings)
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
    if kind is PaperSettings:
        # The other end of the sampler's noise must not be in the way of the one at its bound.
        base = kind().replace(sampler={"noise_min": 1e-6, "noise_max": 1e6})
    else:
        # Without regressions, draws come from the network.
        base = kind().replace(draws={"method": "sequential"})
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
        with pytest.raises(InputError, match=rf"{group}\.{item.name} has an invalid") as caught:
            with_value(kind, group, item, value + beyond)
        assert item.metadata["meaning"].rstrip(".") in caught.value.next_step


@pytest.mark.parametrize(
    ("kind", "group", "name", "allowed", "refused", "expected"),
    [
        (PaperSettings, "training", "plateau_factor", 0.999, 1.0, "a number from 0 below 1"),
        (PaperSettings, "training", "calibration_noise", 1e-9, 0.0, "a number above 0"),
        (PaperSettings, "backbone", "width", 6, 7, "a number from 4, even"),
        (EngineSettings, "training", "learning_rate", 1e-9, 0.0, "a number above 0"),
        (EngineSettings, "regressions", "row_share", 1e-9, 0.0, "a number above 0 to 1"),
    ],
)
def test_bounds_that_are_not_allowed_themselves(kind, group, name, allowed, refused, expected):
    assert getattr(getattr(kind().replace(**{group: {name: allowed}}), group), name) == allowed
    with pytest.raises(InputError, match=rf"{group}\.{name} has an invalid value") as caught:
        kind().replace(**{group: {name: refused}})
    assert caught.value.expected == expected


@named(NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1", True, (1,), [2]])
def test_values_that_are_not_numbers_are_refused(kind, group, item, value):
    with pytest.raises(InputError, match=rf"{group}\.{item.name}"):
        with_value(kind, group, item, value)


@named([case for case in NUMBERS if "int" in str(case[2].type)])
def test_counts_are_whole(kind, group, item):
    with pytest.raises(InputError, match=r"Expected: a whole number"):
        with_value(kind, group, item, 2.5)


@named([case for case in NUMBERS if case[2].default is not None])
def test_none_is_not_a_number(kind, group, item):
    with pytest.raises(InputError, match="Expected: a number"):
        with_value(kind, group, item, None)


def test_an_optional_count_may_be_none():
    assert PaperSettings().replace(training={"max_steps": None}).training.max_steps is None


@named([case for case in ALL if isinstance(case[2].default, bool)])
def test_switches_take_true_and_false_only(kind, group, item):
    assert with_value(kind, group, item, not item.default) is (not item.default)
    for value in (1, 0, "yes", None):
        with pytest.raises(InputError, match="Expected: True or False"):
            with_value(kind, group, item, value)


@named([case for case in ALL if case[2].metadata["choices"] is not None])
def test_choices_take_what_is_listed_only(kind, group, item):
    for value in ("banana", None, 1):
        expected = rf"{group}\.{item.name} has an invalid.*one of '{item.metadata['choices'][0]}'"
        with pytest.raises(InputError, match=expected):
            with_value(kind, group, item, value)


@named([case for case in ALL if isinstance(case[2].default, tuple)])
def test_lists_take_numbers_within_bounds_only(kind, group, item):
    assert with_value(kind, group, item, [0.0, 2]) == (0.0, 2)
    for value in ((), (-1e-9,), ("a",), (math.nan,), (True,), 0.5, None):
        with pytest.raises(InputError, match=rf"{group}\.{item.name}"):
            with_value(kind, group, item, value)


def test_unknown_names_are_named_with_the_known_ones():
    with pytest.raises(InputError, match=r"'sampling'.*network, loss, training"):
        EngineSettings().replace(sampling={})
    with pytest.raises(InputError, match=r"'training\.steps'.*learning_rate, max_steps"):
        EngineSettings().replace(training={"steps": 3})
    with pytest.raises(InputError, match=r"'em\.round'.*min_rounds, rounds"):
        PaperSettings().replace(em={"round": 3})
    with pytest.raises(InputError, match=r"'huge'.*'path', 'nsduh'"):
        PaperSettings.preset("huge")


@pytest.mark.parametrize("group", ["encoding", "noise", "em", "sampler", "backbone", "temperature"])
def test_groups_of_the_papers_engine_are_not_groups_of_the_default_one(group):
    with pytest.raises(InputError, match=f"no group of settings called '{group}'"):
        EngineSettings().replace(**{group: {}})


@pytest.mark.parametrize("changes", [3, "quick", [("width", 8)]])
def test_changes_of_a_group_must_be_named(changes):
    with pytest.raises(InputError, match="group 'network' are invalid"):
        EngineSettings().replace(network=changes)


def test_draws_from_regressions_need_regressions():
    with pytest.raises(InputError, match=r"'refitted' needs regressions.*regressions\.sets = 0"):
        EngineSettings().replace(regressions={"sets": 0})
    plain = EngineSettings().replace(regressions={"sets": 0}, draws={"method": "sequential"})
    assert plain.regressions.sets == 0


def test_attention_heads_must_divide_the_width_of_a_network_of_tokens():
    with pytest.raises(InputError, match=r"not a multiple of network\.attention_heads.*98 and 4"):
        EngineSettings().replace(network={"name": "tokens", "width": 98})
    # The other network has no attention.
    assert EngineSettings().replace(network={"width": 98}).network.width == 98


@pytest.mark.parametrize("name", [*QUALITIES, *PRESETS])
def test_settings_survive_json(name):
    if name in QUALITIES:
        settings = EngineSettings().replace(**QUALITIES[name])
    else:
        settings = PaperSettings.preset(name)
    assert type(settings).from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
