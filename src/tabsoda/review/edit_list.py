"""The edits of a description on the review page: listed with counts, approved one by one."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_text
from tabsoda.edits.checking import check_edits
from tabsoda.edits.edit_set import EditSet
from tabsoda.errors import InputError
from tabsoda.schema.edit import Edit
from tabsoda.schema.files import load_description
from tabsoda.schema.toml_form import parse_description
from tabsoda.survey import Survey

_HEADER = re.compile(r"\s*\[\[\s*edit\s*\]\]")
_TABLE = re.compile(r"\s*\[")
_APPROVED = re.compile(r"\s*approved\s*=")


class EditList:
    """The edits in a survey.toml; a decision changes one line of the file and nothing else.

    Parameters
    ----------
    path : Path or None
        The description; None, or another format, if there is nothing to decide here.
    survey : Survey
        The data, read with this description.
    suppress_below : int, default 0
        Counts below this are hidden.
    """

    def __init__(self, path: Path | None, survey: Survey, suppress_below: int = 0) -> None:
        self.path = path if path is not None and path.suffix.lower() == ".toml" else None
        self.survey = survey
        self.suppress_below = suppress_below
        self._lock = threading.Lock()

    def summary(self) -> dict[str, Any]:
        """Return the file and its edits with counts, ready for JSON."""
        if self.path is None:
            return {"file": "", "edits": []}
        listed = load_description(self.path).edits
        return {"file": self.path.name, "edits": [self._described(edit) for edit in listed]}

    def decide(self, number: Any, approved: Any, rule: Any) -> dict[str, Any]:
        """Approve an edit, or take the approval back; return the new summary.

        Parameters
        ----------
        number : int
            Its place in the file, from 0.
        approved : bool
        rule : str
            Its rule as the reviewer saw it; the file may have changed since.
        """
        with self._lock:
            if self.path is None:
                raise InputError("The description contains no edits that can be decided here")
            text = self.path.read_text(encoding="utf-8-sig")
            edits = parse_description(text, self.path.name).edits
            known = type(number) is int and 0 <= number < len(edits)
            if not known or edits[number].rule != rule or type(approved) is not bool:
                raise InputError(
                    f"'{self.path.name}' does not contain this edit any more",
                    found=repr(rule)[:120],
                    next_step="Load the page again",
                )
            write_text(self.path, self._changed(text, number, approved, edits))
        return self.summary()

    def _changed(self, text: str, number: int, approved: bool, edits: tuple[Edit, ...]) -> str:
        """Return the file with the line about approval of one edit written anew."""
        lines = text.splitlines(keepends=True)
        headers = [place for place, line in enumerate(lines) if _HEADER.match(line)]
        if number < len(headers):
            start = headers[number] + 1
            rest = range(start, len(lines))
            end = next((at for at in rest if _TABLE.match(lines[at])), len(lines))
            kept = [line for line in lines[start:end] if not _APPROVED.match(line)]
            new = f"approved = {str(approved).lower()}\n"
            text = "".join([*lines[:start], new, *kept, *lines[end:]])
        wanted = [*edits]
        wanted[number] = replace(edits[number], approved=approved)
        if list(parse_description(text, "").edits) != wanted:
            # Such as an inline list of edits.
            raise InputError(
                "The edits are written in a form that the page cannot change",
                found=f"edit {number + 1}",
                expected="a table [[edit]] for each",
                next_step="Write approved = true in the file",
            )
        return text

    def _described(self, edit: Edit) -> dict[str, Any]:
        schema = replace(self.survey.schema, edits=(replace(edit, approved=True),), derivations=())
        edits = EditSet.of(schema, self.survey.table)
        finding = next(f for f in check_edits(edits, self.survey.table) if f.kind == "edit")
        counts = {"known": finding.known, "violated": finding.violated}
        hidden = {name: 0 < n < self.suppress_below for name, n in counts.items()}
        return {
            "rule": edit.rule,
            "name": edit.name,
            "label": edit.label,
            "approved": edit.approved,
            **{name: None if hidden[name] else n for name, n in counts.items()},
        }
