"""Step 3, Impute: the plan of a run, and the run as a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tabsoda.desk.imputation_choice import ImputationChoice
from tabsoda.desk.project import Project
from tabsoda.errors import InputError
from tabsoda.report.suppression import withhold, withhold_alone
from tabsoda.review.answers import answer, change
from tabsoda.skips.review_policy import unreviewed
from tabsoda.skips.rule_set import RuleSet

if TYPE_CHECKING:
    from starlette.requests import Request

    from tabsoda.desk.job_progress import JobProgress
    from tabsoda.imputer.plan import ImputationPlan

_COUNTS = ("answered", "skipped", "to_impute")


def routes(project: Project) -> list[BaseRoute]:
    """Return the routes of this step."""

    async def summary(request: Request) -> Response:
        return await answer(lambda: imputing_summary(project))

    async def show_commands(request: Request) -> Response:
        return await change(
            request,
            lambda body: ImputationChoice.from_request(body["choice"]).commands(project),
        )

    async def plan(request: Request) -> Response:
        return await change(request, lambda body: _plan(project, body))

    async def start(request: Request) -> Response:
        return await change(request, lambda body: _start(project, body))

    return [
        Route("/api/impute", summary),
        Route("/api/impute/commands", show_commands, methods=["POST"]),
        Route("/api/impute/plan", plan, methods=["POST"]),
        Route("/api/impute", start, methods=["POST"]),
    ]


def imputing_summary(project: Project) -> dict[str, Any]:
    """Return what the page shows before a run is chosen, ready for JSON."""
    rules = RuleSet.from_toml(project.rules) if project.rules.is_file() else None
    survey = project.survey() if project.data is not None else None
    taken = {run["name"] for run in project.runs()}
    taken |= {job["parameters"].get("name") for job in project.jobs.summary()}
    number = next(n for n in range(1, len(taken) + 2) if f"run-{n}" not in taken)
    choice = ImputationChoice(f"run-{number}")
    return {
        "version": project.version,
        "choice": choice.to_dict(),
        "questions": [] if survey is None else list(survey.table.names),
        "rules": None if rules is None else len(rules),
        "unreviewed": 0 if rules is None else len(unreviewed(rules)),
        "commands": choice.commands(project),
    }


def impute(project: Project, parameters: dict[str, Any], progress: JobProgress) -> dict[str, Any]:
    """Impute and write the result folder; the job of ``tabsoda impute``.

    Runs in the folder of the project. The same job continues what an earlier start left.
    """
    from tabsoda.imputer.file_imputation import impute_file

    choice = ImputationChoice.from_request(parameters)
    folder = project.run_folder(choice.name)

    def announce(plan: ImputationPlan) -> None:
        progress.note(
            plan={"seconds": plan.cost.seconds, "memory_bytes": int(plan.cost.memory_bytes)}
        )

    impute_file(
        Path(project.path_text(project.require_data())),
        choice.imputer(project, Path()),
        Path(project.path_text(folder)),
        m=choice.draws,
        announce=announce,
        progress=progress.stage,
        unlisted=project.content["settings"]["unlisted"],
    )
    return {"run": choice.name}


def _plan(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    """Return what would be imputed, the time and the memory; writes nothing."""
    from tabsoda.imputer.file_imputation import plan_file

    choice = ImputationChoice.from_request(body["choice"])
    plan = plan_file(
        project.require_data(),
        choice.imputer(project, project.folder),
        m=choice.draws,
        unlisted=project.content["settings"]["unlisted"],
    ).to_dict()
    below = project.suppress_below
    for counts in plan["variables"].values():
        shown = withhold([counts[name] for name in _COUNTS], below)
        counts |= dict(zip(_COUNTS, shown, strict=True))
        counts["unresolved"] = withhold_alone(counts["unresolved"], below)
    del plan["events"]
    return plan | {"commands": choice.commands(project)}


def _start(project: Project, body: dict[str, Any]) -> dict[str, Any]:
    from tabsoda.imputer.parameters import check_parameters

    project.require(body["version"])
    project.require_data()
    choice = ImputationChoice.from_request(body["choice"])
    folder = project.run_folder(choice.name)
    waiting = {job["parameters"].get("name") for job in project.jobs.summary()}
    if folder.exists() or choice.name in waiting:
        raise InputError(
            f"There is already a run with the name '{choice.name}'",
            next_step="Choose another name, or resume the unfinished run in the list",
        )
    # Raises now, not when the job starts, if rules are not reviewed.
    check_parameters(choice.imputer(project, project.folder))
    draws = f"{choice.draws} draw" + "s" * (choice.draws != 1)
    title = f"Impute {choice.name} ({choice.quality}, {draws})"
    job = project.jobs.submit("impute", title, choice.to_dict())
    return {"version": project.version, "job": job["id"]}
