"""Every constant of the skip miner, with the paper's presets."""

from __future__ import annotations

from dataclasses import dataclass

from tabsoda.errors import InputError
from tabsoda.settings_base import SettingGroup, SettingsBase, setting


@dataclass(frozen=True)
class PuritySettings(SettingGroup):
    """The default screen: a rule is judged by how rarely its target was asked where it fires."""

    max_asked_share: float = setting(
        0.05, "largest Wilson upper bound of P(asked | the rule fires)", low=1e-6, high=1
    )
    max_relative_share: float = setting(
        0.2, "the same bound, relative to the share asked among all rows", low=1e-6, high=1
    )
    max_new_share: float = setting(
        0.1, "the same bound over the rows that no earlier rule of the target explains", high=1
    )
    max_new_relative_share: float = setting(
        0.5, "the same bound over those rows, relative to the share asked among them", high=1
    )
    level_significance: float = setting(
        0.05, "an answer joins a rule if its asked share lies below the overall one at this level"
    )
    min_support: int = setting(
        30, "blanks that a rule, and no other rule, must explain, per gate it uses", low=1
    )
    max_reason_share: float = setting(
        0.5,
        "largest Wilson upper bound of P(asked | reason) for a reason of fewer than min_support "
        "blanks; it joins a rule that does not pass without it",
        low=0,
        high=1,
    )
    false_discovery_rate: float = setting(
        0.01, "Benjamini-Hochberg threshold within a target", low=0, high=1
    )
    gain_tolerance: float = setting(
        0.005,
        "gates that explain at most this share less than the best count as equally good",
        low=0,
        high=1,
    )
    answer_tolerance: float = setting(
        0.01,
        "the same for gates whose rule names answers, not only that it was answered or skipped",
        low=0,
        high=1,
    )
    fellow_tolerance: float = setting(
        0.1,
        "share of a rule's blanks, marked as skips by codes, that naming the real gates may lose",
        low=0,
        high=1,
    )
    exception_cost: float = setting(
        1.0, "number of explained blanks that one exception cancels when gates are compared", low=0
    )
    max_compared: int = setting(30, "gates compared in detail with a rule's own gate", low=0)
    max_rivals: int = setting(5, "rivals listed with a rule", low=0)
    max_gate_levels: int = setting(50, "a nominal column with more answers is not a gate", low=2)
    min_level_size: int = setting(
        20, "a nominal gate has at least this many respondents per answer, on average", low=1
    )
    max_distinct_share: float = setting(
        0.9,
        "a numeric column is not a gate if a larger share of its answers are distinct",
        low=0,
        high=1,
    )
    max_bins: int = setting(256, "distinct values, or quantile bins, of a numeric gate", low=2)
    tree_depth: int = setting(
        12, "depth of the tree that searches for rules with several gates", low=1
    )
    tree_gates: int = setting(16, "gates that the tree may use", low=1)
    tree_chi_square: float = setting(
        10.0, "approximate chi-square that a split of the tree must reach", low=0
    )
    tree_rounds: int = setting(
        3, "how often the tree is refitted to the rows not yet explained", low=0
    )
    max_present_share: float = setting(
        0.05, "largest Wilson upper bound of P(answered | quiet) that shows absence", low=0, high=1
    )
    quiet_run: int = setting(
        5, "unexplained blanks in a row after which a respondent may have been absent", low=1
    )


@dataclass(frozen=True)
class PaperScreenSettings(SettingGroup):
    """The paper's screen (Appendix A); defaults are those of PATH, NSDUH-50 and NSDUH-100."""

    group = "paper"

    tree_depth: int = setting(4, "D_max: depth of the CART", low=1)
    answered_weight: float = setting(2.0, "W: class weight of answered rows", low=0)
    blank_weight: float = setting(1.0, "W: class weight of blank rows", low=0)
    min_leaf: int = setting(30, "n_min^abs: absolute minimum support", low=1)
    min_support_fraction: float = setting(0.02, "phi_min: minimum support, share of rows", low=0)
    max_false_positive_rate: float = setting(0.007, "eta_FPR^0: base false-positive cap", low=0)
    max_false_negative_rate: float = setting(0.02, "eta_FNR^0: base false-negative cap", low=0)
    false_negative_ceiling: float = setting(0.05, "eta_FNR^ceil: limit of all relaxations", low=0)
    position_false_positive: float = setting(0.2, "alpha_FPR: late-item relaxation", low=0)
    position_false_negative: float = setting(0.5, "alpha_FNR: late-item relaxation", low=0)
    position_support: float = setting(0.25, "alpha_n: late-item relaxation of support", low=0)
    support_floor: float = setting(0.75, "beta_n: floor of support relative to n_min^abs", low=0)
    false_discovery_rate: float = setting(0.01, "q_BH: Benjamini-Hochberg threshold", low=0)
    confidence_z: float = setting(1.96, "z of the Wilson bounds", low=0)
    neighbor_distance: int = setting(8, "columns a rule may extend to, either way", low=0)
    neighbor_false_positive: float = setting(1.5, "relaxation of eta_FPR^0 for neighbours", low=0)
    neighbor_false_negative: float = setting(2.0, "relaxation of eta_FNR^0 for neighbours", low=0)
    quantile_bins: int = setting(8, "thresholds offered per numeric question", low=2)


@dataclass(frozen=True)
class MinerSettings(SettingsBase):
    """Settings of both screens.

    Examples
    --------
    >>> MinerSettings.preset("nsduh-200").paper.min_support_fraction
    0.005
    >>> MinerSettings().replace(paper={"tree_depth": 3}).paper.tree_depth
    3
    """

    purity: PuritySettings = PuritySettings()
    paper: PaperScreenSettings = PaperScreenSettings()

    @classmethod
    def preset(cls, name: str) -> MinerSettings:
        """Return the settings of a named preset (see :data:`PRESETS`)."""
        if name not in PRESETS:
            raise InputError(
                "Unknown preset of the miner",
                found=repr(name),
                expected=", ".join(sorted(PRESETS)),
            )
        return PRESETS[name]


# (phi_min, eta_FPR^0, eta_FNR^0) of Appendix A. A false-positive cap of .007 needs 545 answered
# rows even if the rule makes no error, so a small survey needs wider caps to find any rules.
PRESETS: dict[str, MinerSettings] = {
    "default": MinerSettings(),
    "path": MinerSettings(),
    "nsduh-50": MinerSettings(),
    "nsduh-100": MinerSettings(),
    "nsduh-200": MinerSettings().replace(
        paper={"min_support_fraction": 0.005, "max_false_negative_rate": 0.05}
    ),
    "small-survey": MinerSettings().replace(
        purity={"max_asked_share": 0.1, "max_new_share": 0.2, "min_support": 15},
        paper={
            "max_false_positive_rate": 0.05,
            "max_false_negative_rate": 0.10,
            "false_negative_ceiling": 0.20,
            "min_leaf": 10,
        },
    ),
}
