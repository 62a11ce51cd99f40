"""Mine the routing rules of a questionnaire, target by target in column order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.progress import Progress
from tabsoda.skips.forward import was_asked
from tabsoda.skips.gate_choice import ChosenRule, GateChoice
from tabsoda.skips.paper_screen import mine_as_in_the_paper
from tabsoda.skips.predictors import CellCodes
from tabsoda.skips.presence import Absence
from tabsoda.skips.purity import TargetRules, TargetSearch
from tabsoda.skips.recounting import recounted, screen_of
from tabsoda.skips.rules import Rival, SkipRule, targets_of
from tabsoda.skips.screening import evidence
from tabsoda.skips.settings import MinerSettings, PuritySettings
from tabsoda.skips.usable_gates import GateCodes, unusable_gates
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

SCREENS = ("purity", "paper")


@dataclass(frozen=True, eq=False)
class MinedSkips:
    """What the miner found.

    Attributes
    ----------
    rules : tuple of SkipRule
        In questionnaire order of their targets.
    states : CellStates
        The table's states, with the cells that the rules explain skipped, and those that were
        known to be skipped from codes or a mask. The same as ``RuleSet.apply`` gives.
    explained : ndarray of bool, shape (n_rows, n_columns)
        The skipped cells on which a rule fires, known before or not.
    events : EventLog
        Targets left out and why, candidates rejected and by which screen, rules dropped, skips
        withheld.
    absence : Absence or None
        When skips were withheld from ``states`` although a rule fires; None in the paper's screen.
    """

    rules: tuple[SkipRule, ...]
    states: CellStates
    explained: NDArray[np.bool_]
    events: EventLog
    absence: Absence | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The questions that the rules skip, each once, in questionnaire order."""
        return targets_of(self.rules)


class SkipMiner:
    """Finds which answers skip which questions, from blanks and the questionnaire's order.

    Parameters
    ----------
    settings : MinerSettings, optional
    screen : {"purity", "paper"}
        ``"purity"`` judges each rule by how rarely its target was asked where it fires, and lets
        it fire only where its gates were answered or themselves skipped. ``"paper"`` is the
        screen of Section 3.2 and Appendix A, which requires one rule to explain nearly all blanks.

    Notes
    -----
    A follow-up whose gate is itself missing stays missing: no earlier column shows whether the
    unknown answer would have skipped it. This is decided when the gate is imputed.

    Skips known from codes or a mask are skips from the start, as in ``check``, the review page and
    the imputer: a rule can use a skipped gate, and a skipped target counts as blank. To compare the
    mined rules with known skips, mine a table without them.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.schema import Column, ColumnKind
    >>> gate = Column("smokes", ColumnKind.NOMINAL, (1, 2))
    >>> follower = Column("per_day", ColumnKind.CONTINUOUS)
    >>> smokes = np.arange(1000) % 2
    >>> per_day = np.where(smokes == 0, 10.0, np.nan)
    >>> table = CodedTable.from_values((gate, follower), np.column_stack([smokes, per_day]))
    >>> mined = SkipMiner().mine(table)
    >>> [(rule.target, rule.any_of[0][0].levels) for rule in mined.rules]
    [('per_day', (2,))]
    >>> int(mined.states.skipped.sum())
    500
    """

    def __init__(self, settings: MinerSettings | None = None, *, screen: str = "purity") -> None:
        if screen not in SCREENS:
            raise InputError("Unknown screen", found=repr(screen), expected=" or ".join(SCREENS))
        self.settings = MinerSettings() if settings is None else settings
        self.screen = screen

    def mine(self, table: CodedTable, progress: Progress | None = None) -> MinedSkips:
        """Find the rules of every question.

        Parameters
        ----------
        table : CodedTable
            Columns in questionnaire order.
        progress : callable, optional
            Called as ``progress(done, total, column name)`` after each column.
        """
        progress = progress or _quiet
        asked = was_asked(table.states)
        events = EventLog()
        absence = None
        if self.screen == "paper":
            rules = mine_as_in_the_paper(table, asked, self.settings.paper, events, progress)
        else:
            purity = self.settings.purity
            absence = Absence(purity.quiet_run, purity.max_present_share)
            rules = mine_by_purity(table, asked, purity, events, progress)
        return self._agreed(rules, table, absence, events)

    def recount(self, mined: MinedSkips, table: CodedTable) -> MinedSkips:
        """Return mined rules with their counts on another table of the same questions.

        Used after mining without the known skips: the rules are counted on the table with them,
        and those that then fail the screen are dropped.

        Parameters
        ----------
        mined : MinedSkips
        table : CodedTable
        """
        events = EventLog([event for event in mined.events if event.kind != "skips_withheld"])
        return self._agreed(mined.rules, table, mined.absence, events)

    def _agreed(
        self,
        rules: tuple[SkipRule, ...],
        table: CodedTable,
        absence: Absence | None,
        events: EventLog,
    ) -> MinedSkips:
        passes = screen_of(self.screen, table, self.settings)
        rules, routing = recounted(rules, table, absence, passes, events)
        states = routing.states
        log_withheld(events, table.names, routing.explained & ~states.skipped)
        unexplained = int((table.states.skipped & ~routing.explained).sum())
        if unexplained:
            events.add("known_skips_kept", cells=unexplained)
        return MinedSkips(rules, states, routing.explained & states.skipped, events, absence)


