"""``tabsoda reproduce``: the paper's tables from the public-use files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, output, show
from tabsoda.cli.evaluate import study_progress
from tabsoda.cli.rule_text import paragraph
from tabsoda.cli.shared_options import WHOLE, AsJson
from tabsoda.cli.table_text import table_text

if TYPE_CHECKING:
    from tabsoda.reproduce import Reproduction

_FAILURES_SHOWN = 5


def reproduce(
    survey: Literal["path", "nsduh"],
    /,
    *files: Path,
    output_folder: Annotated[Path, Parameter(name=["--output", "-o"])],
    codebook: Path | None = None,
    partial: Annotated[bool, Parameter(negative="")] = False,
    quick: Annotated[bool, Parameter(negative="")] = False,
    methods: str = "all",
    mechanisms: str = "mar,mcar,mnar",
    replications: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=1))] = None,
    rows: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=10))] = None,
    skip_view: str = "blind",
    seed: Annotated[int, WHOLE] = 0,
    engine: Literal["local", "joblib", "ray"] = "local",
    jobs: Annotated[int | None, WHOLE] = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments on its surveys and compare them with its published numbers.

    The files are not part of this package. PATH Study, wave 1 adults: ICPSR 36498. NSDUH 2021:
    SAMHSA. Writes to the output folder: cells/ (one folder for each method, mechanism and
    replication), miner.json, variables.csv (the chosen variables and why), results.json, and the
    tables as tables.md, tables.tex and tables.html. After an interruption, the same command
    continues.

    Parameters
    ----------
    survey
        path or nsduh.
    files
        The public-use file as downloaded (SPSS, Stata, SAS or delimited), its folder, or its ZIP
        archive. A DDI codebook (.xml) among them is used.
    output_folder
        Folder to write to.
    codebook
        Labels for a file without them: a DDI codebook (.xml), or a description (.toml, .json).
    partial
        Accept a file that lacks variables of the benchmark, such as an extract or another year.
    quick
        Impute only 1,000 respondents with 2 replications and small budgets, to try it out.
    methods
        Names separated by commas, or all: mice, missforest, tabcsdi, diffputer, tabsyn, tabdiff,
        tabsoda-n, tabsoda-skip, tabsoda.
    mechanisms
        Missingness mechanisms by which cells are hidden: mcar, mar, mnar.
    replications
        How many times to hide cells [default: 50, as in the paper].
    rows
        At most this many respondents, for the miner too [default: all].
    skip_view
        How skips are presented to the baselines: blind (as blanks, as in the paper), level (as an
        extra level), or both as blind,level.
    seed
        The same seed hides the same cells.
    engine
        Where cells run: local, joblib (processes) or ray (a cluster).
    jobs
        How many cells run at a time.
    dry_run
        Read the file, show the chosen variables and the number of cells, and stop.
    """
    from tabsoda.reproduce import reproduce_tables

    with study_progress("Reproducing") as update:
        result = reproduce_tables(
            survey,
            files,
            output_folder,
            codebook=codebook,
            partial=partial,
            quick=quick,
            methods=_listed(methods),
            mechanisms=_listed(mechanisms),
            replications=replications,
            rows=rows,
            skip_views=_listed(skip_view),
            seed=seed,
            engine=engine,
            jobs=jobs,
            dry_run=dry_run,
            progress=update,
        )
    if as_json:
        emit_json(_document(result))
    else:
        _show(result, output_folder)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _document(result: Reproduction) -> dict[str, Any]:
    return {
        "survey": result.source.name,
        "file": result.survey.source,
        "variables": {column.name: column.kind.value for column in result.survey.table.columns},
        "cells": result.n_cells,
        "notes": list(result.notes),
        "study": result.study.model_dump(mode="json"),
        "failures": result.failures,
        "tables": {
            name: {
                "title": table.title,
                "header": list(table.header),
                "rows": [[entry.text for entry in row] for row in table.rows],
            }
            for name, table in result.tables.items()
        },
    }


def _show(result: Reproduction, folder: Path) -> None:
    console = output()
    table = result.survey.table
    kinds = [column.kind.value for column in table.columns]
    lines = [
        paragraph(
            f"{result.survey.source}: {table.shape[0]:,} respondents; {table.shape[1]} variables, "
            + ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(sorted(kinds)))
            + f". {result.n_cells:,} cells (methods x mechanisms x replications).",
            console.width,
        ),
        *(paragraph(note, console.width) for note in result.notes),
        "",
    ]
    if result.summary is None:
        lines += [paragraph(", ".join(table.names), console.width), "", "Nothing was run."]
    else:
        lines += _result_lines(result, folder, console.width)
    show(lines)


def _result_lines(result: Reproduction, folder: Path, width: int) -> list[str]:
    summary = result.summary
    lines = []
    if summary is not None:
        text = f"{summary.ran:,} cells were run, {summary.reused:,} had been run before, "
        lines += [f"{text}{summary.failed:,} failed.", ""]
    for failed in result.failures[:_FAILURES_SHOWN]:
        settings = failed["settings"]
        where = f"{settings['mechanism']} {settings['label']} {settings['replication']}"
        lines += [paragraph(f"Failed: {where}: {failed['message']}", width), ""]
    for name, table in result.tables.items():
        if name == "miner" or any(entry.text == "this run" for row in table.rows for entry in row):
            lines += [*table_text(table, width), ""]
    written = "tables.md, tables.tex, tables.html, variables.csv, results.json"
    return [*lines, f"In {folder}: {written}"]
