"""Checks of an imputer's parameters, made before any work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.errors import InputError
from tabsoda.routing.policy import check_policy
from tabsoda.skips.review_policy import require_review

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer


def checked_parameters(imputer: TabSODAImputer) -> int:
    """Raise where a parameter is wrong or rules are not reviewed; return the seed."""
    imputer.settings_for(1, 1)
    seed = _checked_seed(imputer.random_state)
    if imputer.skips not in ("given", "mine"):
        raise InputError(
            "The parameter skips is not known", found=repr(imputer.skips), expected="given, mine"
        )
    check_policy(imputer.gate_policy)
    if imputer.skips == "mine" and imputer.rules is not None:
        raise InputError(
            "The parameter skips='mine' looks for rules, but rules are given already",
            next_step="Leave out skips='mine', or leave out rules",
        )
    if imputer.rules is not None:
        check_rules(imputer.rules, accepted=imputer.accept_unreviewed)
    return seed


def check_rules(rules: Any, *, accepted: bool) -> None:
    """Raise where rules are not a rule set, or not reviewed and not accepted as they are."""
    if not hasattr(rules, "apply"):
        raise InputError(
            "The parameter rules is not usable",
            found=type(rules).__name__,
            expected="a RuleSet",
            next_step="Read a file of rules by RuleSet.from_toml",
        )
    require_review(rules, accepted=accepted)


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return int(seed)
    raise InputError(
        "The parameter random_state is not usable",
        found=repr(seed),
        expected="a whole number, because noise is keyed by it",
    )
