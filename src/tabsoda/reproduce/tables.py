"""The paper's tables from this run, each number next to the printed one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabsoda.bench.studies.cells import OWN_VIEW
from tabsoda.bench.studies.study import Study
from tabsoda.bench.tables.collected import Series
from tabsoda.bench.tables.paper_tables import HEADINGS, best_mean, heading, summary_entry
from tabsoda.bench.tables.replications import Summary, summarise
from tabsoda.bench.tables.table_formats import Entry, Table
from tabsoda.reproduce.plan import METHODS, REPLICATIONS
from tabsoda.reproduce.printed import MINER_TABLE, printed_miner, printed_scores
from tabsoda.reproduce.sources import Source
from tabsoda.schema.column import ColumnKind
from tabsoda.survey import Survey

_METRICS = (
    "mace",
    "ordinal_accuracy",
    "categorical_accuracy",
    "nominal_accuracy",
    "rmse_raw",
    "rmse",
)
_HEADINGS = {**HEADINGS, "rmse_raw": "Raw RMSE", "rmse": "Std. RMSE"}
# The paper's RMSE is of raw values, although its text says otherwise.
_PRINTED_AS = {"rmse_raw": "rmse", "rmse": None}
_RUN, _PAPER = "this run", "paper"
_SCREENS = {"paper": "this run, paper's screen", "purity": "this run, default screen"}
_VIEWS = {"blind": "blank", "level": "a level"}
_NONE = Entry("–")


def comparison_table(
    source: Source,
    series: Iterable[Series],
    mechanism: str,
    methods: Sequence[str],
    title: str,
) -> Table:
    """Build a table of one mechanism: under each method's row, the paper's.

    Parameters
    ----------
    source : Source
    series : iterable of Series
    mechanism : str
    methods : sequence of str
        Registry names, in the order of the rows; all have a printed row.
    title : str

    Returns
    -------
    Table
        Mean ± SD over replications; the best mean of this run, and of the paper, in bold.
    """
    own = [one for one in series if one.mechanism == mechanism]
    ours = [(name, one) for name in methods for one in own if one.method == name]
    scores = {
        (one.title, metric): summarise(list(one.values(metric).values()))
        for _, one in ours
        for metric in _METRICS
    }
    printed = printed_scores(source.name, mechanism)
    theirs = {
        (name, metric): _printed(printed[name], metric) for name in methods for metric in _METRICS
    }
    one_view = len({one.skip_view for _, one in ours} - {OWN_VIEW}) < 2
    rows = []
    for name in methods:
        for _, one in (pair for pair in ours if pair[0] == name):
            cells = _entries([scores[one.title, m] for m in _METRICS], scores)
            shown = Entry(one.label if one_view else one.title)
            rows.append((Entry(source.label), shown, Entry(_RUN), *cells))
        cells = _entries([theirs[name, m] for m in _METRICS], theirs)
        rows.append((Entry(source.label), Entry(METHODS[name]), Entry(_PAPER), *cells))
    header = ("Survey", "Method", "Source", *(heading(m, _HEADINGS) for m in _METRICS))
    return Table(title, header, tuple(rows), _note(source, [s for _, s in ours]), left=3)


def miner_comparison(source: Source, runs: Sequence[Mapping[str, Any]]) -> Table:
    """Build the miner's table, by number of variables: both screens of this run, then the paper."""
    keys = ("precision", "recall", "f1", "fpr", "accuracy")
    printed = printed_miner(source.name)
    lines: list[tuple[Any, ...]] = []
    for run in runs:
        scores = run["all_cells"]
        counts = (run["variables"], run["mined"], run["rules"])
        lines.append((*counts, _SCREENS[run["screen"]], *(scores[key] for key in keys)))
    for row in printed:
        counts = (row["variables"], row["mined"], row["rules"])
        lines.append((*counts, _PAPER, *(row[key] for key in keys)))
    # Sorting keeps this run before the paper where both have the same number of variables.
    lines.sort(key=lambda line: line[0])
    rows = [
        (
            Entry(source.label),
            Entry(who),
            *(Entry(f"{count:,}") for count in (variables, mined, rules)),
            *(_NONE if value is None else Entry(f"{value:.3f}") for value in values),
        )
        for variables, mined, rules, who, *values in lines
    ]
    header = ("Survey", "Source", "Vars", "Mined", "Rules", "Prec.", "Rec.", "F1", "FPR", "Acc.")
    sizes = sorted({run["rows"] for run in runs})
    note = (
        f"Cells of {' or '.join(f'{size:,}' for size in sizes) or 'no'} respondents (paper: "
        f"{source.rows:,}). Rules: conditions, each counted once for all questions that it skips. "
        "The paper does not list its variables."
    )
    title = f"Skips mined on {source.label} against its codebook (the paper's Table {MINER_TABLE})"
    return Table(title, header, tuple(rows), note)


