"""Step 5, Analyse: pooled estimates of picked columns, as tables, figures and code."""

from __future__ import annotations

import json
import textwrap
import threading
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tabsoda.analysis.picked_model import picked_formula
from tabsoda.analysis.request import EstimateRequest
from tabsoda.analysis.saved_sensitivity import load_analyses
from tabsoda.analysis.sensitivity_analysis import Sensitivity
from tabsoda.analysis.sensitivity_text import paper_sentence, sensitivity_text
from tabsoda.analysis.shifts import Shift
from tabsoda.analysis.variables import find_variable
from tabsoda.desk.kept_analyses import keep, kept_analyses, remove
from tabsoda.desk.pictures import picture
from tabsoda.desk.run_results import finished_run, loaded, run_result, run_stamp
from tabsoda.desk.sensitivity_job import sensitivity_command, sensitivity_parameters
from tabsoda.desk.small_estimates import withhold_small
from tabsoda.desk.steps.commands import commands
from tabsoda.errors import InputError, InteractionWarning
from tabsoda.publishing.figures import draw_estimates
from tabsoda.publishing.scripts import LANGUAGES, analysis_script
from tabsoda.publishing.tables import TABLE_FORMATS, result_table, table_text
from tabsoda.review.answers import answer, change
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Column, ColumnRole

if TYPE_CHECKING:
    from starlette.requests import Request

    from tabsoda.desk.project import Project

# Figures are images of their own; their style is inside.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_MOST_LEVELS = 60
_ESTIMATING = threading.Lock()


def routes(project: Project) -> list[BaseRoute]:
    """Return the routes of this step."""

    async def summary(request: Request) -> Response:
        return await answer(lambda: analyse_summary(project, request.query_params.get("run")))

    async def estimate(request: Request) -> Response:
        return await change(request, lambda body: estimated(project, body))

    async def keep_one(request: Request) -> Response:
        return await change(request, lambda body: _keep(project, body))

    async def remove_one(request: Request) -> Response:
        return await change(request, lambda body: _remove(project, body))

    async def shift(request: Request) -> Response:
        return await change(request, lambda body: _shift(project, body))

    async def figure(request: Request) -> Response:
        given = request.query_params
        return await _figure(
            lambda: estimate_picture(project, given.get("run"), given.get("request", ""))
        )

    async def shift_figure(request: Request) -> Response:
        given = request.query_params
        return await _figure(
            lambda: _sensitivity_picture(project, given.get("run"), given.get("number", ""))
        )

    return [
        Route("/api/analyse", summary),
        Route("/api/analyse/estimate", estimate, methods=["POST"]),
        Route("/api/analyse/picture.svg", figure),
        Route("/api/analyse/sensitivity.svg", shift_figure),
        Route("/api/analyse/sensitivity", shift, methods=["POST"]),
        Route("/api/analyse/keep", keep_one, methods=["POST"]),
        Route("/api/analyse/remove", remove_one, methods=["POST"]),
    ]


async def _figure(draw: Callable[[], str]) -> Response:
    return await picture(draw, "image/svg+xml", {"content-security-policy": _PICTURE_POLICY})


def analyse_summary(project: Project, name: str | None) -> dict[str, Any]:
    """Return the columns to pick from, the design, and the kept analyses, ready for JSON."""
    folder = finished_run(project, name)
    result = run_result(project, folder.name)
    survey = result.survey
    described = list(survey.schema) if survey is not None else list(result.table.columns)
    counts = result.counts()
    roles = (ColumnRole.WEIGHT, ColumnRole.STRATUM, ColumnRole.CLUSTER)
    design = {
        role.value: [column.name for column in described if column.role is role] for role in roles
    }
    return {
        "run": folder.name,
        "runs": [run["name"] for run in project.runs() if run["finished"]],
        "draws": len(result),
        "columns": [_column(column, counts.get(column.name, 0)) for column in described],
        "design": design,
        "kept": [
            {**one, "request": one["request"].to_dict()} for one in kept_analyses(project.folder)
        ],
        "sensitivity": [
            {"text": _sensitivity(one, project), "term": one.term, "number": number}
            for number, one in enumerate(load_analyses(folder))
        ],
        "suppressed_below": project.suppress_below,
    }


def _sensitivity(found: Sensitivity, project: Project) -> str:
    """Return a sensitivity analysis as text; only its sentence if small counts are withheld."""
    if project.suppress_below > 1:
        return textwrap.fill(paper_sentence(found, project.suppress_below), 76)
    return sensitivity_text(found, 76)


def _column(column: Column, imputed: int) -> dict[str, Any]:
    levels = [
        {"code": plain(level), "text": column.describe_level(level)}
        for level in column.levels[:_MOST_LEVELS]
    ]
    numeric = not any(isinstance(level, str) for level in column.levels)
    return {
        "name": column.name,
        "label": column.label,
        "kind": column.kind.value,
        "role": column.role.value,
        "numbers": numeric,
        "levels": levels,
        "imputed": imputed > 0,
    }


