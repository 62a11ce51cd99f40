"""The whole report as one dictionary of plain values, for the page and the JSON file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tabsoda._version import __version__
from tabsoda.errors import InputError
from tabsoda.progress import Progress
from tabsoda.report.calibration import overimpute
from tabsoda.report.convergence import describe_convergence
from tabsoda.report.decisions import gate_conflicts, group_events
from tabsoda.report.flags import find_flags
from tabsoda.report.methods import describe_methods
from tabsoda.report.routing import describe_rules
from tabsoda.report.sensitivity import describe_analyses
from tabsoda.report.state_map import state_map
from tabsoda.report.strata import make_strata
from tabsoda.report.suppression import (
    plain,
    withhold,
    withhold_alone,
    withhold_in_text,
    withhold_named,
)
from tabsoda.report.variables import describe_variables

if TYPE_CHECKING:
    from tabsoda.analysis import Sensitivity
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.results.imputations import Imputations

_STEPS = 4


def summarise_result(
    result: Imputations,
    *,
    manifest: dict[str, Any] | None = None,
    imputer: TabSODAImputer | None = None,
    strata: Iterable[str] = (),
    suppress_below: int = 0,
    sensitivity: Iterable[Sensitivity] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Summarise a result for people and programs.

    Parameters
    ----------
    result : Imputations
    manifest : dict, optional
        The record of the run by ``tabsoda impute``.
    imputer : TabSODAImputer, optional
        The fitted imputer: adds the rules and the calibration.
    strata : iterable of str
        Columns whose groups are also compared.
    suppress_below : int
        Counts from 1 to this minus 1 are withheld.
    sensitivity : iterable of Sensitivity
        Sensitivity analyses of this result.
    progress : callable, optional

    Returns
    -------
    dict
        ``source``, ``counts``, ``draws``, ``flags``, ``map``, ``routing``, ``variables``,
        ``convergence``, ``calibration``, ``sensitivity``, ``conflicts``, ``events`` and
        ``methods``; None for a part without content.
    """
    if suppress_below < 0:
        raise InputError(
            "The limit for small counts is negative",
            found=str(suppress_below),
            expected="0 or more",
        )
    update = progress or (lambda done, total, what: None)
    groups = make_strata(result, strata)
    rules = getattr(imputer, "rules_", None) if imputer is not None else None
    update(0, _STEPS, "cells")
    summary: dict[str, Any] = {
        "tabsoda": __version__,
        "source": "" if result.survey is None else result.survey.source,
        "suppressed_below": suppress_below,
        "draws": len(result),
        "counts": _counts(result, suppress_below),
        "map": state_map(result.table.states, suppress_below),
        "routing": None if rules is None else describe_rules(rules, suppress_below),
    }
    update(1, _STEPS, "variables")
    summary["strata"] = {by: list(found) for by, found in groups.items()}
    summary["variables"] = describe_variables(result, groups, suppress_below)
    summary["convergence"] = describe_convergence(result.history)
    update(2, _STEPS, "overimputing answers")
    summary["calibration"] = (
        None if imputer is None else _calibration(imputer, result, suppress_below)
    )
    summary["sensitivity"] = describe_analyses(sensitivity, suppress_below) or None
    summary["conflicts"] = gate_conflicts(result.events, result.routing, rules, suppress_below)
    summary["events"] = group_events(result.events, suppress_below)
    methods = describe_methods(result, manifest, rules)
    methods["paragraph"] = withhold_in_text(methods["paragraph"], suppress_below)
    summary["methods"] = methods
    summary = plain(summary)
    summary["flags"] = find_flags(summary)
    update(_STEPS, _STEPS, "")
    return summary


def _calibration(
    imputer: TabSODAImputer, result: Imputations, suppress_below: int
) -> dict[str, Any] | None:
    """Impute some known answers again, with everything that the model sees."""
    table = result.table
    if result.survey is not None:
        table = imputer.as_modelled(replace(result.survey, table=result.table)).table
    return overimpute(
        imputer.engine_,
        table,
        suppress_below=suppress_below,
        n_questions=result.table.shape[1],
    )


def _counts(result: Imputations, suppress_below: int) -> dict[str, int | None]:
    states = result.table.states
    missing, imputed = int(states.missing.sum()), len(result.cells.rows)
    incomplete = int(states.missing.any(axis=1).sum())
    # Counts that add up to a total are withheld together: all cells, missing cells, rows.
    answered, skipped = int(states.answered.sum()), int(states.skipped.sum())
    kinds = withhold_named(
        {"answered": answered, "missing": missing, "skipped": skipped}, suppress_below
    )
    parts = withhold_named({"imputed": imputed, "left_missing": missing - imputed}, suppress_below)
    if kinds["missing"] is None:
        parts = dict.fromkeys(parts)
    complete, _ = withhold([states.shape[0] - incomplete, incomplete], suppress_below)
    return {
        "rows": withhold_alone(states.shape[0], suppress_below),
        "questions": states.shape[1],
        **kinds,
        **parts,
        "complete_rows": complete,
    }
