"""Routing in the data that a set of rules does not state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabsoda.skips.forward import route
from tabsoda.skips.mining import mine_rules
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.settings import MinerSettings
from tabsoda.table import CodedTable


@dataclass(frozen=True)
class UnstatedRule:
    """A mined rule for blanks that the given rules leave unexplained.

    Attributes
    ----------
    target, sentence : str
    fired, asked : int
        Respondents on whom it fires, and those among them who were asked.
    explains : int
        Blanks that it explains and the given rules do not.
    """

    target: str
    sentence: str
    fired: int
    asked: int
    explains: int


def unstated_rules(
    table: CodedTable, rules: RuleSet, settings: MinerSettings | str | None = None
) -> tuple[UnstatedRule, ...]:
    """Mine a table whose known routing is given, and return what the given rules do not state.

    Parameters
    ----------
    table : CodedTable
    rules : RuleSet
        Such as those of a questionnaire form.
    settings : MinerSettings or str, optional
        A rule is returned if it explains at least as many further blanks as the miner requires.

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> survey = make_survey(n_rows=800, n_columns=12, seed=1)
    >>> mined = mine_rules(survey.table)
    >>> unstated_rules(survey.table, mined)
    ()
    >>> first = mined.rules[0]
    >>> found = unstated_rules(survey.table, mined.reject(first.identifier))
    >>> first.target in {rule.target for rule in found}
    True
    """
    chosen = (
        settings
        if isinstance(settings, MinerSettings)
        else MinerSettings.preset(settings or "default")
    )
    given = route(rules, table)
    open_blanks = given.states.missing & ~given.asked
    seen = table.with_states(given.states)
    mined = mine_rules(seen, chosen)
    routing = route(mined, seen)
    found = []
    for rule in mined:
        target = table.names.index(rule.target)
        fires = routing.fired[rule.identifier]
        explains = int((fires & open_blanks[:, target]).sum())
        if explains >= chosen.purity.min_support:
            asked = int(np.count_nonzero(fires & routing.asked[:, target]))
            found.append(
                UnstatedRule(rule.target, mined.sentence(rule), int(fires.sum()), asked, explains)
            )
    return tuple(found)
