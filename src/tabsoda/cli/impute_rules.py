"""The options of ``tabsoda impute`` about rules, and what they allow."""

from __future__ import annotations

from tabsoda.errors import RulesNotApprovedError


def require_accepted_mining(*, mine: bool, accept_all: bool) -> None:
    """Raise where rules would be mined and used at once, and the user did not accept that."""
    if mine and not accept_all:
        raise RulesNotApprovedError(
            "The option --mine finds rules that nobody has reviewed yet",
            expected="--mine together with --accept-all",
            next_step="Add --accept-all to use them as they are; or run tabsoda mine, then tabsoda"
            " review, and give the file with --rules",
        )
