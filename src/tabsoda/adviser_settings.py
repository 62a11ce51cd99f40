"""The settings of those who answer beside the network: tree experts and regressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tabsoda.setting_groups import SettingGroup, setting


@dataclass(frozen=True)
class ExpertSettings(SettingGroup):
    """Boosted trees beside the network, one model a column; needs decoder heads."""

    group: ClassVar[str] = "experts"

    trees: str = setting(
        "none",
        "none, or how thoroughly trees are grown; their answers and the network's are blended "
        "with weights chosen on held-out cells",
        choices=("none", "quick", "full"),
    )


@dataclass(frozen=True)
class RegressionSettings(SettingGroup):
    """Regressions between the columns, for draws and beside the network; needs decoder heads."""

    group: ClassVar[str] = "regressions"

    sets: int = setting(
        0,
        "sets of regressions, one a column, each with coefficients drawn anew; draws take turns "
        "with them; 0: none",
        low=0,
    )
    rounds: int = setting(
        3, "times a set is fitted and the missing cells are drawn anew, before it is kept", low=1
    )
    row_share: float = setting(
        0.6,
        "rows that a regression of draws goes by, as a share of those answered; below 1 its "
        "coefficients vary more than they would if the regression were exactly right",
        above=0,
        high=1,
    )
    sweeps: int = setting(5, "times every column is drawn from all others (refitted draws)", low=1)
    point_sets: int = setting(
        0,
        "sets, fitted without held-out cells, whose answers are blended into point estimates; "
        "0: none",
        low=0,
    )
    max_questions: int = setting(24, "columns that a column is regressed on, at most", low=1)
    max_rows: int = setting(20_000, "rows that a set is fitted to, at most", low=100)
    max_levels: int = setting(
        40, "nominals with more levels are not regressed: the network draws them", low=2
    )