def read_request(project: Project, body: dict[str, Any]) -> EstimateRequest:
    """Return the request of a page: given, or a model from picked columns."""
    content = body["request"]
    if not isinstance(content, dict):
        raise InputError("The request is not an object", found=repr(content)[:80])
    picked = body.get("model")
    if picked is None:
        return EstimateRequest.from_dict(content)
    try:
        formula = picked_formula(
            run_result(project, body.get("run")),
            str(picked["outcome"]),
            list(picked["terms"]),
            answer=picked.get("answer"),
            products=[[str(one) for one in pair] for pair in picked.get("products", [])],
            log_outcome=bool(picked.get("log")),
        )
    except (TypeError, AttributeError) as error:
        raise InputError("The picked model cannot be read", found=str(error)) from error
    return EstimateRequest.from_dict({**content, "kind": "formula", "of": [formula]})


def estimated(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    """Estimate a request on a run: table, notes, texts to copy, commands and code."""
    request = read_request(project, body)
    folder = finished_run(project, body.get("run"))
    parts, warned = _estimates(folder, run_stamp(folder), json.dumps(request.to_dict()))
    result = run_result(project, folder.name)
    table = result_table(request, withhold_small(request, parts, result, project.suppress_below))
    place = project.path_text(folder)
    return {
        "request": request.to_dict(),
        "title": request.title,
        "header": list(table.header),
        "rows": [[entry.text for entry in row] for row in table.rows],
        "left": table.left,
        "note": table.note,
        "warnings": list(warned),
        "copies": {form: table_text(table, form) for form in TABLE_FORMATS},
        "code": {language: _code(result, request, language) for language in LANGUAGES},
        "commands": commands(
            [
                request.command(place),
                f"{request.command(place)} --format md",
                f"{request.command(place)} --picture estimates.svg",
                f"{request.command(place)} --code r > analysis.R",
            ],
            _python(request, place),
        ),
    }


def _code(result: Any, request: EstimateRequest, language: str) -> dict[str, str]:
    try:
        return {"text": analysis_script(result, request, language)}
    except InputError as error:
        return {"error": str(error)}


@lru_cache(maxsize=16)
def _made(folder: Path, stamp: tuple[int, int], content: str) -> tuple[Any, tuple[str, ...]]:
    request = EstimateRequest.from_dict(json.loads(content))
    with warnings.catch_warnings():
        # They are part of the estimates.
        warnings.simplefilter("ignore", InteractionWarning)
        parts = request.estimate(loaded(folder, stamp))
    texts = dict.fromkeys(text for part in parts for text in getattr(part, "warnings", ()))
    return parts, tuple(texts)


def _estimates(folder: Path, stamp: tuple[int, int], content: str) -> Any:
    # The picture of an estimate is asked for while the estimate is made.
    with _ESTIMATING:
        return _made(folder, stamp, content)


def estimate_picture(project: Project, run: str | None, content: str) -> str:
    """Return the figure of a request as SVG."""
    try:
        request = EstimateRequest.from_dict(dict(json.loads(content)))
    except (ValueError, TypeError) as error:
        raise InputError("The request cannot be read", found=str(error)) from error
    folder = finished_run(project, run)
    parts, _ = _estimates(folder, run_stamp(folder), json.dumps(request.to_dict()))
    result = run_result(project, folder.name)
    shown = withhold_small(request, parts, result, project.suppress_below)
    return str(draw_estimates(request, shown))


def _python(request: EstimateRequest, place: str) -> list[str]:
    options = {
        key: value
        for key, value in request.to_dict().items()
        if key not in ("kind", "of", "design") and value not in (None, False, "gaussian")
    }
    shown = "".join(f", {key}={value!r}" for key, value in options.items())
    design = request.design
    given = {name: getattr(design, name) for name in design.__dataclass_fields__}
    changed = {
        name: value
        for name, value in given.items()
        if value != design.__dataclass_fields__[name].default
    }
    arguments = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    lines = ["from tabsoda import load_result"]
    lines += ["from tabsoda.analysis.design_request import DesignRequest"] * bool(changed)
    lines += ["from tabsoda.analysis.request import EstimateRequest"]
    shown += f", design=DesignRequest({arguments})" if changed else ""
    lines.append(f"request = EstimateRequest({request.kind!r}, {request.of!r}{shown})")
    return [*lines, f"print(*request.estimate(load_result({place!r})), sep='\\n')"]


def _keep(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    request = read_request(project, body)
    name = body.get("name") or ""
    if not isinstance(name, str):
        raise InputError("The name of an analysis is a text", found=repr(name)[:80])
    number = keep(project, body["version"], request, name)
    return {"version": project.version, "id": number}


def _remove(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    remove(project, body["version"], body["id"])
    return {"version": project.version}


def _shift(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    """Queue a sensitivity analysis of a request."""
    request = read_request(project, body)
    folder = finished_run(project, body.get("run"))
    parameters = sensitivity_parameters(folder.name, request, body)
    result = run_result(project, folder.name)
    for text in parameters["shifts"]:
        for name in Shift.parse(text).questions:
            find_variable(result, name, "shift")
    job = project.jobs.submit("sensitivity", f"Sensitivity of {request.title[:60]}", parameters)
    command = sensitivity_command(project.path_text(folder), parameters)
    return {"job": job, "commands": commands([command])}


def _sensitivity_picture(project: Project, run: str | None, number: str) -> str:
    analyses = load_analyses(finished_run(project, run))
    if not number.isdecimal() or int(number) >= len(analyses):
        raise InputError("There is no such sensitivity analysis", found=repr(number)[:40])
    return str(analyses[int(number)].picture())
