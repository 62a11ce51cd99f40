"""Every setting of the engine, typed and checked, grouped as the paper's hyperparameter table.

A setting's meaning, default and bounds stand in one place. ``Settings.resolve`` replaces every
``"auto"`` by what it means for a table, and the resolved values travel with the result.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any

from tabsoda.errors import InputError
from tabsoda.presets import PRESETS


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
class _Group:
    """Checks every field against what it was declared with."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if "meaning" in item.metadata:
                _check(type(self).__name__, item.name, getattr(self, item.name), item)


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
            f"The setting {group.removesuffix('Settings').lower()}.{name} is out of range",
            found=repr(value),
            expected=problem,
            next_step=f"It is: {item.metadata['meaning']}",
        )


@dataclass(frozen=True)
class EncodingSettings(_Group):
    """How answers become coordinates, and back."""

    ordinal: str = setting(
        "latent",
        "ordinals as cumulative-probit latents, or as analog bits like nominals (TabSODA-N)",
        choices=("latent", "bits"),
    )
    max_dominant_share: float = setting(
        0.70,
        "ordinals whose most frequent level reaches this share are sent to bits",
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
class NoiseSettings(_Group):
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
class BackboneSettings(_Group):
    """The network inside the denoiser."""

    name: str = setting("mlp", "which network", choices=("mlp",))
    width: int = setting(
        1024,
        "hidden width; even, for as many sines as cosines of the noise level",
        low=4,
        even=True,
    )
    dropout: float = setting(0.0, "share of hidden units dropped in training", low=0, high=0.95)
    sees_visible: bool = setting(True, "the mask of visible entries is an input")
    sees_skips: bool = setting(True, "the mask of skipped entries is an input")


@dataclass(frozen=True)
class LossSettings(_Group):
    """Weights of the terms of Eq. (tabsoda_loss)."""

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
class TrainingSettings(_Group):
    """The M-step."""

    conditioning: str = setting(
        "clean",
        "noisy: noise on all applicable entries (the paper); clean: visible entries enter as they "
        "are, a random share of them is hidden at each step, and the loss is on what was hidden",
        choices=("noisy", "clean"),
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
class SamplerSettings(_Group):
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
    inner_decode: str = setting(
        "interval",
        "how a latent ordinal is decoded inside the loop: by its interval, or by the most probable "
        "level at temperature 1 (the paper); none: nothing is decoded, the mean of the chains goes "
        "into the table as it is (DiffPuter)",
        choices=("interval", "mode", "none"),
    )
    block_rows: int = setting(4096, "rows sampled at a time; changes memory, not results", low=1)


@dataclass(frozen=True)
class EMSettings(_Group):
    """The outer loop."""

    rounds: int = setting(5, "M-steps and E-steps", low=1)
    min_rounds: int = setting(2, "rounds before an early stop is possible", low=1)
    stop_change: float = setting(
        0.0,
        "stop when the imputed table moves by less than this (root mean square); 0: never",
        low=0,
    )


@dataclass(frozen=True)
class TemperatureSettings(_Group):
    """The per-column temperature of the ordinal decoder."""

    held_out_share: float = setting(
        0.20, "share of each ordinal's answers held out", low=0, high=0.9
    )
    grid: tuple[float, ...] = setting(
        (0.0, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0), "temperatures tried; 0 is the interval itself", low=0
    )


@dataclass(frozen=True)
class Settings:
    """All settings of one run.

    Examples
    --------
    >>> Settings.preset("path").backbone.width
    1024
    >>> Settings.preset("nsduh").replace(em={"rounds": 2}).em.rounds
    2
    """

    encoding: EncodingSettings = field(default_factory=EncodingSettings)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    backbone: BackboneSettings = field(default_factory=BackboneSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    em: EMSettings = field(default_factory=EMSettings)
    temperature: TemperatureSettings = field(default_factory=TemperatureSettings)

    def __post_init__(self) -> None:
        if self.training.conditioning == "noisy":
            for group, name, wanted in (
                ("sampler", "point", "chains"),
                ("training", "monitor", "training_loss"),
            ):
                found = getattr(getattr(self, group), name)
                if found != wanted:
                    raise InputError(
                        f"The setting {group}.{name} needs training.conditioning='clean'",
                        found=f"{found!r} with 'noisy' conditioning",
                        expected=repr(wanted),
                    )
        if self.sampler.noise_min >= self.sampler.noise_max:
            raise InputError(
                "The setting sampler.noise_min is not below sampler.noise_max",
                found=f"{self.sampler.noise_min:g} and {self.sampler.noise_max:g}",
            )

    @classmethod
    def preset(cls, name: str) -> Settings:
        """Return a named preset: ``"path"``, ``"nsduh"`` (the paper's table) or ``"small"``."""
        if name not in PRESETS:
            raise InputError(
                "There is no such preset",
                found=repr(name),
                expected=f"one of {', '.join(map(repr, PRESETS))}",
            )
        return cls().replace(**PRESETS[name])

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Settings:
        """Read settings saved by :meth:`to_dict`."""
        return cls().replace(**content)

    def replace(self, **groups: dict[str, Any]) -> Settings:
        """Return settings with some fields changed, such as ``replace(em={"rounds": 2})``."""
        known = {item.name: getattr(self, item.name) for item in fields(self)}
        for group, changes in groups.items():
            if group not in known:
                raise InputError(
                    f"There is no group of settings called '{group}'",
                    expected=f"one of {', '.join(known)}",
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
        return Settings(**known)

    def resolve(self, n_columns: int, n_continuous: int) -> Settings:
        """Replace ``"auto"`` by its meaning for a table (the paper's 10 % rule)."""
        if self.encoding.standardizer_refresh != "auto":
            return self
        refresh = "once" if n_continuous >= 0.1 * n_columns else "each_round"
        return self.replace(encoding={"standardizer_refresh": refresh})

    def to_dict(self) -> dict[str, Any]:
        """Return nested dictionaries, ready for JSON."""
        return asdict(self)
