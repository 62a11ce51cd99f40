"""From the public-use file of a survey to the paper's tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_json, write_text
from tabsoda.bench.cases import SurveyCase
from tabsoda.bench.studies.runner import RunSummary, run_study
from tabsoda.bench.studies.store import Store
from tabsoda.bench.studies.study import Study, cases_of
from tabsoda.bench.tables.collected import group
from tabsoda.bench.tables.table_formats import Table, write_all
from tabsoda.datasets.listed_variables import listed_variables
from tabsoda.progress import Progress
from tabsoda.reproduce.downloads import read_download
from tabsoda.reproduce.miner_scores import miner_scores
from tabsoda.reproduce.plan import (
    ABLATION,
    BENCHMARK,
    MECHANISMS,
    QUICK,
    REPLICATIONS,
    plan_study,
)
from tabsoda.reproduce.printed import ABLATION_TABLES, BENCHMARK_TABLES
from tabsoda.reproduce.sources import Source, source_of
from tabsoda.reproduce.tables import comparison_table, miner_comparison, settings_table
from tabsoda.survey import Survey

_FILLED_UP = "not in the list; takes the place of a listed variable that the file lacks"
_IN_TURN = "first of its kind and section in questionnaire order, sections in turn"


@dataclass(frozen=True)
class Reproduction:
    """What a run found, and what it ran.

    Attributes
    ----------
    source : Source
    survey : Survey
        The benchmark: the chosen variables with the codebook's skips.
    study : Study
    notes : tuple of str
        What differs from the paper's grid and data.
    n_cells : int
        Cells of the grid.
    summary : RunSummary or None
        None after a dry run.
    failures : list of dict
    tables : dict of str to Table
        ``mar``, ``mar-ablation`` and so on, ``miner`` and ``settings``.
    """

    source: Source
    survey: Survey
    study: Study
    notes: tuple[str, ...]
    n_cells: int
    summary: RunSummary | None
    failures: list[dict[str, Any]]
    tables: dict[str, Table]


def reproduce_tables(
    survey: str,
    files: Sequence[Path],
    folder: Path,
    *,
    codebook: Path | None = None,
    partial: bool = False,
    quick: bool = False,
    methods: Sequence[str] = ("all",),
    mechanisms: Sequence[str] = MECHANISMS,
    replications: int | None = None,
    rows: int | None = None,
    skip_views: Sequence[str] = ("blind",),
    seed: int = 0,
    engine: str = "local",
    jobs: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Run the paper's experiments on one of its surveys and write its tables.

    Parameters
    ----------
    survey : {"path", "nsduh"}
    files : sequence of Path
        The public-use file as downloaded: a file, a folder or a ZIP archive.
    folder : Path
        Results so far are kept in it, so that the same call continues after an interruption.
    codebook : Path, optional
        Labels for a file without them: DDI (.xml), or a description (.toml, .json).
    partial : bool
        Accept a file that lacks variables of the benchmark.
    quick, methods, mechanisms, replications, rows, skip_views, seed
        See :func:`tabsoda.reproduce.plan.plan_study`.
    engine : {"local", "joblib", "ray"}
    jobs : int, optional
    dry_run : bool
        Read and check everything, run and write nothing.
    progress : callable, optional

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> reproduce_tables("nsduh", [], Path("tables"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tabsoda.errors.InputError: No file was given. Expected: the file of NSDUH 2021, ...
    """
    source = source_of(survey)
    study = plan_study(
        source,
        quick=quick,
        methods=methods,
        mechanisms=mechanisms,
        replications=replications,
        rows=rows,
        skip_views=skip_views,
        seed=seed,
    )
    raw = read_download(source, files, codebook)
    benchmark = source.build(raw, "benchmark", partial=partial)
    cases = cases_of(study, iter([(source.label, benchmark.table)]))
    cells = study.cells(cases)
    notes = tuple(_notes(source, benchmark, cases[source.label], study, quick=quick))
    if dry_run:
        return Reproduction(source, benchmark, study, notes, len(cells), None, [], {})
    # The folder is created only after the whole request has been checked.
    store = Store(folder)
    # Before a long run: these settings must be those of the results in the folder.
    store.pending(cells)
    write_text(folder / "variables.csv", _variables(source, benchmark))
    mined = miner_scores(
        source,
        raw,
        folder / "miner.json",
        partial=partial,
        # Mining takes seconds where imputing takes hours, so "quick" mines all rows.
        rows=rows,
        seed=seed,
        progress=progress,
    )
    del raw
    summary = run_study(
        cases, cells, store, engine=engine, jobs=jobs, sanity_check=False, progress=progress
    )
    document: dict[str, Any] = {
        "study": study.model_dump(mode="json"),
        "file": benchmark.source,
        "notes": list(notes),
        "events": benchmark.events.to_dicts(),
        "miner": mined,
        **store.collect(),
    }
    tables = _tables(source, document, benchmark, study, notes)
    write_json(folder / "results.json", document)
    for form in ("md", "tex", "html"):
        # Numbers and their spread stay on one line of the page.
        text = write_all(list(tables.values()), form).replace(
            "<style>", "<style>td{white-space:nowrap}"
        )
        write_text(folder / f"tables.{form}", text)
    failures = document["failures"]
    return Reproduction(source, benchmark, study, notes, len(cells), summary, failures, tables)


