"""The demo's imputation: impute the missing answers and score them against the true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tabsoda.cli.console import progress
from tabsoda.cli.rule_text import columns

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tabsoda.datasets import SyntheticSurvey
    from tabsoda.results.imputations import Imputations
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.survey import Survey

# The demo should take less than a minute.
QUALITY = "fast"
N_DRAWS = 5


def impute_survey(survey: Survey, rules: RuleSet, folder: Path) -> Imputations:
    """Impute with the fastest quality, and write the same files as ``tabsoda impute``."""
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.report.report import PAGE, write_report

    imputer = TabSODAImputer(
        quality=QUALITY,
        rules=rules,
        accept_unreviewed=True,
        random_state=1,
        n_imputations=N_DRAWS,
    )
    with progress("Fitting") as update:
        imputer.fit(survey, progress=update)
    with progress("Imputing") as update:
        result = imputer.impute(survey, progress=update)
    manifest = result.save(folder, force=True)
    with progress("Reporting") as update:
        write_report(result, folder / PAGE, manifest=manifest, imputer=imputer, progress=update)
    return result


def scores_against_truth(result: Imputations, truth: SyntheticSurvey) -> dict[str, Any]:
    """Score imputations, and the most frequent answer or the mean, against the true answers."""
    from tabsoda.bench.methods.contract import Estimates, SkipView
    from tabsoda.bench.methods.mode_mean import ModeMean
    from tabsoda.bench.metrics.imputation_metrics import score_estimates

    missing, left_empty = result.table.states.missing, np.isnan(result.point_values())
    scored = missing & ~truth.skipped & ~left_empty
    imputed = Estimates(result.point_values("mode"), result.point_values("median"), {})
    simple = ModeMean().impute(result.table, 0, SkipView.BLIND)
    pair = {
        name: score_estimates(truth.complete_table, result.table, estimates, scored)["all"]
        for name, estimates in (("imputed", imputed), ("mode_mean", simple))
    }
    wanted = ("nominal_accuracy", "ordinal_accuracy", "mace_median", "rmse")
    return {
        "scored": int(scored.sum()),
        "left_empty": int((missing & left_empty).sum()),
        "left_empty_rightly": int((missing & left_empty & truth.skipped).sum()),
        "skipped_in_truth": int((missing & truth.skipped & ~left_empty).sum()),
        **{
            side: {name: scores[name] for name in wanted if np.isfinite(scores[name])}
            for side, scores in pair.items()
        },
        "between_draws": _covered(result, truth, scored),
    }


def _covered(
    result: Imputations, truth: SyntheticSurvey, scored: NDArray[np.bool_]
) -> float | None:
    """Return how often a true number lies between its lowest and highest draw."""
    rows, positions = result.cells.rows, result.cells.positions
    numeric = np.array([not column.is_categorical for column in result.table.columns])
    chosen = numeric[positions] & scored[rows, positions]
    if not chosen.any():
        return None
    draws = result.cells.draws[:, chosen]
    answers = truth.complete[rows[chosen], positions[chosen]]
    return float(((draws.min(axis=0) <= answers) & (answers <= draws.max(axis=0))).mean())


def score_lines(scores: dict[str, Any]) -> tuple[str, ...]:
    """Return the comparison as lines of text."""
    names = {
        "nominal_accuracy": ("nominal answers, correct", "{:.1%}"),
        "ordinal_accuracy": ("ordinal answers, correct", "{:.1%}"),
        "mace_median": ("ordinal answers, mean error in levels", "{:.3f}"),
        "rmse": ("numbers, RMSE in standard deviations", "{:.3f}"),
    }
    rows = [["", "imputed", "mode/mean"]]
    for name, (text, form) in names.items():
        if name in scores["imputed"]:
            pair = (scores["imputed"][name], scores["mode_mean"][name])
            rows.append([text, *(form.format(value) for value in pair)])
    return tuple(f"  {line}" for line in columns(rows))
