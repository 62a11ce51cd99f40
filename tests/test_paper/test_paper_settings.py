"""The presets against the paper's hyperparameter table, and settings that contradict each other."""

import json

import pytest

from tabsoda.errors import InputError
from tabsoda.paper.em import pseudo_missing_weight
from tabsoda.paper.presets import PRESETS
from tabsoda.paper.settings import PaperSettings

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
    # Epochs of 4,096 rows on PATH (32,320 rows) and NSDUH (58,034 rows).
    "training.min_epoch_steps": (8, 15),
    "training.whole_passes": (False, False),
    "training.precision": ("float32", "float32"),
    "sampler.fresh_noise": (True, True),
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
    found = tuple(
        getattr(getattr(PaperSettings.preset(p), group), field) for p in ("path", "nsduh")
    )
    assert found == PAPER[name]


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
        PaperSettings.preset("path").replace(**changes)


@pytest.mark.parametrize(
    ("n_columns", "n_continuous", "refresh"),
    [(1000, 99, "each_round"), (1000, 100, "once"), (10, 1, "once"), (57, 1, "each_round")],
)
def test_the_ten_percent_rule(n_columns, n_continuous, refresh):
    resolved = PaperSettings().resolve(n_columns, n_continuous)
    assert resolved.encoding.standardizer_refresh == refresh


def test_what_was_said_is_not_resolved_away():
    said = PaperSettings().replace(encoding={"standardizer_refresh": "each_round"})
    assert said.resolve(10, 10) == said


def test_the_ramp_is_the_papers_for_five_rounds_and_stretched_for_others():
    ramp = PaperSettings.preset("path").training.pseudo_missing
    assert [pseudo_missing_weight(ramp, r, 5) for r in range(1, 6)] == list(ramp)
    assert [pseudo_missing_weight(ramp, r, 3) for r in (1, 2, 3)] == [0.0, 0.25, 0.75]
    nine = [pseudo_missing_weight(ramp, r, 9) for r in range(1, 10)]
    assert nine == [0, 0, 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75]
    assert pseudo_missing_weight(ramp, 1, 1) == 0.0
    assert [pseudo_missing_weight((0.3,), r, 4) for r in (1, 4)] == [0.3, 0.3]


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_survive_json(preset):
    settings = PaperSettings.preset(preset)
    assert PaperSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


@pytest.mark.parametrize(
    ("group", "name"),
    [("backbone", "members"), ("training", "hiding"), ("sampler", "draws"), ("loss", "bins")],
)
def test_settings_of_the_default_engine_are_unknown(group, name):
    with pytest.raises(InputError, match=rf"no setting called '{group}\.{name}'"):
        PaperSettings().replace(**{group: {name: 1}})
    with pytest.raises(InputError, match="no group of settings called 'regressions'"):
        PaperSettings().replace(regressions={"sets": 2})