def _tables(
    source: Source, document: dict[str, Any], benchmark: Survey, study: Study, notes: Sequence[str]
) -> dict[str, Table]:
    series = group(document["cells"])
    tables = {}
    for mechanism in (one.value for one in study.mechanisms):
        name = f"{source.label}, 30 % {mechanism.upper()}"
        title = f"Imputation performance, {name} (the paper's Table {BENCHMARK_TABLES[mechanism]})"
        tables[mechanism] = comparison_table(source, series, mechanism, BENCHMARK, title)
        title = f"Ablation, {name} (the paper's Table {ABLATION_TABLES[mechanism]})"
        tables[f"{mechanism}-ablation"] = comparison_table(
            source, series, mechanism, ABLATION, title
        )
    tables["miner"] = miner_comparison(source, document["miner"])
    tables["settings"] = settings_table(source, benchmark, study, notes)
    return tables


def _notes(
    source: Source, benchmark: Survey, case: SurveyCase, study: Study, *, quick: bool
) -> Iterator[str]:
    """Say in sentences what differs from the paper's data and grid."""
    n_rows = benchmark.table.shape[0]
    if n_rows != source.rows:
        yield f"The file has {n_rows:,} respondents, that of the paper {source.rows:,}."
    listed = {name.upper() for names in source.listed for name in names}
    absent = [n[0] for n in source.listed if not _has(benchmark, n)]
    if absent:
        filled = [n for n in benchmark.table.names if n.upper() not in listed]
        others = f"; {len(filled)} others take their place" if source.name == "nsduh" else ""
        yield f"{len(absent)} of {len(source.listed)} listed variables are not in it{others}."
    dropped = [name for name in benchmark.table.names if name not in case.table.names]
    if dropped:
        yield f"Too few answers in these rows, so left out: {', '.join(dropped)}."
    if study.rows is not None and study.rows < n_rows:
        yield f"Cut down to {study.rows:,} respondents."
    if study.replications != REPLICATIONS:
        yield f"Cut down to {study.replications} of {REPLICATIONS} replications."
    if quick:
        yield QUICK


def _has(survey: Survey, names: Sequence[str]) -> bool:
    known = {name.upper() for name in survey.table.names}
    return any(name.upper() in known for name in names)


def _variables(source: Source, survey: Survey) -> str:
    """List the chosen variables: kind, question, why it was chosen, and its cells by state."""
    listed = {
        name.upper(): variable
        for variable in listed_variables(source.name)
        for name in variable.names
    }
    by_rule = _FILLED_UP if source.name == "nsduh" else _IN_TURN
    table = survey.table
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(
        ["name", "kind", "levels", "question", "reason", "answered", "missing", "skipped"]
    )
    counts = [mask.sum(axis=0) for mask in _states(survey)]
    for place, column in enumerate(table.columns):
        known = listed.get(column.name.upper())
        writer.writerow(
            [
                column.name,
                column.kind.value,
                column.n_levels or "",
                known.question if known else column.label,
                known.reason if known else by_rule,
                *(int(count[place]) for count in counts),
            ]
        )
    return output.getvalue()


def _states(survey: Survey) -> list[Any]:
    states = survey.table.states
    return [states.answered, states.missing, states.skipped]
