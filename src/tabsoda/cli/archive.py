"""``tabsoda archive``: a project of the desk as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, progress
from tabsoda.cli.outputs import check_outputs


def archive(
    project: Path,
    /,
    *,
    output_file: Annotated[Path, Parameter(name=["--output", "-o"])],
    without_models: Annotated[bool, Parameter(name="--without-models", negative="")] = False,
    without_data: Annotated[bool, Parameter(name="--without-data", negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Pack a project of tabsoda desk as a .zip file that opens again on another machine.

    Unpacked, the folder is opened with tabsoda desk. Logs of jobs, unfinished work and links to
    files outside the project are left out. The archive contains respondents' answers: share it only
    with people who may see them.

    Parameters
    ----------
    project
        The folder of the project.
    output_file
        The file to write, such as project.zip.
    without_models
        Leave out the fitted models, the largest part of most runs.
    without_data
        Leave out the survey file. Runs and exports still contain answers.
    as_json
        Write the result as JSON.
    force
        Overwrite an existing file.
    """
    from tabsoda.desk.archive import archive_project

    check_outputs([output_file], [], force=force)
    with progress("Packing") as update:
        path = archive_project(
            project,
            output_file,
            models=not without_models,
            data=not without_data,
            progress=update,
        )
    size = path.stat().st_size
    if as_json:
        emit_json({"file": str(output_file), "bytes": size})
        return
    text = f"{output_file} ({size / 1e6:.1f} MB)"
    output().print(text, markup=False, soft_wrap=True)
