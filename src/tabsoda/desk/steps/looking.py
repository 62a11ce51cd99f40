"""Step 4, Look: the report of a run, observed against imputed answers, two runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from tabsoda.desk.run_comparison import compare_answers, compare_settings
from tabsoda.desk.run_results import finished_run, run_manifest, run_result
from tabsoda.desk.steps.commands import commands, shell_line
from tabsoda.errors import InputError, TabSODAError
from tabsoda.report.report import PAGE, SUMMARY
from tabsoda.report.strata import make_strata
from tabsoda.report.suppression import plain
from tabsoda.report.variables import describe_question
from tabsoda.review.answers import answer, change
from tabsoda.schema.column import ColumnRole

if TYPE_CHECKING:
    from starlette.requests import Request

    from tabsoda.desk.job_progress import JobProgress
    from tabsoda.desk.project import Project

# The page has its own policy with the hashes of its style and script; both apply. In the sandbox
# its script cannot reach the desk.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts"
)
_MOST_GROUPS = 12


def routes(project: Project) -> list[BaseRoute]:
    """Return the routes of this step."""

    async def summary(request: Request) -> Response:
        return await answer(lambda: look_summary(project, request.query_params.get("run")))

    async def question(request: Request) -> Response:
        given = request.query_params
        return await answer(
            lambda: look_at(project, given.get("run"), given.get("name", ""), given.get("by"))
        )

    async def compare(request: Request) -> Response:
        given = request.query_params
        return await answer(lambda: compare_runs(project, given.get("first"), given.get("second")))

    async def report_page(request: Request) -> Response:
        try:
            path = _report_page(project, request.query_params.get("run"))
        except TabSODAError as error:
            return PlainTextResponse(str(error), status_code=422)
        return FileResponse(
            path, media_type="text/html", headers={"content-security-policy": _REPORT_POLICY}
        )

    async def write(request: Request) -> Response:
        return await change(request, lambda body: _write_report(project, body))

    return [
        Route("/api/look", summary),
        Route("/api/look/question", question),
        Route("/api/look/compare", compare),
        Route("/api/look/report", report_page),
        Route("/api/look/report", write, methods=["POST"]),
    ]


def look_summary(project: Project, name: str | None) -> dict[str, Any]:
    """Return what the page shows of a run, ready for JSON.

    Parameters
    ----------
    project : Project
    name : str or None
        The run; the newest finished one if None.
    """
    folder = finished_run(project, name)
    shown = {
        "run": folder.name,
        "runs": [run["name"] for run in project.runs() if run["finished"]],
        "commands": commands([report_command(project, folder)], _report_python(project, folder)),
        "groups": _group_columns(project, folder.name),
    }
    report = _report(folder)
    if report is None or report["suppressed_below"] < project.suppress_below:
        why = "absent" if report is None else "unsuppressed"
        return shown | {"report": None, "why": why}
    questions = [
        {
            **{key: one[key] for key in ("name", "label", "kind", "states", "imputed")},
            "distance": one["distance"],
        }
        for one in report["variables"]
        if one["imputed"] != 0
    ]
    return shown | {
        "report": {
            "flags": report["flags"],
            "counts": report["counts"],
            "draws": report["draws"],
            "suppressed_below": report["suppressed_below"],
            "strata": list(report["strata"]),
            "questions": questions,
        }
    }


def look_at(project: Project, run: str | None, name: str, by: str | None) -> dict[str, Any]:
    """Compare observed and imputed answers of one question, also by group.

    Parameters
    ----------
    project : Project
    run : str or None
    name : str
    by : str or None
        A column whose groups are compared.
    """
    result = run_result(project, run)
    if name not in result.table.names:
        raise InputError("is not a question of this run", column=name)
    strata = make_strata(result, [by] if by else [])
    found: dict[str, Any] = plain(describe_question(result, name, strata, project.suppress_below))
    return found | {"by": by, "suppressed_below": project.suppress_below}


def compare_runs(project: Project, first: str | None, second: str | None) -> dict[str, Any]:
    """Return two runs side by side."""
    if not first or not second or first == second:
        raise InputError("Choose two different runs to compare")
    manifests = run_manifest(project, first), run_manifest(project, second)
    results = run_result(project, first), run_result(project, second)
    return {
        "first": first,
        "second": second,
        "settings": compare_settings(*manifests),
        **compare_answers(*results, suppress_below=project.suppress_below),
    }


def report_command(project: Project, folder: Path, strata: list[str] | None = None) -> str:
    """Return the command that writes the report of a run."""
    words: list[object] = ["tabsoda", "report", project.path_text(folder)]
    words += ["--strata", *strata] if strata else []
    words += ["--suppress-below", project.suppress_below] if project.suppress_below else []
    return shell_line(*words)


def _report_python(project: Project, folder: Path) -> list[str]:
    """Return the Python that writes the report of a run."""
    has_model = (folder / "model").is_dir()
    arguments = [
        "load_result(run)",
        "run / 'report.html'",
        "manifest=load_manifest(run)",
        *["imputer=TabSODAImputer.load(run / 'model')"] * has_model,
        "sensitivity=load_analyses(run)",
        *[f"suppress_below={project.suppress_below}"] * bool(project.suppress_below),
    ]
    return [
        "from pathlib import Path",
        f"from tabsoda import {'TabSODAImputer, ' * has_model}load_result",
        "from tabsoda.analysis.saved_sensitivity import load_analyses",
        "from tabsoda.report.report import write_report",
        "from tabsoda.results.result_folder import load_manifest",
        f"run = Path({project.path_text(folder)!r})",
        "write_report(\n" + "".join(f"    {one},\n" for one in arguments) + ")",
    ]


def report(project: Project, parameters: dict[str, Any], progress: JobProgress) -> dict[str, Any]:
    """Write the report of a run, as ``tabsoda report`` does; the work of a job."""
    from tabsoda.analysis.saved_sensitivity import load_analyses
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.report.report import write_report
    from tabsoda.results.result_folder import load_manifest, load_result

    folder = finished_run(project, parameters["run"])
    with progress.stage("Reading"):
        manifest, result = load_manifest(folder), load_result(folder)
        model = folder / "model"
        imputer = TabSODAImputer.load(model) if model.is_dir() else None
    with progress.stage("Reporting") as update:
        summary = write_report(
            result,
            folder / PAGE,
            manifest=manifest,
            imputer=imputer,
            strata=parameters["strata"],
            suppress_below=project.suppress_below,
            sensitivity=load_analyses(folder),
            progress=update,
        )
    return {"flags": len(summary["flags"])}


def _write_report(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    folder = finished_run(project, body["run"])
    strata = body.get("strata") or []
    if not isinstance(strata, list) or not all(isinstance(one, str) for one in strata):
        raise InputError("The groups of a report are columns", found=repr(strata)[:80])
    make_strata(run_result(project, folder.name), strata)
    parameters = {"run": folder.name, "strata": strata}
    return {"job": project.jobs.submit("report", f"Report on {folder.name}", parameters)}


def _report(folder: Path) -> dict[str, Any] | None:
    """Return the summary next to the page; None if there is none that can be read."""
    try:
        content = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    wanted = ("flags", "counts", "draws", "suppressed_below", "variables", "strata", "methods")
    is_ours = isinstance(content, dict) and all(name in content for name in wanted)
    return content if is_ours else None


def report_methods(project: Project, folder: Path) -> dict[str, Any] | None:
    """Return paragraph and citations of the report; None if small counts are not withheld."""
    found = _report(folder)
    if found is None or found["suppressed_below"] < project.suppress_below:
        return None
    methods = found["methods"]
    return {"paragraph": methods["paragraph"], "citations": methods["citations"]}


def _report_page(project: Project, name: str | None) -> Path:
    folder = finished_run(project, name)
    found = _report(folder)
    if found is None or not (folder / PAGE).is_file():
        raise InputError(f"The run '{folder.name}' has no report", next_step="Write one in Look")
    if found["suppressed_below"] < project.suppress_below:
        raise InputError(
            f"The report on '{folder.name}' does not withhold small counts",
            next_step="Write it again in Look",
        )
    return folder / PAGE


def _group_columns(project: Project, run: str) -> list[dict[str, str]]:
    """Return the columns by which answers can be compared: few groups, or numbers to cut."""
    result = run_result(project, run)
    found = []
    survey = result.survey
    for column in survey.schema if survey is not None else result.table.columns:
        if column.role in (ColumnRole.ID, ColumnRole.WEIGHT):
            continue
        if not column.is_categorical or 0 < column.n_levels < _MOST_GROUPS:
            found.append({"name": column.name, "label": column.label})
    return found
