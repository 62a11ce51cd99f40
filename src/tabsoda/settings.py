"""Every setting of the engine, typed and checked, grouped as the paper's hyperparameter table.

A setting's meaning, default and bounds stand in one place (:mod:`tabsoda.setting_groups`, and
:mod:`tabsoda.adviser_settings` for those beside the network).
``Settings.resolve`` replaces every ``"auto"`` by what it means for a table, and the resolved
values travel with the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tabsoda.adviser_settings import ExpertSettings, RegressionSettings
from tabsoda.errors import InputError
from tabsoda.presets import PRESETS
from tabsoda.setting_groups import (
    BackboneSettings,
    EMSettings,
    EncodingSettings,
    LossSettings,
    NoiseSettings,
    SamplerSettings,
    SettingsBase,
    TemperatureSettings,
    TrainingSettings,
)


@dataclass(frozen=True)
class Settings(SettingsBase):
    """All settings of the default engine.

    Examples
    --------
    >>> Settings.preset("balanced").backbone.width
    192
    >>> Settings.preset("fast").replace(training={"max_steps": 200}).training.max_steps
    200
    """

    encoding: EncodingSettings = field(default_factory=EncodingSettings)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    backbone: BackboneSettings = field(default_factory=BackboneSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    em: EMSettings = field(default_factory=EMSettings)
    temperature: TemperatureSettings = field(default_factory=TemperatureSettings)
    experts: ExpertSettings = field(default_factory=ExpertSettings)
    regressions: RegressionSettings = field(default_factory=RegressionSettings)

    @property
    def has_heads(self) -> bool:
        """Whether the network answers through decoder heads."""
        return self.backbone.name != "mlp"

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
        is_tokens = self.backbone.name == "tokens"
        if is_tokens and self.backbone.width % self.backbone.attention_heads:
            raise InputError(
                "The setting backbone.attention_heads does not divide backbone.width",
                found=f"{self.backbone.attention_heads} and {self.backbone.width}",
            )
        self._check_heads()
        if self.sampler.noise_min >= self.sampler.noise_max:
            raise InputError(
                "The setting sampler.noise_min is not below sampler.noise_max",
                found=f"{self.sampler.noise_min:g} and {self.sampler.noise_max:g}",
            )

    def _check_heads(self) -> None:
        """Raise where settings need decoder heads that the network has not, or the other way."""
        if self.has_heads and self.training.conditioning != "clean":
            raise InputError(
                f"The backbone '{self.backbone.name}' needs training.conditioning='clean'",
                found=repr(self.training.conditioning),
            )
        needs = (
            ("sampler.draws", self.sampler.draws, "reverse"),
            ("experts.trees", self.experts.trees, "none"),
            ("regressions.sets", self.regressions.sets, 0),
            ("regressions.point_sets", self.regressions.point_sets, 0),
            ("backbone.members", self.backbone.members, 1),
            ("backbone.bootstrap", self.backbone.bootstrap, False),
        )
        for name, found, plain in needs:
            if not self.has_heads and found != plain:
                raise InputError(
                    f"The setting {name} needs decoder heads",
                    found=f"{found!r} with backbone.name='mlp'",
                    expected=f"{plain!r}, or another backbone",
                )
        if self.sampler.draws == "refitted" and self.regressions.sets == 0:
            raise InputError(
                "The setting sampler.draws='refitted' needs regressions",
                found="regressions.sets = 0",
                expected="at least 1; 10 are usual",
            )

    @classmethod
    def preset(cls, name: str) -> Settings:
        """Return ``"fast"``, ``"balanced"`` or ``"best"``, for a table of some thousand rows.

        See :func:`tabsoda.quality.settings_for` for other sizes, and
        :meth:`tabsoda.PaperSettings.preset` for the presets of the paper.
        """
        if name not in PRESETS:
            raise InputError(
                "There is no such preset",
                found=repr(name),
                expected=f"one of {', '.join(map(repr, PRESETS))}",
            )
        return cls().replace(**PRESETS[name])

    def resolve(self, n_columns: int, n_continuous: int) -> Settings:
        """Replace ``"auto"`` by its meaning for a table (the paper's 10 % rule)."""
        if self.encoding.standardizer_refresh != "auto":
            return self
        refresh = "once" if n_continuous >= 0.1 * n_columns else "each_round"
        return self.replace(encoding={"standardizer_refresh": refresh})
