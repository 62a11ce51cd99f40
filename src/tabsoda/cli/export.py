"""``tabsoda export``: imputations for Stata, R, SPSS, SAS and others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, progress
from tabsoda.event_texts import heading
from tabsoda.events import EventLog

_NEXT = {
    "stata": "In Stata: cd to the folder, then: do imputations.do",
    "r": 'In R: setwd() to the folder, then: source("read.R")',
    "spss": "In SPSS: open imputations.sps, enter the path of the folder, and run it",
    "sas": "In SAS: open imputations.sas, enter the path of the folder, and run it",
    "csv": "survey.toml has labels and levels; reasons.csv says why a cell is empty",
    "parquet": "Labels are in the file's metadata; reasons.parquet says why a cell is empty",
}


def export(
    result: Path,
    /,
    *,
    to: Literal["stata", "r", "spss", "sas", "csv", "parquet"],
    output_folder: Annotated[Path, Parameter(name=["--output", "-o"])],
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Write the imputations of a result as another program expects them.

    Skips stay skips, labels stay labels, and the observed data are included.

    - stata: one file in flong style (m=0 first) and a do-file that sets it up for mi
    - r: a long table, and a script that turns it into a mids object for mice
    - spss: a file split by Imputation_, and a syntax file
    - sas: transport files with `_Imputation_`, and a program
    - csv, parquet: one long table, with labels and reasons in separate files

    Parameters
    ----------
    result
        The output folder of tabsoda impute.
    to
        The program or format to write for.
    output_folder
        Folder to write to.
    as_json
        List the written files as JSON.
    force
        Overwrite an earlier export.
    """
    from tabsoda.exchange.exporting import RECORD, check_target
    from tabsoda.exchange.exporting import export as write
    from tabsoda.results.result_folder import load_result

    check_target(output_folder, force=force)
    # The writers report no progress, so these bars show only that work is going on.
    with progress("Reading"):
        found = load_result(result)
    with progress("Writing"):
        paths = write(found, to, output_folder, force=force)
    import json

    record = json.loads((output_folder / RECORD).read_text(encoding="utf-8"))
    if as_json:
        emit_json({**record, "files": [path.name for path in paths]})
        return
    console = output()
    for path in paths:
        console.print(f"{path}", markup=False, soft_wrap=True)
    decisions = Counter(heading(event) for event in EventLog.from_dicts(record["events"]))
    for decision, count in decisions.items():
        console.print(f"{decision}: {count} (see {RECORD})", markup=False)
    console.print(_NEXT[to], markup=False)
