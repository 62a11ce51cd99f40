"""Which rules ``tabsoda impute`` may use, and what it records of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabsoda.cli.console import progress
from tabsoda.errors import RulesNotApprovedError

if TYPE_CHECKING:
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.survey import Survey

_SHOWN = 3
_ACCEPTED = "accepted by --accept-all"


def unreviewed(rules: RuleSet) -> tuple[str, ...]:
    """Return the identifiers of the rules that nobody has approved or rejected."""
    from tabsoda.skips.rules import RuleStatus

    return tuple(rule.identifier for rule in rules if rule.status is RuleStatus.PROPOSED)


def require_review(rules: RuleSet, file: str, *, accept_all: bool) -> None:
    """Raise where rules were not reviewed, unless all are accepted.

    A wrong rule turns missing answers into skips for good, so somebody has to have looked.
    """
    waiting = unreviewed(rules)
    if not waiting or accept_all:
        return
    more = len(waiting) - _SHOWN
    shown = ", ".join(waiting[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    raise RulesNotApprovedError(
        f"{len(waiting)} of {len(rules)} rules in '{file}' are not reviewed",
        found=f"status proposed for {shown}",
        expected="every rule approved or rejected",
        next_step=f"Review them with: tabsoda review {file} DATA, or add --accept-all to use"
        " them as they are",
    )


def require_accepted_mining(*, mine: bool, accept_all: bool) -> None:
    """Raise where rules would be found and used at once without a word that this is wanted."""
    if mine and not accept_all:
        raise RulesNotApprovedError(
            "The option --mine finds rules that nobody has reviewed yet",
            expected="--mine together with --accept-all",
            next_step="Add --accept-all to use them as they are; or run tabsoda mine, then tabsoda"
            " review, and give the file with --rules",
        )


def apply_rules(source: Survey, rules: RuleSet, *, from_model: bool) -> Survey:
    """Mark what rules skip, and record which of them nobody has looked at."""
    states = rules.apply(source.table)
    added = int(states.skipped.sum() - source.states.skipped.sum())
    source.events.add(
        "skips", "skips taken from rules", detail=f"{added} cells by {len(rules.active)} rules"
    )
    record_unreviewed(source, rules, "as they came with the model" if from_model else _ACCEPTED)
    rejected = len(rules) - len(rules.active)
    if rejected:
        source.events.add("skips", "rejected rules not applied", detail=f"{rejected} rules")
    return source.with_states(states)


def mine_rules(source: Survey) -> tuple[Survey, RuleSet]:
    """Mine the rules and mark what they skip; all are recorded as not reviewed."""
    from tabsoda._version import __version__
    from tabsoda.skips.miner import SkipMiner
    from tabsoda.skips.rule_set import Provenance, RuleSet

    with progress("Mining") as report:
        found = SkipMiner().mine(source.table, report)
    source.events.extend(found.events)
    source.events.add("skips", "rules mined", detail=f"{len(found.rules)} rules")
    origin = Provenance(source.source, source.table.shape[0], "purity", __version__)
    rules = RuleSet.from_mined(found, source.table.columns, origin)
    record_unreviewed(source, rules, _ACCEPTED)
    return source.with_states(found.states), rules


def record_unreviewed(source: Survey, rules: RuleSet, how: str) -> None:
    """Record which rules are used that nobody has looked at, and how that came about."""
    waiting = unreviewed(rules)
    if waiting:
        detail = f"{len(waiting)} of {len(rules)} rules, {how}: {', '.join(waiting)}"
        source.events.add("skips", "unreviewed rules applied", detail=detail)
