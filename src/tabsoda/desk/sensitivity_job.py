"""A sensitivity analysis of a picked estimate, kept in the folder of its run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tabsoda.analysis.design_request import DesignRequest
from tabsoda.analysis.finding import draw_rules, finding_estimate
from tabsoda.analysis.request import EstimateRequest
from tabsoda.analysis.shifts import Shift
from tabsoda.desk.run_results import finished_run
from tabsoda.desk.steps.commands import option, shell_line
from tabsoda.errors import InputError
from tabsoda.schema.codes import plain

if TYPE_CHECKING:
    from tabsoda.desk.job_progress import JobProgress
    from tabsoda.desk.project import Project

_MOST_SHIFTS = 4


def sensitivity_parameters(
    run: str, request: EstimateRequest, body: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of the job from a request of the page.

    Parameters
    ----------
    run : str
    request : EstimateRequest
        A model, one mean, or the shares of one question.
    body : dict
        ``shifts``, and, if given, ``answer`` (of a share), ``term``, ``null`` and
        ``within_range``.
    """
    shifts = body["shifts"]
    readable = isinstance(shifts, list) and all(isinstance(one, str) for one in shifts)
    if not readable or not 0 < len(shifts) <= _MOST_SHIFTS:
        raise InputError(
            "The shifts cannot be read",
            found=repr(shifts)[:80],
            expected=f"1 to {_MOST_SHIFTS} texts such as INCOME=-1..1",
        )
    for text in shifts:
        Shift.parse(text)
    if request.kind not in ("formula", "mean", "share") or len(request.of) != 1 or request.by:
        raise InputError(
            "A sensitivity analysis is about one estimate",
            found=request.title,
            expected="a model, one mean, or the share of one answer, without groups",
        )
    null = body.get("null", 0.0)
    if isinstance(null, bool) or not isinstance(null, int | float) or not math.isfinite(null):
        raise InputError("The value to compare with is a number", found=repr(null)[:40])
    of = request.of[0]
    if request.kind == "share":
        of = f"{of}:{body.get('answer', '')}"
    return {
        "run": run,
        **{kind: of if kind == request.kind else None for kind in ("formula", "mean", "share")},
        "shifts": shifts,
        "term": str(body["term"]) if body.get("term") else None,
        "null": float(null),
        "where": request.where,
        "family": request.family,
        "exponentiate": request.exponentiate,
        "within_range": bool(body.get("within_range")),
        "design": request.to_dict()["design"],
    }


def sensitivity_command(folder: str, parameters: dict[str, Any]) -> str:
    """Return the command that makes the same analysis."""
    words: list[object] = ["tabsoda", "sensitivity", folder]
    for kind in ("formula", "mean", "share", "where", "term"):
        words += [f"--{kind}", parameters[kind]] if parameters[kind] else []
    words += option("--shift", parameters["shifts"])
    words += ["--null", str(plain(parameters["null"]))] if parameters["null"] else []
    words += ["--family", parameters["family"]] if parameters["family"] != "gaussian" else []
    words += ["--exponentiate"] if parameters["exponentiate"] else []
    words += ["--within-range"] if parameters["within_range"] else []
    return shell_line(*words, *DesignRequest.from_dict(parameters["design"]).options())


def analyse(project: Project, parameters: dict[str, Any], progress: JobProgress) -> dict[str, Any]:
    """Make the analysis and keep it, as ``tabsoda sensitivity`` does; the work of a job."""
    from tabsoda.analysis import sensitivity
    from tabsoda.analysis.saved_sensitivity import load_analyses, save_analysis
    from tabsoda.results.result_folder import load_result

    folder = finished_run(project, parameters["run"])
    with progress.stage("Reading"):
        result = load_result(folder)
        load_analyses(folder)
    design = DesignRequest.from_dict(parameters["design"])
    options: dict[str, Any] = {"where": parameters["where"], "design": design.of(result)}
    estimate, chosen = finding_estimate(
        parameters["formula"], parameters["mean"], parameters["share"], options
    )
    is_model = parameters["formula"] is not None
    if is_model:
        options |= {name: parameters[name] for name in ("family", "exponentiate")}
    with progress.stage("Shifting") as update:
        outcome = sensitivity(
            result,
            estimate,
            parameters["shifts"],
            term=chosen or parameters["term"],
            null=parameters["null"],
            within_range=parameters["within_range"],
            rules=draw_rules(folder),
            progress=update,
            **(options if is_model else {}),
        )
    names = ("formula", "mean", "share", "family", "where", "exponentiate", "null", "within_range")
    asked = {name: parameters[name] for name in names}
    save_analysis(folder, outcome, {**asked, "design": parameters["design"]})
    return {"warnings": list(outcome.warnings), "tipping": len(outcome.tipping)}
