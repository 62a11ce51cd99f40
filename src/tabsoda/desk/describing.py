"""The description of a project's survey: a start and corrections, as ``tabsoda inspect`` writes it.

``survey.toml`` is always what ``tabsoda inspect DATA [--survey START] --set ... -o survey.toml``
writes. Undoing a correction removes it from the list. If somebody else changes ``survey.toml``,
such as a person with an editor or the review page that approves an edit, the changed file becomes
the new start, and nothing that it contains is lost.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabsoda._internal.files import atomic_path, file_hash
from tabsoda.desk.project import Project
from tabsoda.desk.steps.commands import call, commands, option, shell_line
from tabsoda.errors import InputError
from tabsoda.reading import read_survey
from tabsoda.schema.correction_form import parse_settings
from tabsoda.schema.description import Description
from tabsoda.schema.files import description_form, load_description, save_schema
from tabsoda.survey import Survey

_STARTS = ("survey_start", "survey_start_2")
_LONGEST_SETTING = 20_000


def correct(project: Project, version: Any, settings: Any) -> None:
    """Add corrections, such as ``Q1.kind=ordinal``, and write the description.

    Raises
    ------
    InputError
        If a correction cannot be parsed or applied; nothing is saved then.
    """
    project.require_data()
    texts = isinstance(settings, list) and all(isinstance(one, str) for one in settings)
    if not texts or not settings:
        raise InputError("The corrections are not a list of texts", found=repr(settings)[:80])
    if sum(map(len, settings)) > _LONGEST_SETTING:
        raise InputError("The corrections are too long", expected=f"at most {_LONGEST_SETTING:,}")
    parse_settings(settings)
    with project.change(version) as content:
        description = content["description"]
        _adopt_changed_file(project, description)
        description["settings"] += [settings]
        description["undone"] = []
        write_description(project, content)
    remove_earlier_starts(project)


def undo(project: Project, version: Any, *, again: bool = False) -> None:
    """Take back the last correction, or apply the last one again that was taken back."""
    source, target = ("undone", "settings") if again else ("settings", "undone")
    with project.change(version) as content:
        description = content["description"]
        if is_changed(project, description):
            raise InputError(
                "survey.toml was changed outside this page, so earlier corrections are part of it",
                next_step="Correct the column again instead",
            )
        if not description[source]:
            raise InputError("There is nothing to redo" if again else "There is nothing to undo")
        description[target].append(description[source].pop())
        write_description(project, content)


def write_description(project: Project, content: dict[str, Any]) -> Survey:
    """Read the survey with the start and the corrections, and write ``survey.toml``.

    Parameters
    ----------
    project : Project
    content : dict
        The content of ``project.json`` within a change.
    """
    survey = project.read_once("described", _key(project, content), lambda: _read(project, content))
    save_schema(survey.schema, project.description)
    content["description"]["written"] = file_hash(project.description)
    return survey


def described(project: Project) -> Survey:
    """Return the survey with the guesses and the events of its description.

    Reading it with ``survey.toml``, as the other steps do, gives the same table without them.
    """
    content = project.content
    if is_changed(project, content["description"]):
        return project.survey()
    return project.read_once("described", _key(project, content), lambda: _read(project, content))


def _read(project: Project, content: dict[str, Any]) -> Survey:
    description = content["description"]
    return read_survey(
        project.folder / content["data"]["path"],
        _start(project, description),
        codebook=_in_project(project, description["codebook"]),
        unlisted=content["settings"]["unlisted"],
    )


def _key(project: Project, content: dict[str, Any]) -> tuple[Any, ...]:
    """Return what determines the survey that is read."""
    description = content["description"]
    names = (content["data"]["path"], description["start"], description["codebook"])
    files = [None if name is None else project.hash_of(project.folder / name) for name in names]
    return (names, *files, repr(description["settings"]), content["settings"]["unlisted"])


def is_changed(project: Project, description: dict[str, Any]) -> bool:
    """Return whether ``survey.toml`` is not the file that the page wrote."""
    if not project.description.is_file():
        return False
    return project.hash_of(project.description) != description["written"]


def use_start(project: Project, description: dict[str, Any], form: str = ".toml") -> Path:
    """Return the file into which a new start, without corrections, is to be written.

    It is not the file of the present start, which stays in use if the change fails or is killed.

    Parameters
    ----------
    project : Project
    description : dict
        Part of the content of ``project.json`` within a change.
    form : {".toml", ".json"}
    """
    names = (f"{name}{form}" for name in _STARTS)
    start = next(name for name in names if name != description["start"])
    description |= {"start": start, "codebook": None, "settings": [], "undone": []}
    return project.folder / start


def remove_earlier_starts(project: Project) -> None:
    """Remove starts that are not in use any more, or that a failed change left."""
    with project.unchanged() as content:
        for name in (f"{name}{form}" for name in _STARTS for form in (".toml", ".json")):
            if name != content["description"]["start"]:
                (project.folder / name).unlink(missing_ok=True)


def copy_start(project: Project, description: dict[str, Any], source: Path) -> None:
    """Copy a description into the project as the start, without corrections."""
    start = use_start(project, description, description_form(source))
    with atomic_path(start) as temporary:
        shutil.copyfile(source, temporary)


def description_commands(project: Project) -> dict[str, Any]:
    """Return the commands, and the Python, that write this description."""
    content = project.content
    description = content["description"]
    if content["data"] is None:
        return commands(["tabsoda inspect survey.sav -o survey.toml"])
    data = project.path_text(project.folder / content["data"]["path"])
    shell, python = [], []
    start = description["start"]
    form = description["form"]
    unlisted = content["settings"]["unlisted"]
    how = ["--unlisted", unlisted] if unlisted != "error" else []
    if form is not None:
        outputs = ("-o", start, "--rules", "rules.toml")
        shell.append(shell_line("tabsoda", "questionnaire", form["path"], data, *outputs, *how))
    settings = [text for one in description["settings"] for text in one]
    given = ["--survey", start] if start else []
    given += ["--codebook", description["codebook"]] if description["codebook"] else []
    corrections = option("--set", settings)
    shell.append(
        shell_line("tabsoda", "inspect", data, *given, *corrections, *how, "-o", "survey.toml")
    )
    if is_changed(project, description):
        shell.append("# survey.toml was changed after this, by edits or by hand.")
    python.append("import tabsoda")
    options = {"unlisted": unlisted} if how else {}
    python.append("survey = " + call("tabsoda.read_survey", data, "survey.toml", **options))
    return commands(shell, python)


def _adopt_changed_file(project: Project, description: dict[str, Any]) -> None:
    """Make a file that somebody else has changed the new start."""
    if is_changed(project, description):
        copy_start(project, description, project.description)
        description["form"] = None


def _start(project: Project, description: dict[str, Any]) -> Description:
    path = _in_project(project, description["start"])
    given = Description(None) if path is None else load_description(path)
    settings = [text for one in description["settings"] for text in one]
    return replace(given, corrections=(*given.corrections, *parse_settings(settings)))


def _in_project(project: Project, name: str | None) -> Path | None:
    return None if name is None else project.folder / name
