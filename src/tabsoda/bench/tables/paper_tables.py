"""The paper's tables from results: benchmark and ablation per mechanism, differences, the miner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.bench.tables.collected import Series, over_surveys
from tabsoda.bench.tables.replications import PairedDifference, Summary, summarise
from tabsoda.bench.tables.table_formats import Entry, Table

# The columns of the paper's tables, in its order.
PAPER_METRICS = ("mace", "ordinal_accuracy", "categorical_accuracy", "nominal_accuracy", "rmse")
# The same, plus ordinals by their median.
MEAN_METRICS = (PAPER_METRICS[0], "mace_median", *PAPER_METRICS[1:])
PROBABILITY_METRICS = ("mace_median", "rps", "log_score", "calibration_error")
# The paper's method and its variants, as in its tables.
ABLATION = ("tabsoda-n", "tabsoda-skip", "tabsoda")
# Everything of this package; all others are baselines.
OWN_METHODS = (*ABLATION, "default-engine", "default-engine-skip")
HEADINGS = {
    "mace": "Ord. MACE",
    "mace_median": "Ord. MACE (median)",
    "ordinal_accuracy": "Ord. acc.",
    "ordinal_accuracy_median": "Ord. acc. (median)",
    "categorical_accuracy": "Cat. acc.",
    "nominal_accuracy": "Nom. acc.",
    "rmse": "Num. RMSE",
    "mae": "Num. MAE",
    "rmse_raw": "Num. RMSE (raw)",
    "mae_raw": "Num. MAE (raw)",
    "rps": "Ord. RPS",
    "log_score": "Log score",
    "calibration_error": "Calibration error",
}
_NONE = Entry("–")
_SCOPES = {"all": "", "gates": ", gates only", "others": ", without gates"}
_TRACKS = {"resolved": "", "unresolved": ", followers of hidden gates unresolved"}
_DIGITS = 3


def benchmark_table(
    series: Iterable[Series],
    mechanism: str,
    *,
    track: str = "resolved",
    scope: str = "all",
    metrics: Sequence[str] = PAPER_METRICS,
    methods: Sequence[str] | None = None,
    spread: str = "sd",
    title: str = "Imputation performance",
) -> Table:
    """Build the table of one mechanism: surveys and methods down, metrics across.

    Parameters
    ----------
    series : iterable of Series
    mechanism, track : str
    scope : {"all", "gates", "others"}
    metrics : sequence of str
    methods : sequence of str, optional
        Only these, by their registry names.
    spread : {"sd", "se"}
        The value after ±: the standard deviation over replications, as in the paper's tables, or
        the standard error of the mean, as in its appendix.
    title : str

    Returns
    -------
    Table
        Mean ± spread over replications, the best mean of each survey in bold; where fewer
        replications scored than ran, their number in brackets.
    """
    chosen = [
        one
        for one in series
        if (one.mechanism, one.track) == (mechanism, track)
        and (methods is None or one.method in methods)
    ]
    rows: list[tuple[Entry, ...]] = []
    for survey in dict.fromkeys(one.survey for one in chosen):
        here = [one for one in chosen if one.survey == survey]
        rows += _survey_rows(here, metrics, scope, spread)
    name = mechanism.upper() + _TRACKS[track] + _SCOPES[scope]
    replications = sorted({len(one.cells) for one in chosen})
    note = f"Mean ± {spread.upper()} over {_counted(replications)}; best mean in bold."
    if "rmse" in metrics or "mae" in metrics:
        note += " Numbers are standardised by the mean and SD of the answers shown."
    header = ("Survey", "Method", *map(heading, metrics), "Seconds")
    return Table(f"{title}, {name}", header, tuple(rows), note)


def average_table(
    series: Iterable[Series],
    mechanism: str,
    *,
    track: str = "resolved",
    scope: str = "all",
    metrics: Sequence[str] = MEAN_METRICS,
) -> Table:
    """Build a table of means over surveys, for the methods that ran on all of them."""
    chosen = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
    surveys = {one.survey for one in chosen}
    rows = []
    titles = dict.fromkeys(one.title for one in chosen)
    most = {s: max(len(o.cells) for o in chosen if o.survey == s) for s in surveys}
    complete = [
        t for t in titles if {o.survey: len(o.cells) for o in chosen if o.title == t} == most
    ]
    means = {
        (title, metric): _finite_mean(
            [summarise(_list(o, metric, scope)).mean for o in chosen if o.title == title]
        )
        for title in complete
        for metric in metrics
    }
    for title in complete:
        entries = [Entry(title)]
        for metric in metrics:
            best = best_mean([means[other, metric] for other in complete], metric)
            entries.append(_entry(means[title, metric], best))
        seconds = [np.mean(one.seconds) for one in chosen if one.title == title]
        rows.append((*entries, Entry(f"{np.mean(seconds):,.1f}")))
    name = mechanism.upper() + _TRACKS[track] + _SCOPES[scope]
    return Table(
        f"Mean over {len(surveys)} surveys, {name}",
        ("Method", *map(heading, metrics), "Seconds"),
        tuple(rows),
        "Methods that ran on every survey and replication; best in bold.",
        left=1,
    )


def difference_table(
    series: Iterable[Series],
    reference: str,
    mechanism: str,
    *,
    track: str = "resolved",
    metrics: Sequence[str] = PAPER_METRICS,
) -> Table:
    """Build a table of paired differences to a method, with 95 % intervals; clear ones in bold."""
    chosen = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
    rows = []
    for base in (one for one in chosen if one.label == reference):
        for one in chosen:
            if one.survey == base.survey and one.title != base.title:
                entries = [Entry(one.survey), Entry(one.title)]
                entries += [_gap_entry(one.minus(base, metric)) for metric in metrics]
                rows.append(tuple(entries))
    name = mechanism.upper() + _TRACKS[track]
    note = (
        f"Method minus {reference} on the same replications: mean and 95 % t interval; in bold "
        "where the interval excludes zero."
    )
    header = ("Survey", "Method", *map(heading, metrics))
    return Table(f"Paired differences to {reference}, {name}", header, tuple(rows), note)


def overall_table(
    series: Iterable[Series],
    reference: str,
    mechanism: str,
    *,
    track: str = "resolved",
    metrics: Sequence[str] = MEAN_METRICS,
) -> Table:
    """Build a table of paired differences to a method over surveys, each survey one unit."""
    chosen = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
    bases = {one.survey: one for one in chosen if one.label == reference}
    rows = []
    for title in dict.fromkeys(one.title for one in chosen if one.label != reference):
        own = [one for one in chosen if one.title == title]
        gaps = (over_surveys(own, bases, metric) for metric in metrics)
        rows.append((Entry(title), *map(_gap_entry, gaps)))
    name = mechanism.upper() + _TRACKS[track]
    note = (
        f"Method minus {reference}, averaged over replications within each survey: mean over "
        "surveys and 95 % t interval; in bold where the interval excludes zero."
    )
    header = ("Method", *map(heading, metrics))
    title = f"Paired differences to {reference} over surveys, {name}"
    return Table(title, header, tuple(rows), note, left=1)


def miner_table(results: Iterable[Mapping[str, Any]]) -> Table:
    """Build the miner's table from entries with survey, screen, counts and skip metrics."""
    keys = ("precision", "recall", "f1", "fpr", "accuracy")
    rows = []
    for entry in results:
        scores = entry["all_cells"]
        counts = [Entry(f"{entry[key]:,}") for key in ("variables", "mined", "rules", "conditions")]
        numbers = [_NONE if scores[k] is None else Entry(f"{scores[k]:.3f}") for k in keys]
        names = [Entry(str(entry[key])) for key in ("survey", "screen")]
        rows.append((*names, *counts, *numbers))
    counted = ("Vars", "Mined", "Rules", "Conditions")
    header = ("Survey", "Screen", *counted, "Prec.", "Rec.", "F1", "FPR", "Acc.")
    note = (
        "Rules have one target each. Conditions are rules as the paper counts them: one condition,"
        " and all the questions that it skips."
    )
    return Table("Skip masks mined, against the codebook's", header, tuple(rows), note)


