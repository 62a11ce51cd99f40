"""Write all tables and plots of a study from its collected results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_json, write_text
from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.bench.studies.cells import without_nan
from tabsoda.bench.tables.clear_differences import (
    against_table,
    clear_by_survey_table,
    clear_table,
)
from tabsoda.bench.tables.collected import Series, group
from tabsoda.bench.tables.difference_plot import difference_plot
from tabsoda.bench.tables.frontier_plot import frontier_plot
from tabsoda.bench.tables.paper_tables import (
    ABLATION,
    PROBABILITY_METRICS,
    average_table,
    benchmark_table,
    difference_table,
    overall_table,
)
from tabsoda.bench.tables.replications import summarise
from tabsoda.bench.tables.table_formats import Table, write_all
from tabsoda.errors import InputError

# The methods that others are compared to, the first that ran.
_REFERENCES = ("default-engine", "tabsoda")
_MARKED = re.compile(r"(<!-- table: (?P<name>[\w./-]+) -->\n).*?(\n?<!-- end -->)", re.DOTALL)


def study_tables(document: Mapping[str, Any]) -> dict[str, Table]:
    """Build every table that a study's results allow, by name.

    Names are ``mar`` (mean ± SD), ``mar-se`` (mean ± SE), ``mar-gates``, ``mar-others``,
    ``mar-probabilities``, ``mar-mean``, ``mar-mean-others``, ``mar-ablation``,
    ``mar-differences`` and ``mar-overall``; for the other track ``mar-unresolved`` and so on.
    ``clear``, and ``clear-by-survey`` and ``against``, where replications give single surveys an
    interval, are of all mechanisms.
    """
    series = _in_order(document)
    tables: dict[str, Table] = {}
    for mechanism, track in dict.fromkeys((one.mechanism, one.track) for one in series):
        tables |= _condition_tables(series, mechanism, track)
    reference = reference_label(series)
    if reference is not None and (clear := clear_table(series, reference)).rows:
        tables["clear"] = clear
        if (by_survey := clear_by_survey_table(series, reference)).rows:
            tables["clear-by-survey"] = by_survey
            tables["against"] = against_table(series, reference)
    size = _size(document.get("study") or {})
    return {name: replace(table, title=table.title + size) for name, table in tables.items()}


def _size(study: Mapping[str, Any]) -> str:
    """Describe how much of each survey a study uses, if not all of it.

    Examples
    --------
    >>> _size({"rows": 4000, "columns": None})
    '; 4,000 rows at most'
    """
    limits = [f"{study[name]:,} {name}" for name in ("rows", "columns") if study.get(name)]
    return f"; {' and '.join(limits)} at most" if limits else ""


def summaries(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return mean, SD and SE of every metric, and the paired difference to the reference.

    One entry per survey, mechanism, track and method; None stands for NaN.
    """
    series = _in_order(document)
    reference = reference_label(series)
    entries = []
    for one in series:
        base = [o for o in series if o.condition == one.condition and o.label == reference]
        entry: dict[str, Any] = one.identity | {"seconds": summarise(one.seconds).to_dict()}
        entry["metrics"] = {
            name: summarise(list(one.values(name).values())).to_dict() for name in METRICS
        }
        if base and base[0] is not one:
            entry["minus"] = reference
            entry["differences"] = {n: one.minus(base[0], n).to_dict() for n in METRICS}
        entries.append(without_nan(entry))
    return entries


def reference_label(series: list[Series]) -> str | None:
    """Return the label of the method to compare with: the default engine, else TabSODA."""
    for method in _REFERENCES:
        for one in series:
            if one.method == method:
                return one.label
    return series[0].label if series else None