def mine_by_purity(
    table: CodedTable,
    asked: NDArray[np.bool_],
    settings: PuritySettings,
    events: EventLog,
    progress: Progress,
) -> tuple[SkipRule, ...]:
    """Run the default screen over all columns and return its rules."""
    codes = CellCodes(table, settings.max_bins)
    unusable = unusable_gates(table, settings)
    for place, (different, answers) in unusable.items():
        name = table.names[place]
        events.add("column_not_used_as_gate", column=name, different=different, answers=answers)
    gates = GateCodes.of(codes, unusable)
    found: dict[int, TargetRules] = {}
    for target, name in enumerate(table.names):
        blank = ~asked[:, target]
        if target > 0 and not can_be_mined(blank, settings.min_support):
            log_not_mined(events, name, blank, settings.min_support)
        elif target > 0:
            found[target] = TargetSearch(codes, target, blank, settings, gates).run()
            codes.mark_skipped(target, found[target].fires & blank)
            log_rejected(events, name, found[target])
        progress(target + 1, len(table.names), name)
    chosen = GateChoice(codes, asked, settings).run(found)
    rules: list[SkipRule] = []
    for target, parts in chosen.items():
        rules += as_rules(codes, target, parts, len(rules))
    log_rivals(events, rules)
    return tuple(rules)


def can_be_mined(blank: NDArray[np.bool_], min_support: int) -> bool:
    """Whether a target has enough blanks for a rule, and was asked at all."""
    return bool(min_support <= blank.sum() < len(blank))


def log_not_mined(events: EventLog, name: str, blank: NDArray[np.bool_], min_support: int) -> None:
    """Log why a target cannot have rules; one without a blank needs none."""
    if blank.all():
        events.add("question_blank_in_every_row", column=name)
    elif blank.any():
        blanks = int(blank.sum())
        events.add("question_with_few_blanks", column=name, blanks=blanks, needed=min_support)


def as_rules(
    codes: CellCodes, target: int, chosen: list[ChosenRule], n_before: int
) -> list[SkipRule]:
    """Turn the rules found for a target into :class:`SkipRule` objects."""
    return [
        SkipRule(
            identifier=f"r{n_before + number + 1:03d}",
            target=codes.columns[target].name,
            any_of=(tuple(codes.describe(condition) for condition in rule.path),),
            evidence=evidence(rule.counts, rule.q_value),
            rivals=tuple(
                Rival(
                    (tuple(codes.describe(condition) for condition in path),),
                    counts.fired_blank,
                    counts.fired_asked,
                )
                for path, counts in rule.rivals
            ),
        )
        for number, rule in enumerate(chosen)
    ]


def log_rivals(events: EventLog, rules: list[SkipRule]) -> None:
    """Log where a gate was chosen among several that fit equally well."""
    for rule in rules:
        if rule.rivals:
            events.add(
                "other_gates_fit_as_well",
                column=rule.target,
                chosen=" and ".join(rule.gates),
                others=[" and ".join(rival.gates) for rival in rule.rivals],
            )


def log_withheld(events: EventLog, names: tuple[str, ...], withheld: NDArray[np.bool_]) -> None:
    """Log the number of skips withheld per question."""
    for place in np.flatnonzero(withheld.any(axis=0)):
        cells = int(withheld[:, place].sum())
        events.add("skips_withheld", column=names[place], cells=cells)


def log_rejected(events: EventLog, name: str, found: TargetRules) -> None:
    """Log how many candidates each screen rejected."""
    rejected = found.rejected
    if rejected:
        events.add(
            "candidate_rules_rejected",
            column=name,
            support=rejected.get("support"),
            purity=rejected.get("purity"),
            association=rejected.get("association"),
            redundant=rejected.get("redundant"),
        )


def _quiet(done: int, total: int, name: str) -> None:
    """Ignore progress."""
