"""The groups of settings: what each means, its default, and what values it takes.

Grouped as the paper's hyperparameter table; :mod:`tabsoda.settings` puts the groups together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from tabsoda.errors import InputError


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    even: bool = False,
    choices: tuple[Any, ...] | None = None,
) -> Any:
    """Declare a setting: its default, what it means, and what values it takes.

    ``low`` and ``high`` are allowed themselves, ``above`` and ``below`` are not.
    """
    metadata = {"meaning": meaning, "low": low, "high": high, "choices": choices}
    return field(
        default=default, metadata=metadata | {"above": above, "below": below, "even": even}
    )


def bounds_text(item: Any) -> str:
    """Say what numbers a setting takes, such as ``"from 0 below 1"``; empty where any.

    Examples
    --------
    >>> [bounds_text(item) for item in fields(BackboneSettings) if item.name == "width"]
    ['from 4, even']
    """
    words = {"low": "from", "above": "above", "high": "to", "below": "below"}
    limits = [(word, item.metadata[key]) for key, word in words.items()]
    text = " ".join(f"{word} {limit:g}" for word, limit in limits if limit is not None)
    return f"{text}, even" if item.metadata["even"] else text


@dataclass(frozen=True)
class SettingGroup:
    """Checks every field against what it was declared with."""

    # What the settings call the group, where the name of the class does not say so.
    group: ClassVar[str] = ""

    def __post_init__(self) -> None:
        group = self.group or type(self).__name__.removesuffix("Settings").lower()
        for item in fields(self):
            if "meaning" in item.metadata:
                _check(group, item.name, getattr(self, item.name), item)


@dataclass(frozen=True)
class SettingsBase:
    """The settings of an engine: a frozen dataclass whose fields are groups of settings."""

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Read settings saved by :meth:`to_dict`."""
        return cls().replace(**content)

    def replace(self, **groups: Mapping[str, Any]) -> Self:
        """Return settings with some values changed, such as ``replace(em={"rounds": 2})``."""
        known = {item.name: getattr(self, item.name) for item in fields(self)}
        for group, changes in groups.items():
            if group not in known:
                raise InputError(
                    f"There is no group of settings called '{group}'",
                    expected=f"one of {', '.join(known)}",
                )
            if not isinstance(changes, Mapping):
                raise InputError(
                    f"The settings of the group '{group}' are not usable",
                    found=repr(changes),
                    expected=f"names and values, such as {group}={{...}}",
                )
            names = {item.name for item in fields(known[group])}
            unknown = sorted(set(changes) - names)
            if unknown:
                raise InputError(
                    f"There is no setting called '{group}.{unknown[0]}'",
                    expected=f"one of {', '.join(sorted(names))}",
                )
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
            known[group] = replace(known[group], **values)
        return type(self)(**known)

    def to_dict(self) -> dict[str, Any]:
        """Return nested dictionaries, ready for JSON."""
        return asdict(self)


