"""The policy for questions that depend on a missing answer: follow the rules, or keep states."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import row_keys
from tabsoda.coding.engine import Engine
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells, Keep, keep_nothing
from tabsoda.progress import Progress
from tabsoda.routing.finished_draws import FinishedDraws, digest
from tabsoda.routing.following import GateFollowingImputer
from tabsoda.routing.record import RoutingRecord
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.unresolved import find_unresolved, reopened
from tabsoda.skips.rule_set import RuleSet
from tabsoda.survey import Survey
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class Gates:
    """How to impute rows with missing gates.

    Attributes
    ----------
    policy : {"follow", "keep"}
    rules : RuleSet or None
        Routing rules; None if there are none to follow.
    models : RouteModels or None
        Fitted to the rows to impute if None or fitted to other rules.
    """

    policy: str
    rules: RuleSet | None
    models: RouteModels | None

    def impute(
        self,
        engine: Engine,
        survey: Survey,
        n_draws: int,
        progress: Progress | None,
        events: EventLog,
        *,
        checkpoint: str | Path | None = None,
        occurrences: NDArray[np.int64] | None = None,
    ) -> tuple[Survey, ImputedCells, RoutingRecord | None]:
        """Impute a survey with the policy; return it with the states before imputation.

        Parameters
        ----------
        engine : Engine
        survey : Survey
            With the rules applied.
        n_draws : int
        progress : callable, optional
        events : EventLog
        checkpoint : path, optional
            Folder for finished draws; draws that the same call finished earlier are reused.
        occurrences : ndarray of int64, shape (n_rows,), optional
            How many equal rows come before each row, if these rows are part of a larger table.
        """
        given, survey = survey.table, self.reopened(engine, survey)
        table = survey.table
        keys = row_keys(table.values, table.states.states, occurrences)
        keep: Keep = keep_nothing
        if checkpoint is not None:
            # Needs pydantic, which is slow to import.
            from tabsoda.skips.rule_files import dump_rules

            rules = "" if self.rules is None else dump_rules(self.rules)
            # Everything that draws depend on: model, rows, rules and policy.
            key = digest(engine.fingerprint(), keys.tobytes(), str(n_draws), self.policy, rules)
            keep = FinishedDraws(Path(checkpoint), key)
        cells, record = self._impute(engine, given, table, n_draws, progress, events, keys, keep)
        if isinstance(keep, FinishedDraws) and keep.found:
            events.add("finished_draws_reused", draws=keep.found)
        return survey, cells, record

    def _impute(
        self,
        engine: Engine,
        given: CodedTable,
        table: CodedTable,
        n_draws: int,
        progress: Progress | None,
        events: EventLog,
        keys: NDArray[np.int64],
        keep: Keep,
    ) -> tuple[ImputedCells, RoutingRecord | None]:
        """Impute a table with the policy; ``given`` has the states before any were reopened."""
        if self.rules is None or self.policy == "keep":
            cells = engine.impute(table, n_draws, progress, events, keys=keys, keep=keep)
            if self.rules is None:
                if table.states.skipped.any() and self.policy == "follow":
                    events.add("states_kept_as_given")
                return cells, None
            open_cells = find_unresolved(table, self.rules, engine.fillable)
            gates, followers = int(open_cells.gates.sum()), int(open_cells.followers.sum())
            if gates:
                events.add("states_kept_despite_drawn_gates", gates=gates, followers=followers)
            return cells, RoutingRecord("keep", gates, followers)
        models = self.models
        if models is None or not models.fits(self.rules, table):
            models = RouteModels.fit(given, self.rules)
            events.add("routes_learned_from_rows_at_hand")
        follower = GateFollowingImputer(engine, self.rules, models)
        return follower.impute(table, n_draws, progress, events, keys=keys, keep=keep)

    def reopened(self, engine: Engine, survey: Survey) -> Survey:
        """Return the survey with cells missing again whose skip depends on a drawn gate."""
        if self.rules is None or self.policy == "keep" or survey.known_skips is None:
            return survey
        table = reopened(survey.table, self.rules, engine.fillable, survey.known_skips)
        return survey.with_states(table.states)
