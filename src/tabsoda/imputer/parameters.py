"""Checks of an imputer's parameters before the fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.engine.interactions import Interactions, forced_questions
from tabsoda.errors import InputError
from tabsoda.progress import Progress
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.review_policy import mine_and_apply, require_review
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.settings import MinerSettings
from tabsoda.survey import InputFile, Survey

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer


_SCREEN, _MINER = "purity", "default"
# Parameters with few values.
_CHOICES = {
    "skips": ("given", "mine"),
    "gate_policy": ("follow", "keep"),
    "edit_policy": ("missing", "unconstrained"),
}


@dataclass(frozen=True)
class GivenRules:
    """The rules given by a parameter, and the file they were read from, if any."""

    rules: RuleSet | None = None
    files: dict[str, InputFile] = field(default_factory=dict)


def check_parameters(imputer: TabSODAImputer) -> GivenRules:
    """Raise if a parameter is invalid or rules are unreviewed; return the rules."""
    imputer.settings_for(1, 1)
    checked_seed(imputer.random_state)
    check_choices(imputer)
    if imputer.skips == "mine" and imputer.rules is not None:
        raise InputError(
            "The parameter skips='mine' cannot be combined with rules",
            next_step="Leave out skips='mine', or leave out rules",
        )
    check_mining(imputer)
    return read_rules(imputer.rules, accepted=imputer.accept_unreviewed)


def check_choices(imputer: TabSODAImputer) -> None:
    """Raise if a parameter is not one of its few values."""
    for name, choices in _CHOICES.items():
        value = getattr(imputer, name)
        if value not in choices:
            raise InputError(
                f"The parameter {name} has an unknown value",
                found=repr(value),
                expected=", ".join(choices),
            )


def check_mining(imputer: TabSODAImputer) -> None:
    """Raise if the screen or the miner's preset is unknown, or nothing is mined."""
    for name in ("screen", "miner"):
        if getattr(imputer, name) is not None and imputer.skips != "mine":
            raise InputError(
                f"The parameter {name} is for mining, but skips are not mined",
                found=f"{name}={getattr(imputer, name)!r} with skips={imputer.skips!r}",
                next_step=f"Add skips='mine', or leave out {name}",
            )
    if imputer.skips == "mine":
        SkipMiner(MinerSettings.preset(imputer.miner or _MINER), screen=imputer.screen or _SCREEN)


def mined_survey(
    survey: Survey, screen: str | None, miner: str | None, progress: Progress | None
) -> Survey:
    """Return the survey under mined rules; one that has rules already keeps them.

    Raises if these rules were mined in another way than the parameters say.
    """
    if survey.rules is None:
        return mine_and_apply(survey, miner or _MINER, screen=screen or _SCREEN, progress=progress)
    origin = survey.rules.provenance
    if screen not in (None, origin.screen):
        raise InputError(
            "The survey's rules were found by a different screen from the parameter screen",
            found=repr(origin.screen),
            expected=repr(screen),
            next_step="Give the survey without rules, or leave out screen",
        )
    if miner is not None and MinerSettings.preset(miner).to_dict()[origin.screen] != (
        origin.settings
    ):
        raise InputError(
            "The survey's rules were mined with different settings from the parameter miner",
            expected=repr(miner),
            next_step="Give the survey without rules, or leave out miner",
        )
    return survey


def check_terms(interactions: Interactions, survey: Survey) -> None:
    """Raise if a term of the parameter interactions is not a product of the survey's questions."""
    others: dict[str, str] = {}
    if not survey.is_array:
        # Columns of the file that the description does not mention are ignored.
        others = dict.fromkeys(survey.frame.columns, "ignore")
        others |= {column.name: column.role.value for column in survey.schema}
    forced_questions(interactions, survey.table.columns, others)


def read_rules(rules: Any, *, accepted: bool) -> GivenRules:
    """Read rules if a file is given; raise if they are neither reviewed nor accepted.

    Parameters
    ----------
    rules : RuleSet, path or None
    accepted : bool
        Use rules without a review.
    """
    if rules is None:
        return GivenRules()
    if isinstance(rules, str | Path):
        read = RuleSet.from_toml(rules)
        require_review(read, accepted=accepted, file=str(rules))
        return GivenRules(read, {"rules": InputFile.of(rules)})
    if not isinstance(rules, RuleSet):
        raise InputError(
            "The parameter rules is invalid",
            found=type(rules).__name__,
            expected="a RuleSet, or the path of a rules file",
        )
    require_review(rules, accepted=accepted)
    return GivenRules(rules)


def checked_seed(seed: Any) -> int:
    """Return the seed as an int; raise if it is not a whole number."""
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return int(seed)
    raise InputError(
        "The parameter random_state is invalid",
        found=repr(seed),
        expected="a whole number, because random numbers are keyed by it",
    )
