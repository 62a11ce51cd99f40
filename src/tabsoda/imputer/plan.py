"""The plan of an imputation before anything is fitted: cells to impute, time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.event_texts import to_dicts_with_text
from tabsoda.survey import Survey

if TYPE_CHECKING:
    from tabsoda.cost.estimate import Cost
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.skips.rule_set import RuleSet


@dataclass(frozen=True, eq=False)
class ImputationPlan:
    """What would be imputed, and the time and memory it would take.

    Attributes
    ----------
    survey : Survey
        With the state of every cell determined.
    cost : Cost
        Estimated seconds and bytes.
    fillable : ndarray of bool, shape (n_questions,)
        Questions that can be imputed: somebody answered them, here or in the fit.
    rules : RuleSet or None
        The rules that draws follow; None without rules or with ``gate_policy="keep"``.
    """

    survey: Survey
    cost: Cost
    fillable: NDArray[np.bool_]
    rules: RuleSet | None

    def to_dict(self) -> dict[str, Any]:
        """Return the counts of every variable and the cost, as plain values.

        Missing cells of questions that nobody answered stay missing. Of the cells to impute, some
        are ``unresolved``: they depend on a missing answer, and draws that follow the rules skip
        or impute them.
        """
        from tabsoda.routing.unresolved import count_unresolved

        survey, states = self.survey, self.survey.states
        to_impute = states.missing & self.fillable
        unresolved = count_unresolved(survey.table, self.rules, self.fillable)
        counts = {
            "answered": states.answered.sum(axis=0),
            "skipped": states.skipped.sum(axis=0),
            "to_impute": to_impute.sum(axis=0),
            "unresolved": unresolved,
        }
        return {
            "rows": states.shape[0],
            "cells": states.states.size,
            "to_impute": int(to_impute.sum()),
            "unresolved": int(unresolved.sum()),
            "left_missing": int((states.missing & ~self.fillable).sum()),
            "variables": {
                column.name: {
                    "kind": column.kind.value,
                    **{name: int(count[position]) for name, count in counts.items()},
                }
                for position, column in enumerate(survey.table.columns)
            },
            "seconds": round(self.cost.seconds, 1),
            "memory_bytes": int(self.cost.memory_bytes),
            "events": to_dicts_with_text(survey.events),
        }


def plan_imputation(imputer: TabSODAImputer, survey: Survey, m: int) -> ImputationPlan:
    """Return the plan for a prepared survey.

    Parameters
    ----------
    imputer : TabSODAImputer
        Fitted or not.
    survey : Survey
        As :meth:`tabsoda.TabSODAImputer.prepare` returns it.
    m : int
        Number of draws.
    """
    rules = survey.rules if imputer.gate_policy == "follow" else None
    fillable: NDArray[np.bool_] = survey.states.answered.sum(axis=0) > 0
    if hasattr(imputer, "engine_"):
        # After the questions, the model has predictors of the sampling design.
        fillable = imputer.engine_.fillable[: survey.table.shape[1]]
    return ImputationPlan(
        survey, _cost(imputer, survey, m, follows=rules is not None), fillable, rules
    )


def _cost(imputer: TabSODAImputer, survey: Survey, m: int, *, follows: bool) -> Cost:
    from tabsoda.cost.estimate import estimate_cost
    from tabsoda.engines import plan_work, precision_of
    from tabsoda.torch_runtime.devices import matrix_precision, resolve_device

    table = survey.table
    device = resolve_device(imputer.device)
    settings = imputer.settings_for(*table.shape)
    plan, threads = plan_work(
        table,
        settings,
        m,
        device,
        fits=not hasattr(imputer, "engine_"),
        follows=follows,
    )
    return estimate_cost(plan, threads, device, matrix_precision(device, precision_of(settings)))
