"""Checks of an imputer's parameters before the fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.edits.record import check_edit_policy
from tabsoda.engine.interactions import Interactions, forced_questions
from tabsoda.errors import InputError
from tabsoda.routing.policy import check_policy
from tabsoda.skips.review_policy import require_review
from tabsoda.skips.rule_set import RuleSet
from tabsoda.survey import InputFile, Survey

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer


@dataclass(frozen=True)
class GivenRules:
    """The rules given by a parameter, and the file they were read from, if any."""

    rules: RuleSet | None = None
    files: dict[str, InputFile] = field(default_factory=dict)


def check_parameters(imputer: TabSODAImputer) -> GivenRules:
    """Raise if a parameter is invalid or rules are unreviewed; return the rules."""
    imputer.settings_for(1, 1)
    checked_seed(imputer.random_state)
    if imputer.skips not in ("given", "mine"):
        raise InputError(
            "The parameter skips has an unknown value",
            found=repr(imputer.skips),
            expected="given, mine",
        )
    check_policy(imputer.gate_policy)
    check_edit_policy(imputer.edit_policy)
    if imputer.skips == "mine" and imputer.rules is not None:
        raise InputError(
            "The parameter skips='mine' cannot be combined with rules",
            next_step="Leave out skips='mine', or leave out rules",
        )
    return read_rules(imputer.rules, accepted=imputer.accept_unreviewed)


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
