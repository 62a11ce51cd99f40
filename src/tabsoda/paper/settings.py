"""The settings of the paper's engine: what each means, its default, and its allowed values.

Grouped as the paper's hyperparameter table, whose two columns are the presets ``path`` and
``nsduh`` (:mod:`tabsoda.paper.presets`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tabsoda.errors import InputError
from tabsoda.paper.presets import PRESETS
from tabsoda.settings_base import SettingGroup, SettingsBase, setting


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
        "when the mean and scale of a coordinate are computed: once or each round; auto: once if "
        "at least 10 % of the columns are continuous, else each round",
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

    width: int = setting(
        1024,
        "hidden width; even, because the noise level enters as pairs of sine and cosine",
        low=4,
        even=True,
    )
    dropout: float = setting(0.0, "share of hidden units dropped in training", low=0, high=0.95)
    sees_visible: bool = setting(True, "the mask of visible entries is an input")
    sees_skips: bool = setting(True, "the mask of skipped entries is an input")


@dataclass(frozen=True)
class LossSettings(SettingGroup):
    """Weights of the terms of Eq. (tabsoda_loss)."""

    reconstruction: float = setting(1.0, "weight of the denoising error", low=0)
    continuous: float = setting(0.25, "weight of the low-noise squared error", low=0)
    nominal: float = setting(1.0, "weight of the prototype cross-entropy", low=0)
    ordinal: float = setting(3.0, "weight of the cumulative-probit loss", low=0)
    ranked_probability: float = setting(0.1, "weight of the RPS relative to the NLL", low=0)
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
    batch_size: int = setting(4096, "rows per step; smaller tables use fewer", low=1)
    max_epochs: int = setting(1000, "passes over the table, at most", low=1)
    min_epoch_steps: int = setting(
        1,
        "an epoch has at least this many steps: small tables are passed over several times",
        low=1,
    )
    whole_passes: bool = setting(
        True, "such an epoch ends with a whole pass; false: it has exactly min_epoch_steps"
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
        "decoding terms from a separate pass at calibration_noise, or from the same pass",
    )
    pseudo_missing: tuple[float, ...] = setting(
        (0.0, 0.0, 0.25, 0.5, 0.75),
        "weight of imputed entries in the loss, by round; interpolated for other numbers of rounds",
        low=0,
    )
    warm_start: bool = setting(True, "a round starts from the last round's weights")
    precision: str = setting(
        "auto",
        "on a GPU: float32; auto: bfloat16 for the network where the GPU is fast at it",
        choices=("auto", "float32"),
    )


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
    inner_decode: str = setting(
        "interval",
        "how a latent ordinal is decoded inside the loop: by its interval, or by the most probable "
        "level at temperature 1 (the paper); none: nothing is decoded, the mean of the chains goes "
        "into the table as it is (DiffPuter)",
        choices=("interval", "mode", "none"),
    )
    fresh_noise: bool = setting(True, "the chains of every EM round have new noise")
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


@dataclass(frozen=True)
class PaperSettings(SettingsBase):
    """All settings of the paper's engine.

    Examples
    --------
    >>> PaperSettings.preset("path").backbone.width
    1024
    >>> PaperSettings.preset("nsduh").replace(em={"rounds": 2}).em.rounds
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
    def preset(cls, name: str) -> PaperSettings:
        """Return ``"path"`` or ``"nsduh"`` of the paper's table, or ``"small"`` for a laptop."""
        if name not in PRESETS:
            raise InputError(
                "There is no such preset",
                found=repr(name),
                expected=f"one of {', '.join(map(repr, PRESETS))}",
            )
        return cls().replace(**PRESETS[name])

    def resolve(self, n_columns: int, n_continuous: int) -> PaperSettings:
        """Replace ``"auto"`` by its meaning for a table (the paper's 10 % rule)."""
        if self.encoding.standardizer_refresh != "auto":
            return self
        refresh = "once" if n_continuous >= 0.1 * n_columns else "each_round"
        return self.replace(encoding={"standardizer_refresh": refresh})