def _is_number(value: Any) -> bool:
    """Whether this is a finite number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _within(value: float, metadata: Any) -> bool:
    low, high, above, below = (metadata[key] for key in ("low", "high", "above", "below"))
    return (
        (low is None or value >= low)
        and (high is None or value <= high)
        and (above is None or value > above)
        and (below is None or value < below)
        and not (metadata["even"] and value % 2)
    )


def _check(group: str, name: str, value: Any, item: Any) -> None:
    low, choices = item.metadata["low"], item.metadata["choices"]
    kind = type(item.default) if item.default is not MISSING else None
    problem = None
    if choices is not None:
        problem = None if value in choices else f"one of {', '.join(map(repr, choices))}"
    elif kind is bool:
        problem = None if isinstance(value, bool) else "True or False"
    elif kind is tuple:
        numbers = isinstance(value, tuple) and all(_is_number(v) for v in value)
        problem = None if numbers and len(value) > 0 else "a tuple of numbers"
        if problem is None and low is not None and min(value) < low:
            problem = f"numbers of at least {low:g}"
    elif value is None:
        problem = None if item.default is None else "a number"
    else:
        counts = "int" in str(item.type)
        if not _is_number(value) or (counts and not isinstance(value, int)):
            problem = "a whole number" if counts else "a number"
        elif not _within(value, item.metadata):
            problem = f"a number {bounds_text(item)}"
    if problem is not None:
        raise InputError(
            f"The setting {group}.{name} is out of range",
            found=repr(value),
            expected=problem,
            next_step=f"It is: {item.metadata['meaning']}",
        )


@dataclass(frozen=True)
class EncodingSettings(SettingGroup):
    """How answers become coordinates, and back."""

    ordinal: str = setting(
        "latent",
        "ordinals as cumulative-probit latents, or as analog bits like nominals (TabSODA-N)",
        choices=("latent", "bits"),
    )
    max_dominant_share: float = setting(
        0.70,
        "ordinals whose most frequent level reaches this share are encoded as bits",
        low=0,
        high=1,
    )
    cutpoint_prior: float = setting(5.0, "pseudo-answers that smooth the first cutpoints", low=0)
    continuous: str = setting(
        "standard",
        "continuous answers as they are, or as normal scores of their ranks (heavy tails)",
        choices=("standard", "normal_score"),
    )
    standardizer_refresh: str = setting(
        "auto",
        "when mean and scale of a coordinate are taken anew; auto: once if at least 10 % of the "
        "columns are continuous, else each round",
        choices=("auto", "once", "each_round"),
    )
    shared_cutpoints: bool = setting(
        False, "the encoder follows the decoder's learned cutpoints (the paper's literal coupling)"
    )
    latent_draws: bool = setting(
        True, "from the second round on, latents of answers are drawn within their interval"
    )


@dataclass(frozen=True)
class NoiseSettings(SettingGroup):
    """The noise of training (log-normal) and the scale the preconditioning assumes."""

    log_mean: float = setting(-1.2, "mean of the log noise level in training")
    log_sd: float = setting(1.2, "standard deviation of the log noise level in training", low=0)
    data_scale: float = setting(0.5, "standard deviation of the standardised coordinates", low=1e-3)
    top_share: float = setting(
        0.0,
        "share of training rows at the highest noise level, which log-normal noise hardly "
        "ever reaches; one-pass point estimates are made there",
        low=0,
        high=1,
    )


@dataclass(frozen=True)
class BackboneSettings(SettingGroup):
    """The network inside the denoiser."""

    name: str = setting(
        "mlp",
        "which network: the paper's over coordinates (mlp), learned vectors of answers, summed "
        "(embedding), or a token a column with attention between columns (tokens)",
        choices=("mlp", "embedding", "tokens"),
    )
    width: int = setting(
        1024,
        "hidden width; even, for as many sines as cosines of the noise level",
        low=4,
        even=True,
    )
    depth: int = setting(1, "residual blocks or attention layers (not mlp)", low=0)
    attention_heads: int = setting(4, "attention heads; they divide the width (tokens)", low=1)
    members: int = setting(
        1, "networks trained from different starts, whose answers are averaged (not mlp)", low=1
    )
    bootstrap: bool = setting(
        False,
        "further members learn from rows drawn with replacement, and draws take turns with the "
        "members: draws then also vary by what could have been learned",
    )
    dropout: float = setting(0.0, "share of hidden units dropped in training", low=0, high=0.95)
    input_dropout: float = setting(
        0.0, "share of the summed vectors dropped in training (embedding)", low=0, high=0.95
    )
    sees_visible: bool = setting(True, "the mask of visible entries is an input")
    sees_skips: bool = setting(True, "the mask of skipped entries is an input")


@dataclass(frozen=True)
class LossSettings(SettingGroup):
    """Weights of the terms of Eq. (tabsoda_loss)."""

    reconstruction: float = setting(1.0, "weight of the denoising error", low=0)
    bins: float = setting(
        0.5, "weight of a number's bins beside its squared error (decoder heads)", low=0
    )
    balance: str = setting(
        "cells",
        "what weighs the same with decoder heads: every cell, every column, or in between (root: "
        "a column weighs by the root of its answers)",
        choices=("cells", "root", "columns"),
    )
    continuous: float = setting(0.25, "weight of the low-noise squared error", low=0)
    nominal: float = setting(1.0, "weight of the prototype cross-entropy", low=0)
    ordinal: float = setting(3.0, "weight of the cumulative-probit loss", low=0)
    ranked_probability: float = setting(0.1, "weight of the RPS beside the NLL", low=0)
    width_parity: bool = setting(True, "a latent ordinal weighs as much as its bits would")
    class_balanced: bool = setting(False, "rare ordinal levels weigh more")
    reduction: str = setting(
        "mean", "how the columns' decoding terms are combined", choices=("mean", "sum")
    )


@dataclass(frozen=True)
class TrainingSettings(SettingGroup):
    """The M-step."""

    conditioning: str = setting(
        "clean",
        "noisy: noise on all applicable entries (the paper); clean: visible entries enter as they "
        "are, a random share of them is hidden at each step, and the loss is on what was hidden",
        choices=("noisy", "clean"),
    )
    hiding: str = setting(
        "uniform",
        "which visible cells a step hides (clean conditioning): a random share, the cells that "
        "another row misses (patterns), or one of both at random (mixed)",
        choices=("uniform", "patterns", "mixed"),
    )
    hidden_share: float = setting(
        0.95, "a row hides at most this share of its visible cells at random", above=0.05, below=1
    )
    batch_size: int = setting(4096, "rows per step; smaller tables use fewer", low=1)
    max_epochs: int = setting(1000, "passes over the table, at most", low=1)
    min_epoch_steps: int = setting(
        1,
        "an epoch has at least this many steps: small tables are passed over several times",
        low=1,
    )
    max_steps: int | None = setting(None, "optimiser steps per round, at most", low=1)
    patience: int = setting(
        100, "epochs without improvement before a round's training stops", low=1
    )
    learning_rate: float = setting(1e-4, "Adam's step for the denoiser", low=0)
    weight_decay: float = setting(0.0, "decay of the weights, apart from the gradient", low=0)
    schedule: str = setting(
        "plateau",
        "how the step shrinks: when the loss stalls, or along a cosine down to 0 at the last epoch",
        choices=("plateau", "cosine"),
    )
    plateau_factor: float = setting(
        0.9, "the step shrinks by this when the loss stalls", low=0, below=1
    )
    plateau_patience: int = setting(50, "epochs of stall before it does", low=1)
    average_decay: float = setting(
        0.0,
        "decay of the averaged weights used for sampling; 0: the best weights as trained",
        low=0,
        high=0.99999,
    )
    monitor: str = setting(
        "training_loss",
        "what is watched for improvement: the epoch's mean training loss, or the loss on cells "
        "held out from training",
        choices=("training_loss", "held_out"),
    )
    calibration_learning_rate: float = setting(1e-3, "Adam's step for the cutpoints", low=0)
    calibration_steps: int = setting(
        200, "full-batch cutpoint steps per calibration, at most", low=0
    )
    calibration_noise: float = setting(0.02, "noise level of the low-noise terms", above=0)
    low_noise_pass: bool = setting(
        True,
        "decoding terms from a pass of their own at calibration_noise, or from the same",
    )
    pseudo_missing: tuple[float, ...] = setting(
        (0.0, 0.0, 0.25, 0.5, 0.75),
        "weight of imputed entries in the loss, by round; interpolated for other numbers of rounds",
        low=0,
    )
    warm_start: bool = setting(True, "a round starts from the last round's weights")


@dataclass(frozen=True)
class SamplerSettings(SettingGroup):
    """The E-step's reverse process."""

    steps: int = setting(50, "noise levels of the grid", low=2)
    noise_max: float = setting(20.0, "first noise level", low=1e-3)
    noise_min: float = setting(0.002, "last noise level before 0", low=1e-6)
    exponent: float = setting(7.0, "rho of the polynomial grid", low=1)
    churn: float = setting(0.0, "S_churn: fresh noise per step", low=0)
    noise_scale: float = setting(1.0, "S_noise: scale of the fresh noise", low=0)
    refresh_cycles: int = setting(1, "times each step is repeated with re-noised entries", low=1)
    chains: int = setting(20, "reverse processes whose mean is the E-step", low=1)
    point: str = setting(
        "chains",
        "point estimates from the mean of the chains, or from one pass at the highest noise level "
        "(clean conditioning only: there one pass already is the conditional mean)",
        choices=("chains", "one_pass"),
    )
    draws: str = setting(
        "reverse",
        "draws by the reverse process, column by column from the decoder heads, each draw visible "
        "to the next (sequential), or these drawn anew from the regressions (refitted)",
        choices=("reverse", "sequential", "refitted"),
    )
    draw_steps: int = setting(
        64,
        "groups of columns that are drawn one after the other, at most (sequential, refitted)",
        low=1,
    )
    inner_decode: str = setting(
        "interval",
        "how a latent ordinal is decoded inside the loop: by its interval, or by the most probable "
        "level at temperature 1 (the paper); none: nothing is decoded, the mean of the chains goes "
        "into the table as it is (DiffPuter)",
        choices=("interval", "mode", "none"),
    )
    block_rows: int = setting(4096, "rows sampled at a time; changes memory, not results", low=1)


@dataclass(frozen=True)
class EMSettings(SettingGroup):
    """The outer loop."""

    rounds: int = setting(5, "M-steps and E-steps", low=1)
    min_rounds: int = setting(2, "rounds before an early stop is possible", low=1)
    stop_change: float = setting(
        0.0,
        "stop when the imputed table moves by less than this (root mean square); 0: never",
        low=0,
    )


@dataclass(frozen=True)
class TemperatureSettings(SettingGroup):
    """The per-column temperature of the ordinal decoder."""

    held_out_share: float = setting(
        0.20, "share of each ordinal's answers held out", low=0, high=0.9
    )
    grid: tuple[float, ...] = setting(
        (0.0, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0), "temperatures tried; 0 is the interval itself", low=0
    )
