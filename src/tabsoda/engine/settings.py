"""The settings of the default engine: what each means, its default, and its allowed values."""

from __future__ import annotations

from dataclasses import dataclass, field

from tabsoda.errors import InputError
from tabsoda.settings_base import SettingGroup, SettingsBase, setting


@dataclass(frozen=True)
class NetworkSettings(SettingGroup):
    """The network that predicts hidden answers."""

    name: str = setting(
        "embedding",
        "learned vectors of all answers, summed (embedding), or one token per question with "
        "attention between questions (tokens)",
        choices=("embedding", "tokens"),
    )
    width: int = setting(192, "hidden width", low=4)
    depth: int = setting(2, "residual blocks or attention layers", low=0)
    attention_heads: int = setting(4, "attention heads; must divide the width (tokens)", low=1)
    dropout: float = setting(0.35, "share of hidden units dropped in training", low=0, high=0.95)
    members: int = setting(
        1, "networks trained from different starting weights; their answers are averaged", low=1
    )


@dataclass(frozen=True)
class LossSettings(SettingGroup):
    """Terms that are added to the log score of levels and the squared error of numbers."""

    ranked_probability: float = setting(
        0.5, "weight of the ranked probability score of ordinals", low=0
    )
    bins: float = setting(0.3, "weight of the log score of a number's bin", low=0)


@dataclass(frozen=True)
class TrainingSettings(SettingGroup):
    """How the network is trained."""

    batch_size: int = setting(256, "rows per training step", low=1)
    max_steps: int = setting(700, "training steps at most", low=1)
    epoch_steps: int = setting(50, "training steps between checks of the held-out loss", low=1)
    learning_rate: float = setting(2e-3, "highest learning rate of AdamW", above=0)
    weight_decay: float = setting(0.02, "weight decay of AdamW", low=0)
    patience: int = setting(4, "checks without a better held-out loss before training stops", low=1)
    held_out_share: float = setting(
        0.05,
        "share of each question's answers held out, to stop training, blend and calibrate",
        low=0,
        high=0.9,
    )


@dataclass(frozen=True)
class TreeEffort(SettingGroup):
    """Boosted trees, one model per question."""

    group = "trees"

    effort: str = setting(
        "full",
        "none, or how thoroughly trees are fitted",
        choices=("none", "quick", "full"),
    )


@dataclass(frozen=True)
class RegressionSettings(SettingGroup):
    """Chained regressions, for draws and for point estimates."""

    group = "regressions"

    sets: int = setting(
        10,
        "sets of regressions for draws, one regression per question, each set with its own drawn "
        "coefficients; draws take turns with them; 0: none",
        low=0,
    )
    rounds: int = setting(
        3, "times a set is fitted and the missing cells are redrawn before it is kept", low=1
    )
    row_share: float = setting(
        0.6,
        "share of the answered rows that a regression for draws is fitted to; below 1, "
        "coefficients vary more than they would if the regression were exactly right",
        above=0,
        high=1,
    )
    sweeps: int = setting(5, "times every question is redrawn from all others in a draw", low=1)
    point_sets: int = setting(
        5,
        "sets, fitted without held-out cells, that are blended into point estimates; 0: none",
        low=0,
    )
    interactions: bool = setting(
        True,
        "regressions for draws have the products and curves that the answers show: interactions "
        "and nonlinear effects",
    )
    max_questions: int = setting(24, "questions that a question is regressed on, at most", low=1)
    max_rows: int = setting(20_000, "rows that a set is fitted to, at most", low=100)
    max_levels: int = setting(
        40, "nominals with more levels are not regressed: the network draws them", low=2
    )


@dataclass(frozen=True)
class DrawSettings(SettingGroup):
    """How missing cells are drawn."""

    group = "draws"

    method: str = setting(
        "refitted",
        "from the network, question by question, each draw visible to the next (sequential), or "
        "these redrawn from the regressions (refitted)",
        choices=("sequential", "refitted"),
    )
    steps: int = setting(
        64, "groups of questions that the network draws one after the other, at most", low=1
    )
    block_rows: int = setting(
        4096, "rows estimated or drawn at a time; changes memory, not results", low=1
    )


@dataclass(frozen=True)
class EngineSettings(SettingsBase):
    """All settings of the default engine.

    Examples
    --------
    >>> EngineSettings().replace(training={"max_steps": 200}).training.max_steps
    200
    """

    network: NetworkSettings = field(default_factory=NetworkSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    trees: TreeEffort = field(default_factory=TreeEffort)
    regressions: RegressionSettings = field(default_factory=RegressionSettings)
    draws: DrawSettings = field(default_factory=DrawSettings)

    def __post_init__(self) -> None:
        network = self.network
        if network.name == "tokens" and network.width % network.attention_heads:
            raise InputError(
                "The setting network.width is not a multiple of network.attention_heads",
                found=f"{network.width} and {network.attention_heads}",
            )
        if self.draws.method == "refitted" and self.regressions.sets == 0:
            raise InputError(
                "The setting draws.method='refitted' needs regressions",
                found="regressions.sets = 0",
                expected="at least 1; 10 are usual",
            )