def _survey_rows(
    chosen: list[Series], metrics: Sequence[str], scope: str, spread: str
) -> list[tuple[Entry, ...]]:
    summaries = {
        (one.title, metric): summarise(_list(one, metric, scope))
        for one in chosen
        for metric in metrics
    }
    rows = []
    for one in chosen:
        entries = [Entry(one.survey), Entry(one.title)]
        for metric in metrics:
            best = best_mean([summaries[other.title, metric].mean for other in chosen], metric)
            entries.append(summary_entry(summaries[one.title, metric], best, spread))
        entries.append(Entry(f"{np.mean(one.seconds):,.1f}"))
        rows.append(tuple(entries))
    return rows


def _list(one: Series, metric: str, scope: str) -> list[float]:
    return list(one.values(metric, scope).values())


def summary_entry(summary: Summary, best: float, spread: str = "sd") -> Entry:
    """Return mean ± spread, in bold if it is the best; with the replications that scored."""
    if not summary.n:
        return _NONE
    text = f"{summary.mean:.{_DIGITS}f}"
    if summary.n > 1:
        text += f" ± {getattr(summary, spread):.{_DIGITS}f}"
    if summary.n < summary.of:
        text += f" ({summary.n})"
    return Entry(text, bold=round(summary.mean, _DIGITS) == round(best, _DIGITS))


def _entry(mean: float, best: float) -> Entry:
    if np.isnan(mean):
        return _NONE
    return Entry(f"{mean:.{_DIGITS}f}", bold=round(mean, _DIGITS) == round(best, _DIGITS))


def _gap_entry(gap: PairedDifference) -> Entry:
    if not gap.n:
        return _NONE
    text = f"{gap.mean:+.{_DIGITS}f}"
    if gap.n > 1:
        text += f" [{gap.low:+.{_DIGITS}f}, {gap.high:+.{_DIGITS}f}]"
    return Entry(text, bold=gap.is_clear)


def best_mean(means: Iterable[float], metric: str) -> float:
    """Return the best of some means of a metric; NaN if none is finite."""
    finite = [mean for mean in means if np.isfinite(mean)]
    pick: Callable[[Sequence[float]], float] = max if METRICS[metric] else min
    return pick(finite) if finite else float("nan")


def _finite_mean(means: Sequence[float]) -> float:
    finite = [mean for mean in means if np.isfinite(mean)]
    return float(np.mean(finite)) if finite else float("nan")


def heading(metric: str, names: Mapping[str, str] = HEADINGS) -> str:
    """Return the heading of a metric's column: an arrow says which direction is better."""
    return f"{names[metric]} {'↑' if METRICS[metric] else '↓'}"


def _counted(counts: Sequence[int]) -> str:
    """Return the number of replications as text, from the sorted numbers that occur."""
    if not counts:
        return "no replication"
    most = counts[-1]
    number = str(most) if len(counts) == 1 else f"{counts[0]} to {most}"
    return f"{number} paired replication{'s' if most > 1 else ''}"