def write_report(document: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the results, tables and plots into a folder; return the files."""
    tables = study_tables(document)
    written = [folder / "results.json"]
    write_json(written[0], document)
    for form in ("md", "tex", "html"):
        written.append(folder / f"tables.{form}")
        write_text(written[-1], write_all(list(tables.values()), form))
    return written + write_plots(document, folder)


def write_plots(document: Mapping[str, Any], folder: Path, prefix: str = "") -> list[Path]:
    """Draw the paired differences of each mechanism and track into a folder."""
    series = _in_order(document)
    reference = reference_label(series)
    written: list[Path] = []
    if reference is None:
        return written
    for mechanism, track in dict.fromkeys((one.mechanism, one.track) for one in series):
        for metric in ("mace", "categorical_accuracy", "rmse"):
            name = f"{prefix}differences-{_name(mechanism, track)}-{metric}.svg"
            picture = difference_plot(series, reference, mechanism, metric, track=track)
            write_text(folder / name, picture)
            written.append(folder / name)
        name = f"{prefix}frontier-{_name(mechanism, track)}.svg"
        write_text(folder / name, frontier_plot(series, mechanism, track=track))
        written.append(folder / name)
    return written


def fill_page(text: str, tables: Mapping[str, Table]) -> str:
    r"""Put tables between the markers of a Markdown page.

    Examples
    --------
    >>> from tabsoda.bench.tables.table_formats import Entry
    >>> table = Table("T", ("a",), ((Entry("1"),),))
    >>> page = "Before.\n<!-- table: quick/mar -->\nold\n<!-- end -->\nAfter.\n"
    >>> print(fill_page(page, {"quick/mar": table}))
    Before.
    <!-- table: quick/mar -->
    **T**
    <BLANKLINE>
    | a |
    | :--- |
    | 1 |
    <!-- end -->
    After.
    <BLANKLINE>
    """

    def filled(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in tables:
            raise InputError(
                f"The page contains the table '{name}', which no results provide",
                expected=", ".join(sorted(tables)) or "no table",
                next_step="Run its study, or remove the marker",
            )
        body = write_all([tables[name]], "md").rstrip("\n")
        return f"<!-- table: {name} -->\n{body}\n<!-- end -->"

    return _MARKED.sub(filled, text)


def _in_order(document: Mapping[str, Any]) -> list[Series]:
    """Group the results, with methods and surveys in the order of their study."""
    study = document.get("study", {})
    surveys = list(study.get("surveys", ()))
    methods = [(entry["name"], entry["label"]) for entry in study.get("methods", ())]

    def place(one: Series) -> tuple[int, int]:
        fits = [
            i
            for i, (name, label) in enumerate(methods)
            if name == one.method and label in ("", one.label)
        ]
        survey = surveys.index(one.survey) if one.survey in surveys else len(surveys)
        return survey, fits[0] if fits else len(methods)

    return sorted(group(document["cells"]), key=place)


def _condition_tables(series: list[Series], mechanism: str, track: str) -> dict[str, Table]:
    name = _name(mechanism, track)
    here = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
    tables = {name: benchmark_table(series, mechanism, track=track)}
    tables[f"{name}-se"] = benchmark_table(series, mechanism, track=track, spread="se")
    for scope in ("gates", "others"):
        tables[f"{name}-{scope}"] = benchmark_table(series, mechanism, track=track, scope=scope)
    tables[f"{name}-probabilities"] = benchmark_table(
        series, mechanism, track=track, metrics=PROBABILITY_METRICS, title="Probabilities"
    )
    if len({one.survey for one in here}) > 1:
        tables[f"{name}-mean"] = average_table(series, mechanism, track=track)
        tables[f"{name}-mean-others"] = average_table(
            series, mechanism, track=track, scope="others"
        )
    if len({one.method for one in here if one.method in ABLATION}) > 1:
        tables[f"{name}-ablation"] = benchmark_table(
            series, mechanism, track=track, methods=ABLATION, title="Ablation"
        )
    reference = reference_label(series)
    if reference is not None:
        tables[f"{name}-differences"] = difference_table(series, reference, mechanism, track=track)
        tables[f"{name}-overall"] = overall_table(series, reference, mechanism, track=track)
    return tables


def _name(mechanism: str, track: str) -> str:
    return mechanism if track == "resolved" else f"{mechanism}-{track}"
