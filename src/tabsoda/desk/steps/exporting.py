"""Step 6, Export: files for other programs, the methods paragraph, the project as an archive."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from tabsoda._internal.files import make_folder, write_text
from tabsoda.desk.archive import archive_project
from tabsoda.desk.kept_analyses import kept_analyses
from tabsoda.desk.run_results import finished_run
from tabsoda.desk.steps.commands import call, commands, shell_line
from tabsoda.desk.steps.looking import report_methods
from tabsoda.errors import InputError, TabSODAError
from tabsoda.exchange.exporting import RECORD, TARGETS, export
from tabsoda.publishing.scripts import EXPORTS, SUFFIXES, analysis_script
from tabsoda.review.answers import answer, change

if TYPE_CHECKING:
    from starlette.requests import Request

    from tabsoda.desk.job_progress import JobProgress
    from tabsoda.desk.project import Project

_PROGRAMS = {
    "stata": ("Stata", "A .dta file in flong style, and a do-file that sets it up for mi"),
    "r": ("R", "A long table, and a script that turns it into a mids object for mice"),
    "spss": ("SPSS", "A .sav file split by Imputation_, and a syntax file"),
    "sas": ("SAS", "Transport files with _Imputation_, and a program"),
    "csv": ("CSV", "One long table, with labels and reasons in separate files"),
    "parquet": ("Parquet", "One long table with labels, as the Python code reads it"),
}
_LANGUAGE_OF = {target: language for language, target in EXPORTS.items()}


def routes(project: Project) -> list[BaseRoute]:
    """Return the routes of this step."""

    async def summary(request: Request) -> Response:
        given = request.query_params
        chosen = {name: given.get(name) != "no" for name in ("models", "data")}
        return await answer(lambda: export_summary(project, given.get("run"), **chosen))

    async def write(request: Request) -> Response:
        return await change(request, lambda body: _write(project, body))

    async def archive(request: Request) -> Response:
        return await change(request, lambda body: _archive(project, body))

    async def download(request: Request) -> Response:
        try:
            path = exported_file(project, request.query_params.get("path", ""))
        except TabSODAError as error:
            return PlainTextResponse(str(error), status_code=404)
        return FileResponse(
            path,
            filename=path.name,
            content_disposition_type="attachment",
            media_type="application/octet-stream",
        )

    return [
        Route("/api/export", summary),
        Route("/api/export/write", write, methods=["POST"]),
        Route("/api/export/archive", archive, methods=["POST"]),
        Route("/api/export/file", download),
    ]


def export_summary(
    project: Project, name: str | None, *, models: bool = True, data: bool = True
) -> dict[str, Any]:
    """Return the formats with what was exported, methods and archives, ready for JSON.

    Parameters
    ----------
    project : Project
    name : str or None
        The run; the newest finished one if None.
    models, data : bool
        What the archive is to contain, for its command.
    """
    folder = finished_run(project, name)
    zipped = _archive_path(project)
    kept = kept_analyses(project.folder)
    return {
        "run": folder.name,
        "runs": [run["name"] for run in project.runs() if run["finished"]],
        "formats": [_format(project, folder.name, target) for target in TARGETS],
        "methods": report_methods(project, folder),
        "kept": len(kept),
        "archive": _file(project, zipped) if zipped.is_file() else None,
        "commands": commands(
            [*_export_commands(project, folder, kept), _archive_command(project, models, data)],
            _python(project, folder, models, data),
        ),
    }


def _export_commands(project: Project, folder: Path, kept: list[dict[str, Any]]) -> list[str]:
    """Return the commands that write all exports, and the code of the kept analyses."""
    place = project.path_text(folder)
    lines = []
    for target in TARGETS:
        written = export_folder(project, folder.name, target)
        inside = project.path_text(written)
        lines.append(shell_line("tabsoda", "export", place, "--to", target, "-o", inside))
        language = _LANGUAGE_OF.get(target)
        for one in kept if language is not None else ():
            path = shlex.quote(f"{inside}/{script_name(one, language or '')}")
            lines.append(f"{one['request'].command(place)} --code {language} > {path}")
    return lines


def _archive_command(project: Project, models: bool, data: bool) -> str:
    words = ["tabsoda", "archive", ".", "-o", project.path_text(_archive_path(project))]
    return shell_line(
        *words, *["--without-models"] * (not models), *["--without-data"] * (not data)
    )


def _python(project: Project, folder: Path, models: bool, data: bool) -> list[str]:
    choices = {name: False for name, on in (("models", models), ("data", data)) if not on}
    exports = [
        call("export", target, project.path_text(export_folder(project, folder.name, target)))
        for target in TARGETS
    ]
    return [
        "from tabsoda import load_result",
        "from tabsoda.desk.archive import archive_project",
        "from tabsoda.exchange import export",
        f"result = load_result({project.path_text(folder)!r})",
        *(line.replace("export(", "export(result, ", 1) for line in exports),
        call("archive_project", ".", project.path_text(_archive_path(project)), **choices),
    ]


def export_folder(project: Project, run: str, target: str) -> Path:
    """Return the folder of an export."""
    return project.folder / "exports" / f"{run}-{target}"


def write_export(
    project: Project, parameters: dict[str, Any], progress: JobProgress
) -> dict[str, Any]:
    """Write an export, and the code of the kept analyses next to it; the work of a job."""
    from tabsoda.results.result_folder import load_result

    run, target = parameters["run"], parameters["to"]
    with progress.stage("Reading"):
        result = load_result(finished_run(project, run))
    folder = export_folder(project, run, target)
    with progress.stage("Writing"):
        make_folder(folder.parent)
        export(result, target, folder, force=True)
    language = _LANGUAGE_OF.get(target)
    written, refused = 0, []
    for old in folder.glob("analysis_*" + SUFFIXES.get(language or "", " ")):
        # Of analyses that are perhaps not kept any more.
        old.unlink()
    with progress.stage("Writing code") as update:
        kept = kept_analyses(project.folder) if language is not None else []
        for number, one in enumerate(kept):
            update(number, len(kept), one["name"])
            try:
                text = analysis_script(result, one["request"], language or "")
            except InputError as error:
                refused.append(f"{one['name']}: {error}")
                continue
            # In the folder itself, where the code finds the files that it reads.
            write_text(folder / script_name(one, language or ""), text)
            written += 1
    return {"folder": project.path_text(folder), "scripts": written, "refused": refused}


def script_name(kept: dict[str, Any], language: str) -> str:
    """Return the name of the file with the code of a kept analysis.

    Examples
    --------
    >>> script_name({"id": 3, "name": "Mean of AGE, by sex"}, "r")
    'analysis_03_mean_of_age_by_sex.R'
    """
    words = re.sub(r"[^a-z0-9]+", "_", kept["name"].lower()).strip("_")[:40].rstrip("_")
    return f"analysis_{kept['id']:02d}_{words}".rstrip("_") + SUFFIXES[language]


def write_archive(
    project: Project, parameters: dict[str, Any], progress: JobProgress
) -> dict[str, Any]:
    """Pack the project; the work of a job."""
    path = _archive_path(project)
    make_folder(path.parent)
    with progress.stage("Packing") as update:
        archive_project(
            project.folder,
            path,
            models=parameters["models"],
            data=parameters["data"],
            progress=update,
        )
    return {"file": project.path_text(path)}


def exported_file(project: Project, text: str) -> Path:
    """Return a file inside the folder ``exports``; raise for everything else."""
    root = (project.folder / "exports").resolve()
    path = (project.folder / text).resolve() if "\0" not in text else root
    if not path.is_relative_to(root) or not path.is_file():
        raise InputError("There is no such exported file", found=repr(text)[:120])
    return path


def _write(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    folder, target = finished_run(project, body["run"]), body["to"]
    if target not in TARGETS:
        raise InputError(
            "Unknown export format", found=repr(target)[:40], expected=", ".join(TARGETS)
        )
    parameters = {"run": folder.name, "to": target}
    title = f"Export of {folder.name} for {_PROGRAMS[target][0]}"
    return {"job": project.jobs.submit("export", title, parameters)}


def _archive(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    parameters = {name: body.get(name, True) is not False for name in ("models", "data")}
    return {"job": project.jobs.submit("archive", "Archive of the project", parameters)}


def _archive_path(project: Project) -> Path:
    return project.folder / "exports" / f"{project.folder.name}.zip"


def _format(project: Project, run: str, target: str) -> dict[str, Any]:
    folder = export_folder(project, run, target)
    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    record = folder / RECORD
    finished = record.is_file() and "to" in _record(record)
    program, what = _PROGRAMS[target]
    return {
        "to": target,
        "program": program,
        "what": what,
        "folder": project.path_text(folder),
        "files": [_file(project, path) for path in files] if finished else [],
    }


def _record(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _file(project: Project, path: Path) -> dict[str, Any]:
    return {"name": path.name, "path": project.path_text(path), "bytes": path.stat().st_size}
