"""Files that come into a project: a survey, a form, a codebook, a description or rules."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from tabsoda._internal.files import atomic_path, file_hash, make_folder, write_text
from tabsoda.desk.describing import (
    copy_start,
    remove_earlier_starts,
    use_start,
    write_description,
)
from tabsoda.desk.project import Project
from tabsoda.errors import InputError
from tabsoda.questionnaire import read_form, read_survey_with_form
from tabsoda.reading.excel import ENDINGS as EXCEL_ENDINGS
from tabsoda.reading.files import ENDINGS
from tabsoda.schema.files import load_description, save_schema
from tabsoda.skips.rule_set import RuleSet

USES = ("data", "form", "codebook", "description", "rules")
_OTHERS = (".qsf", ".xml", ".toml", ".json")


def take_file(project: Project, version: Any, path: Path, use: Any = None) -> str:
    """Use a file in a project; nothing is changed if it cannot be read.

    Parameters
    ----------
    project : Project
    version : int
        The version of the project that the request started from.
    path : Path
    use : {"data", "form", "codebook", "description", "rules"}, optional
        What the file is; determined from its name and content if None.

    Returns
    -------
    str
        What the file was used as.
    """
    if use is not None and use not in USES:
        raise InputError("Unknown use of a file", found=repr(use)[:80], expected=", ".join(USES))
    if path.is_dir():
        raise InputError(f"'{path}' is a folder", next_step="Name a file in it")
    if not path.is_file():
        raise InputError(
            f"The file '{path}' does not exist", next_step="Check its name, or drop the file here"
        )
    chosen = use or likely_use(path)
    take = {
        "data": open_survey,
        "form": _take_form,
        "codebook": _take_codebook,
        "description": _take_description,
        "rules": _take_rules,
    }[chosen]
    take(project, version, path.absolute())
    remove_earlier_starts(project)
    return chosen


def likely_use(path: Path) -> str:
    """Return what a file is, from its name and, for TOML and Excel, its content."""
    ending = path.suffix.lower()
    if ending == ".qsf":
        return "form"
    if ending == ".xml":
        return "codebook"
    if ending == ".json":
        return "description"
    if ending == ".toml":
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        return "rules" if "[[rule]]" in text else "description"
    if ending in EXCEL_ENDINGS:
        try:
            read_form(path)
        except InputError:
            return "data"
        return "form"
    return "data"


def checked_name(name: Any) -> str:
    """Return the name of an uploaded file; raise if it is not the plain name of a known format."""
    known = (*ENDINGS, *_OTHERS)
    plain = isinstance(name, str) and name == Path(name).name and len(name.encode()) <= 200
    if not plain or not name.isprintable() or name.startswith(".") or "\\" in name:
        raise InputError("The name of the file is not usable", found=repr(name)[:80])
    if Path(name).suffix.lower() not in known:
        raise InputError(f"The file '{name}' has an unknown extension", expected=", ".join(known))
    return str(name)


def open_survey(project: Project, version: Any, path: Path) -> None:
    """Open a survey file: describe it as far as possible and write ``survey.toml``.

    The same file may have moved or changed; its description is kept. A project without runs may
    get another file; the description and the rules of the file before are put aside.
    """
    path = path.absolute()
    found = {"path": project.path_text(path), "sha256": file_hash(path)}
    before = project.content["data"]
    if before is not None and (
        before["path"] == found["path"] or before["sha256"] == found["sha256"]
    ):
        with project.change(version) as content:
            content["data"] = found
            if not project.description.is_file():
                write_description(project, content)
        return
    if project.data is not None and project.runs():
        raise InputError(
            f"This project already contains runs of '{project.data.name}'",
            next_step="Start another project: tabsoda desk FILE -o FOLDER",
        )
    with project.change(version) as content:
        content["data"] = found
        content["description"] = {
            **dict.fromkeys(("start", "codebook", "form", "written")),
            "settings": [],
            "undone": [],
        }
        if project.data is None:
            write_description(project, content)
            return
        kept = _put_aside(project)
        try:
            write_description(project, content)
        except BaseException:
            _put_back(project, kept)
            raise


def _put_aside(project: Project) -> Path:
    """Move the description and the rules of the file before into a folder of their own."""
    folder = project.folder / "replaced" / time.strftime("%Y%m%d-%H%M%S")
    make_folder(folder)
    for path in (project.description, project.rules):
        if path.exists():
            os.replace(path, folder / path.name)
    return folder


def _put_back(project: Project, folder: Path) -> None:
    for path in folder.iterdir():
        os.replace(path, project.folder / path.name)
    folder.rmdir()


def _take_form(project: Project, version: Any, path: Path) -> None:
    """Take description and rules from a questionnaire, as ``tabsoda questionnaire`` does."""
    data = project.require_data()
    unlisted = project.content["settings"]["unlisted"]
    found = read_survey_with_form(data, path, None, unlisted=unlisted)
    with project.change(version) as content:
        description = content["description"]
        save_schema(found.survey.schema, use_start(project, description))
        description["form"] = {
            "path": project.path_text(path),
            "kind": found.form.kind,
            "questions": len(found.form.questions),
            "absent": list(found.absent),
            "rules": len(found.rules),
            "untranslated": [vars(one) for one in found.untranslated],
        }
        write_description(project, content)
        keep_rules(project)
        found.rules.to_toml(project.rules)


def _take_codebook(project: Project, version: Any, path: Path) -> None:
    project.require_data()
    with project.change(version) as content:
        content["description"]["codebook"] = project.path_text(path)
        write_description(project, content)


def _take_description(project: Project, version: Any, path: Path) -> None:
    project.require_data()
    # An error names the file as its user knows it.
    load_description(path)
    with project.change(version) as content:
        copy_start(project, content["description"], path)
        content["description"]["form"] = None
        write_description(project, content)


def _take_rules(project: Project, version: Any, path: Path) -> None:
    project.require_data()
    RuleSet.from_toml(path)
    with project.change(version):
        keep_rules(project)
        write_text(project.rules, path.read_text(encoding="utf-8-sig"))


def keep_rules(project: Project) -> None:
    """Keep the rules file that is about to be replaced as ``rules.previous.toml``."""
    if project.rules.is_file():
        with atomic_path(project.folder / "rules.previous.toml") as temporary:
            shutil.copyfile(project.rules, temporary)
