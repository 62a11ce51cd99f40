"""``tabsoda export``: imputations for Stata, R, SPSS, SAS and others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, progress

_NEXT = {
    "stata": "In Stata: cd to the folder, then: do imputations.do",
    "r": 'In R: setwd() to the folder, then: source("read.R")',
    "spss": "In SPSS: open imputations.sps, write the folder's name into it, and run it",
    "sas": "In SAS: open imputations.sas, write the folder's name into it, and run it",
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

    Skips stay skips, labels stay labels, and the observed data come along.

    - stata: one file in flong style (m=0 first) and a do-file that sets it up for mi
    - r: a long table, and a script that makes a mids of it for mice
    - spss: a file split by Imputation_, and its syntax
    - sas: transport files with `_Imputation_`, and a program
    - csv, parquet: one long table, with labels and reasons beside it

    Parameters
    ----------
    result
        The output folder of tabsoda impute.
    to
        The program that reads on.
    output_folder
        Folder to write to.
    as_json
        Write what was written as JSON.
    force
        Overwrite an earlier export.
    """
    from tabsoda.exchange.exporting import RECORD, check_target
    from tabsoda.exchange.exporting import export as write
    from tabsoda.results.result_folder import load_result

    check_target(output_folder, force=force)
    # How long the programs' writers take nobody knows, so that these bars have no end.
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
    decisions: dict[str, int] = {}
    for event in record["events"]:
        decisions[event["decision"]] = decisions.get(event["decision"], 0) + 1
    for decision, count in decisions.items():
        console.print(f"{decision}: {count} (see {RECORD})", markup=False)
    console.print(_NEXT[to], markup=False)
