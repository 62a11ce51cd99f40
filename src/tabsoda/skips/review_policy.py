"""The policy for unreviewed rules: refuse them, or apply and record them."""

from __future__ import annotations

from dataclasses import replace

from tabsoda.errors import RulesNotApprovedError
from tabsoda.progress import Progress
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import NOT_READ, RuleStatus
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

ACCEPTED = "accepted without review"
FROM_MODEL = "as they came with the model"
_SHOWN = 3


def unreviewed(rules: RuleSet) -> tuple[str, ...]:
    """Return the identifiers of the rules that are neither approved nor rejected."""
    return tuple(rule.identifier for rule in rules if rule.status is RuleStatus.PROPOSED)


def require_review(rules: RuleSet, *, accepted: bool, file: str | None = None) -> None:
    """Raise :class:`InputError` if rules are unreviewed, unless they are accepted as they are.

    A wrong rule permanently turns missing answers into skips, so a person must have reviewed it.

    Parameters
    ----------
    rules : RuleSet
    accepted : bool
        Use them without review.
    file : str, optional
        Where the rules were read from.

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> rules = make_survey(n_rows=100, n_columns=12).rules
    >>> require_review(rules, accepted=False)
    """
    waiting = unreviewed(rules)
    if not waiting or accepted:
        return
    more = len(waiting) - _SHOWN
    shown = ", ".join(waiting[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    where = "" if file is None else f" in '{file}'"
    raise RulesNotApprovedError(
        f"{len(waiting)} of {len(rules)} rules{where} are not reviewed",
        found=f"status proposed for {shown}",
        expected="every rule approved or rejected",
        next_step=f"Review them with: tabsoda review {file or 'RULES'} DATA, or add --accept-all"
        " (in Python: accept_unreviewed=True) to use them as they are",
    )


def approve_unread(
    rules: RuleSet,
    *,
    by: str,
    min_precision: float | None = None,
    table: CodedTable | None = None,
) -> tuple[RuleSet, list[str]]:
    """Approve unreviewed rules, and record that they were not read.

    Parameters
    ----------
    rules : RuleSet
    by : str
        Who accepts them.
    min_precision : float, optional
        Approve only rules whose precision is at least this high, by the lower bound of their
        evidence; all of them if not given.
    table : CodedTable, optional
        Recount the evidence on this table first.

    Returns
    -------
    rules : RuleSet
    approved : list of str
        Identifiers of the rules that were approved now.

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> from tabsoda.skips.mining import mine_rules
    >>> table = make_survey(n_rows=800, n_columns=12, seed=1).table
    >>> rules, approved = approve_unread(mine_rules(table), by="Ann", min_precision=0.9)
    >>> len(approved) == len(rules) - len(unreviewed(rules)) > 0
    True
    """
    if table is not None:
        rules = _counted(rules, table)
    least = 0.0 if min_precision is None else min_precision
    chosen = [
        rule.identifier
        for rule in rules
        if rule.status is RuleStatus.PROPOSED and 1 - rule.evidence.answered_upper >= least
    ]
    option = "--accept-all" if min_precision is None else f"--min-precision {min_precision:g}"
    return rules.approve(chosen, f"{option}, {NOT_READ}", by=by), chosen


def _counted(rules: RuleSet, table: CodedTable) -> RuleSet:
    """Return the rules, with the evidence of unreviewed ones counted on a table."""
    from tabsoda.skips.forward import route
    from tabsoda.skips.screening import evidence

    routing = route(rules, table)
    return rules.with_rules(
        replace(rule, evidence=evidence(routing.counts(rule), rule.evidence.q_value))
        for rule in rules
        if rule.status is RuleStatus.PROPOSED
    )


def apply_rules(survey: Survey, rules: RuleSet, how: str = ACCEPTED) -> Survey:
    """Return the survey with the cells that rules skip marked as skipped.

    Events record the number of cells, which rules are unreviewed and how many are rejected. A
    survey to which the same rules were already applied is returned unchanged; other rules start
    from the skips that were known before.

    Parameters
    ----------
    survey : Survey
    rules : RuleSet
    how : str
        Why unreviewed rules are applied.
    """
    if survey.rules is not None and (survey.rules is rules or survey.rules == rules):
        return survey
    table = survey.table
    if survey.known_skips is not None:
        table = table.with_states(table.states.with_skips(survey.known_skips))
    known, states = table.states.skipped, rules.apply(table)
    survey = survey.with_own_events()
    events = survey.events
    added = int(states.skipped.sum() - known.sum())
    events.add("skips_taken_from_rules", cells=added, rules=len(rules.active))
    waiting = unreviewed(rules)
    if waiting:
        events.add(
            "unreviewed_rules_applied",
            rules=len(waiting),
            of_rules=len(rules),
            why=how,
            identifiers=waiting,
        )
    rejected = len(rules) - len(rules.active)
    if rejected:
        events.add("rejected_rules_not_applied", rules=rejected)
    return replace(survey.with_states(states), rules=rules, known_skips=known)


def mine_and_apply(
    survey: Survey,
    miner: str = "default",
    *,
    screen: str = "purity",
    progress: Progress | None = None,
) -> Survey:
    """Mine the rules of a survey and apply them; events record that they are unreviewed.

    Parameters
    ----------
    survey : Survey
    miner : str
        A preset of the miner's settings.
    screen : {"purity", "paper"}
    progress : callable, optional
    """
    from tabsoda.skips.mining import mine_rules

    survey = survey.with_own_events()
    rules = mine_rules(survey, miner, screen=screen, events=survey.events, progress=progress)
    survey.events.add("rules_mined", rules=len(rules), screen=screen)
    return apply_rules(survey, rules)
