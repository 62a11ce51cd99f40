"""Mine the rule set of a survey, and record where its rules come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tabsoda._version import __version__
from tabsoda.progress import Progress
from tabsoda.skips.miner import MinedSkips, SkipMiner
from tabsoda.skips.rule_set import Provenance, RuleSet
from tabsoda.skips.settings import MinerSettings
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tabsoda.events import EventLog


@dataclass(frozen=True, eq=False)
class MiningResult:
    """The result of :func:`mine_survey`.

    Attributes
    ----------
    rules : RuleSet
        With the miner's settings in its provenance.
    mined : MinedSkips
        The states under these rules, and the miner's events.
    found : ndarray of bool, shape (n_rows, n_columns)
        Cells that the rules explain; found without known skips if these were ignored.
    """

    rules: RuleSet
    mined: MinedSkips
    found: NDArray[np.bool_]


def mine_rules(
    source: Survey | CodedTable,
    settings: MinerSettings | str | None = None,
    *,
    screen: str = "purity",
    events: EventLog | None = None,
    progress: Progress | None = None,
) -> RuleSet:
    """Mine the routing rules of a survey.

    The rules are not reviewed yet: use ``tabsoda review`` or :meth:`RuleSet.approve`.

    Parameters
    ----------
    source : Survey or CodedTable
        Skips known from codes or a mask are used in mining.
    settings : MinerSettings or str, optional
        The name of a preset, or settings.
    screen : {"purity", "paper"}
        How candidate rules are judged: by their own purity, or as in the paper.
    events : EventLog, optional
        Receives the miner's decisions.
    progress : callable, optional
        Called as ``progress(done, total, what)``.

    Examples
    --------
    >>> from tabsoda.datasets import make_survey
    >>> rules = mine_rules(make_survey(n_rows=800, n_columns=12, seed=1).table)
    >>> rules.provenance.n_rows, rules.provenance.settings["min_support"] > 0
    (800, True)
    """
    result = mine_survey(source, settings, screen=screen, progress=progress)
    if events is not None:
        events.extend(result.mined.events)
    return result.rules


def mine_survey(
    source: Survey | CodedTable,
    settings: MinerSettings | str | None = None,
    *,
    screen: str = "purity",
    ignore_known_skips: bool = False,
    progress: Progress | None = None,
) -> MiningResult:
    """Mine the routing rules, and return them with the states they imply.

    Parameters
    ----------
    source, settings, screen, progress
        As in :func:`mine_rules`.
    ignore_known_skips : bool
        Mine as if no skip were known, to compare what is found with a reference. The rules are
        counted on the survey as it is, as ``tabsoda check`` does.
    """
    chosen = _settings(settings)
    table = source.table if isinstance(source, Survey) else source
    miner = SkipMiner(chosen, screen=screen)
    mined = miner.mine(_without_skips(table) if ignore_known_skips else table, progress)
    found = mined.explained
    if ignore_known_skips:
        mined = miner.recount(mined, table)
    name = source.source if isinstance(source, Survey) else ""
    origin = Provenance(name, table.shape[0], screen, __version__, chosen.to_dict()[screen])
    return MiningResult(RuleSet.from_mined(mined, table.columns, origin), mined, found)


def _settings(settings: MinerSettings | str | None) -> MinerSettings:
    if isinstance(settings, MinerSettings):
        return settings
    return MinerSettings.preset(settings or "default")


def _without_skips(table: CodedTable) -> CodedTable:
    """Return the table with known skips turned into blanks."""
    return table.with_states(table.states.with_skips(np.zeros(table.shape, dtype=bool)))
