"""``tabsoda desk``: the whole workflow on a local page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import output
from tabsoda.cli.shared_options import WHOLE
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.desk.project import Project


def desk(
    file: Path | None = None,
    /,
    *,
    output_folder: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    suppress_below: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=0))] = None,
    largest_upload: Annotated[int, WHOLE, Parameter(validator=Number(gte=1))] = 2000,
    port: Annotated[int, WHOLE, Parameter(validator=Number(gte=0, lte=65535))] = 0,
    no_browser: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Work on a survey in the browser: open, route, impute, look, analyse and export.

    Opens a page that only this machine can reach. Everything is saved in the project folder, in
    the files that the other commands read and write; each step shows the commands that do the
    same. Long jobs run in processes of their own and continue after the page is closed or this
    command has ended. Press Ctrl-C to end.

    Parameters
    ----------
    file
        A survey (CSV, Excel, Parquet, SPSS, Stata or SAS) to begin with, or the folder of a
        project to open again. Without it, the page asks for a file.
    output_folder
        The folder of the project. [default: the survey's name with -desk, or tabsoda-desk]
    suppress_below
        Withhold counts below this number on the page. The project keeps the setting. [default: 0]
    largest_upload
        Largest file that the page accepts, in megabytes.
    port
        Port to serve the page on; 0 takes any free port.
    no_browser
        Print the address only.
    """
    try:
        from tabsoda.desk.server import DeskServer, address_of
    except ModuleNotFoundError as error:
        raise InputError(
            "The desk needs packages that are not installed",
            found=f"no module '{error.name}'",
            next_step="Install them with: pip install 'tabsoda[review]'",
        ) from error
    folder, data = _places(file, output_folder)
    if folder.is_dir():
        address = address_of(folder)
        if address is not None:
            _require_nothing_new(folder, data, suppress_below)
            _show_open(folder, address, browse=not no_browser)
            return
    project = _project(folder, data, suppress_below, largest_upload)
    console = output()

    def announce(address: str) -> None:
        console.print(f"Project: {project.folder}", markup=False, soft_wrap=True)
        # Not wrapped: a broken address cannot be clicked or copied.
        console.print(address, markup=False, soft_wrap=True)
        console.print("Press Ctrl-C to end. Everything is saved.", markup=False)

    DeskServer(project, port).run(announce, browse=not no_browser)
    running = [job for job in project.jobs.summary() if job["state"] in ("running", "paused")]
    for job in running:
        text = f"Still {job['state']}: {job['title']}. Open it again with: tabsoda desk {folder}"
        console.print(text, markup=False, soft_wrap=True)


def _places(file: Path | None, folder: Path | None) -> tuple[Path, Path | None]:
    """Return the folder of the project, and the survey to open in it, if one is named."""
    from tabsoda.desk.project import is_project

    if file is not None and file.is_dir():
        if folder is not None:
            raise InputError(
                f"'{file}' is a folder, and -o names another one",
                next_step="Name a survey file with -o, or only the folder of the project",
            )
        if not is_project(file) and any(file.iterdir()):
            raise InputError(
                f"The folder '{file}' is not a project",
                expected="a folder that contains project.json, or an empty one",
                next_step="Name a survey file, or the folder of a project",
            )
        return file, None
    if file is not None and not file.is_file():
        raise InputError(
            f"The file '{file}' does not exist",
            next_step="Check its name, or leave it out and open a file on the page",
        )
    default = "tabsoda-desk" if file is None else f"{file.stem}-desk"
    chosen = Path(default) if folder is None else folder
    if chosen.is_dir() and not is_project(chosen) and any(chosen.iterdir()):
        raise InputError(
            f"The folder '{chosen}' is not empty and is not a project",
            next_step="Choose another folder with -o",
        )
    return chosen, file


def _project(
    folder: Path, data: Path | None, suppress_below: int | None, largest_upload: int
) -> Project:
    from tabsoda.desk.project import Project, is_project
    from tabsoda.desk.receiving import open_survey

    is_new = not is_project(folder)
    project = Project(folder)
    project.largest_upload = largest_upload * 1_000_000
    try:
        if suppress_below is not None:
            with project.change(project.version) as content:
                content["settings"]["suppress_below"] = suppress_below
        if data is not None:
            open_survey(project, project.version, data)
    except BaseException:
        if is_new:
            project.discard()
        raise
    return project


def _require_nothing_new(folder: Path, data: Path | None, suppress_below: int | None) -> None:
    """Raise if a command asks for what the page that is already open does not show."""
    from tabsoda.desk.project import Project

    project = Project(folder)
    other_limit = suppress_below is not None and suppress_below != project.suppress_below
    other_file = data is not None and (
        project.data is None or data.resolve() != project.data.resolve()
    )
    if other_limit or other_file:
        what = f"--suppress-below {suppress_below}" if other_limit else f"the file '{data}'"
        raise InputError(
            f"The project '{folder}' is already open, without {what}",
            next_step="Close its page with the button Close, then start this command again",
        )


def _show_open(folder: Path, address: str, *, browse: bool) -> None:
    """Lead to the page of a project that another process already serves."""
    import webbrowser

    console = output()
    console.print(f"{folder} is already open at", markup=False, soft_wrap=True)
    console.print(address, markup=False, soft_wrap=True)
    if browse:
        webbrowser.open(address)