def _printed(scores: Mapping[str, list[float]], metric: str) -> Summary:
    name = _PRINTED_AS.get(metric, metric)
    if name is None:
        return summarise([])
    mean, sd = scores[name]
    return Summary(mean, sd, float("nan"), REPLICATIONS, REPLICATIONS)


def _entries(row: Sequence[Summary], every: Mapping[tuple[str, str], Summary]) -> list[Entry]:
    return [
        summary_entry(
            summary, best_mean((s.mean for (_, m), s in every.items() if m == metric), metric)
        )
        for metric, summary in zip(_METRICS, row, strict=True)
    ]


def _note(source: Source, series: Sequence[Series]) -> str:
    counts = sorted({len(one.cells) for one in series})
    number = " to ".join(str(count) for count in dict.fromkeys((*counts[:1], *counts[-1:])))
    rows = sorted({cell["shape"][0] for one in series for cell in one.cells.values()})
    here = " or ".join(f"{count:,}" for count in rows)
    note = "Mean ± SD; best in bold. No method of this table has run yet. "
    if series:
        note = (
            f"Mean ± SD; best of each source in bold. This run: {number} paired "
            f"replication{'s' * (counts != [1])} on {here} respondents; paper: {REPLICATIONS} on "
            f"{source.rows:,}. "
        )
    return note + (
        "The paper calls its RMSE standardised, but prints 13 to 72: it is listed as the RMSE of "
        "raw values."
    )


def settings_table(source: Source, survey: Survey, study: Study, notes: Sequence[str]) -> Table:
    """Build the table of what was run, next to what the paper reports."""
    n_rows = survey.table.shape[0]
    kinds = Counter(column.kind for column in survey.table.columns)
    lines = {
        "File": (survey.source, source.published.title),
        "Respondents in it": (f"{n_rows:,}", f"{source.rows:,}"),
        "Respondents used": (f"{min(n_rows, study.rows or n_rows):,}", f"{source.rows:,}"),
        "Variables": (_kinds(kinds), _kinds(source.kinds)),
        "Replications": (str(study.replications), str(REPLICATIONS)),
        "Mechanisms": (", ".join(m.value.upper() for m in study.mechanisms), "MAR, MCAR, MNAR"),
        "Skips in baselines": (" and ".join(_VIEWS[v.value] for v in study.skip_views), "blank"),
        "Seed": (str(study.seed), "not given"),
    }
    rows = tuple((Entry(what), Entry(here), Entry(paper)) for what, (here, paper) in lines.items())
    title = f"Data and settings, {source.label}"
    return Table(title, ("", "This run", "Paper"), rows, " ".join(notes), left=3)


def _kinds(counts: Mapping[ColumnKind, int]) -> str:
    each = ", ".join(f"{counts.get(kind, 0)} {kind.value}" for kind in ColumnKind)
    return f"{sum(counts.values())}: {each}"
