"""``tabsoda evaluate``: compare imputation methods on a survey."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, output, progress, show, show_note
from tabsoda.cli.lengthy_methods import announcement, lengthy_methods
from tabsoda.cli.rule_text import paragraph
from tabsoda.cli.shared_options import WHOLE, AsJson, DescriptionFile
from tabsoda.cli.table_text import table_text
from tabsoda.errors import InputError
from tabsoda.progress import Progress

if TYPE_CHECKING:
    from tabsoda.bench.cases import SurveyCase
    from tabsoda.bench.methods.registry import Entry
    from tabsoda.bench.studies.cells import CellSettings
    from tabsoda.bench.studies.runner import RunSummary
    from tabsoda.bench.studies.store import Store
    from tabsoda.bench.studies.study import Study
    from tabsoda.bench.tables.table_formats import Table

_QUICK = "mode,boosting,default-engine"
_FAILURES_SHOWN = 5


def evaluate(
    data: Path | None = None,
    /,
    *,
    output_folder: Annotated[Path, Parameter(name=["--output", "-o"])],
    survey: DescriptionFile = None,
    skip_mask: Path | None = None,
    study: Path | None = None,
    methods: str | None = None,
    mechanisms: str = "mcar,mar,mnar",
    replications: Annotated[int, WHOLE, Parameter(validator=Number(gte=1))] = 5,
    skip_view: str = "level",
    track: str = "resolved",
    rate: float = 0.3,
    rows: Annotated[int | None, WHOLE] = None,
    columns: Annotated[int | None, WHOLE] = None,
    seed: Annotated[int, WHOLE] = 0,
    engine: Literal["local", "joblib", "ray"] = "local",
    jobs: Annotated[int | None, WHOLE] = None,
    as_json: AsJson = False,
) -> None:
    """Hide answers of a survey, impute them with several methods, and compare.

    Writes to the output folder: cells/ (one folder for each method, mechanism and replication),
    results.json, tables.md, tables.tex, tables.html and charts of paired differences. After an
    interruption, the same command continues; with more methods or replications it adds to the
    existing results.

    Parameters
    ----------
    data
        The survey: a file, or a folder with values.parquet, schema.json and skip.parquet. With
        --study: the folder of survey folders [default: $TABSODA_SURVEYS].
    output_folder
        Folder to write to.
    skip_mask
        A mask (Parquet or CSV) that says which cells are skips.
    study
        A study file (TOML) that describes the whole grid; of the options below, only --methods,
        --engine and --jobs are used with it.
    methods
        Names separated by commas [default: mode,boosting,default-engine]. all stands for every
        method that takes minutes; name those that take hours without a GPU as well:
        all,tabsoda,diffputer. tabsoda, tabsoda-skip and tabsoda-n are the paper's, default-engine
        and default-engine-skip this package's default. With --study: run only these, or all.
        package.module:factory adds a method of your own.
    mechanisms
        Missingness mechanisms by which cells are hidden: mcar, mar, mnar.
    replications
        How many times to hide cells.
    skip_view
        How skips are presented to methods without skip support: blind (as blanks), level (as an
        extra level), or both.
    track
        What is known about followers of a hidden gate: resolved, unresolved, or both.
    rate
        Share of answers to hide.
    rows
        At most this many respondents.
    columns
        At most this many questions.
    seed
        The same seed hides the same cells.
    engine
        Where cells run: local, joblib (processes) or ray (a cluster).
    jobs
        How many cells run at a time.
    """
    from tabsoda.bench.studies.runner import run_study
    from tabsoda.bench.studies.store import Store
    from tabsoda.bench.studies.study import cases_of, load_study, make_study, tables_in
    from tabsoda.bench.tables.report import study_tables, summaries, write_report

    if study is not None:
        from tabsoda.datasets.survey_folder import surveys_folder

        whole = load_study(study)
        plan = whole.restricted(_listed(methods or "all"))
        tables = tables_in(plan, surveys_folder(data))
    else:
        name, table = _read(data, survey, skip_mask)
        content = {
            "name": name,
            "surveys": [name],
            "methods": [{"name": one} for one in _method_names(methods or _QUICK)],
            "mechanisms": _listed(mechanisms),
            "skip_views": _listed(skip_view),
            "tracks": _listed(track),
            "replications": replications,
            "rate": rate,
            "rows": rows,
            "columns": columns,
            "seed": seed,
        }
        plan = whole = make_study(content, "The command")
        tables = iter([(name, table)])
    cases = cases_of(plan, tables)
    cells = plan.cells(cases)
    # The folder is created only after the whole request has been checked.
    store = Store(output_folder)
    _announce(cases, store.pending(cells))
    with study_progress("Evaluating") as update:
        summary = run_study(
            cases,
            cells,
            store,
            engine=engine,
            jobs=jobs,
            sanity_check=plan.sanity_check,
            progress=update,
        )
    document = {"study": whole.model_dump(mode="json")} | store.collect()
    write_report(document, output_folder)
    if as_json:
        emit_json(document | {"summaries": summaries(document)})
    else:
        _show(plan, summary, store, study_tables(document), output_folder)


def _read(data: Path | None, survey: Path | None, skip_mask: Path | None) -> tuple[str, Any]:
    if data is None:
        raise InputError(
            "There is no survey to evaluate on", next_step="Name its file, or add --study"
        )
    from tabsoda.datasets.survey_folder import is_survey_folder, load_survey_folder
    from tabsoda.reading import read_survey

    if is_survey_folder(data):
        return data.resolve().name, load_survey_folder(data).table
    return data.stem, read_survey(data, survey, skip_mask=skip_mask).table


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _announce(cases: Mapping[str, SurveyCase], cells: Iterable[CellSettings]) -> None:
    """Say before the start which methods will take hours."""
    listed = [(cell.survey, cell.method, cell.options) for cell in cells]
    text = announcement(listed, {name: case.table for name, case in cases.items()})
    if text is not None:
        show_note(text)


def _method_names(methods: str) -> list[str]:
    named = _listed(methods)
    if "all" not in named:
        return named
    from tabsoda.bench.methods.registry import METHODS

    lengthy = [name for name in lengthy_methods() if name not in named]
    if lengthy:
        show_note(
            f"Left out because they take hours without a GPU: {', '.join(lengthy)}. To run them,"
            f" name them: --methods all,{lengthy[-1]}"
        )
    tried = [name for name in METHODS if name not in lengthy]
    absent = [name for name in tried if name not in named and not _available(METHODS[name])]
    if absent:
        show_note(f"Left out because their packages are not installed: {', '.join(absent)}")
    others = [name for name in named if name not in METHODS and name != "all"]
    return [name for name in tried if name not in absent] + others


def _available(entry: Entry) -> bool:
    """Return whether the packages of a method are installed; asks its module if it can say."""
    module = sys.modules[entry.load().__module__]
    check = getattr(module, "available", None)
    return check is None or bool(check())


@contextmanager
def study_progress(description: str) -> Iterator[Progress]:
    """Show a bar on a terminal; elsewhere write one line per cell, with the time left."""
    if sys.stderr.isatty():
        with progress(description) as update:
            yield update
        return
    start = time.monotonic()

    def line(done: int, total: int, what: str = "") -> None:
        nonlocal start
        if not done:
            start = time.monotonic()
            return
        left = (time.monotonic() - start) / done * (total - done)
        sys.stderr.write(f"{done}/{total} {what}, about {left:.0f} s left\n")
        sys.stderr.flush()

    yield line


def _show(
    plan: Study, summary: RunSummary, store: Store, tables: dict[str, Table], folder: Path
) -> None:
    console = output()
    lines = [
        paragraph(
            f"{summary.ran:,} cells were run, {summary.reused:,} had been run before, "
            f"{summary.failed:,} failed.",
            console.width,
        ),
        "",
    ]
    for failed in store.failures()[:_FAILURES_SHOWN]:
        settings = failed["settings"]
        where = f"{settings['survey']} {settings['mechanism']} {settings['label']}"
        lines += [paragraph(f"Failed: {where}: {failed['message']}", console.width), ""]
    for mechanism in plan.mechanisms:
        if mechanism.value in tables:
            lines += [*table_text(tables[mechanism.value], console.width), ""]
    lines += [f"In {folder}: results.json, tables.md, tables.tex, tables.html, differences-*.svg"]
    show(lines)
