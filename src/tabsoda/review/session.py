"""A review session: one rules file, one survey and one reviewer."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tabsoda._internal.files import write_text
from tabsoda.errors import InputError
from tabsoda.review.comments import keep_comments
from tabsoda.review.decisions import add, decide, edit
from tabsoda.review.edit_list import EditList
from tabsoda.review.findings import Examined, examine
from tabsoda.review.summary import patterns_summary, rules_summary
from tabsoda.skips.rule_files import dump_rules
from tabsoda.skips.rule_set import RuleSet, time_stamp
from tabsoda.skips.rules import RuleStatus
from tabsoda.survey import Survey

_LONGEST_NOTE = 4000


class StaleVersionError(InputError):
    """The file contains newer decisions than the reviewer has seen."""


class ReviewSession:
    """Reads, changes and saves a rules file on behalf of one reviewer.

    The file has priority: it is read again whenever it changed on disk, and a change is saved only
    if it starts from the current content. Two programs that save within the same milliseconds are
    not detected.

    Parameters
    ----------
    path : Path
        The rules file.
    survey : Survey
    by : str
        Who reviews.
    suppress_below : int, default 0
        Counts below this are hidden.
    description : Path, optional
        The description of the survey, whose edits are listed as well.
    """

    def __init__(
        self,
        path: Path,
        survey: Survey,
        by: str,
        suppress_below: int = 0,
        description: Path | None = None,
    ) -> None:
        self.path = path
        self.survey = survey
        self.by = by
        self.suppress_below = suppress_below
        self.edits = EditList(description, survey, suppress_below)
        self._lock = threading.Lock()
        self._version = ""
        self._undo: list[RuleSet] = []
        self._refresh()

    def summary(self) -> dict[str, Any]:
        """Return everything the page shows except patterns, ready for JSON."""
        with self._lock:
            self._refresh()
            return self._summary()

    def patterns(self, identifier: str) -> dict[str, Any]:
        """Return the example patterns of one rule, ready for JSON."""
        with self._lock:
            self._refresh()
            return patterns_summary(self._rules, identifier, self._examined, self.suppress_below)

    def decide(
        self, version: str, identifiers: Sequence[str], action: str, note: Any = None
    ) -> dict[str, Any]:
        """Approve, reject, reopen or annotate rules; see :func:`tabsoda.review.decisions.decide`.

        Raises
        ------
        StaleVersionError
            If the file has changed since the reviewer saw it.
        """
        note = _checked_note(note)
        return self._change(
            version,
            lambda rules: decide(
                rules, identifiers, action, by=self.by, at=time_stamp(), note=note
            ),
        )

    def edit(self, version: str, identifier: str, when: Any, note: Any = None) -> dict[str, Any]:
        """Replace a rule's conditions; see :func:`tabsoda.review.decisions.edit`."""
        return self._change(version, self._edited(identifier, when, _checked_note(note)))

    def add(self, version: str, target: Any, when: Any, note: Any = None) -> dict[str, Any]:
        """Add a rule; see :func:`tabsoda.review.decisions.add`. ``added`` is its identifier."""
        note = _checked_note(note)
        with self._lock:
            self._require(version)
            _, identifier = self._added(target, when, note)
        summary = self._change(version, lambda rules: self._added(target, when, note)[0])
        return summary | {"added": identifier}

    def choose_rival(self, version: str, identifier: str, index: Any) -> dict[str, Any]:
        """Exchange a rule's conditions with those of a rival; see :meth:`RuleSet.choose_rival`."""
        if type(index) is not int:
            raise InputError("The rival is not a number", found=repr(index)[:80])
        return self._change(
            version, lambda rules: rules.choose_rival(identifier, index, by=self.by)
        )

    def preview(self, identifier: str | None, when: Any, target: Any = None) -> dict[str, Any]:
        """Return an edited or new rule without saving it."""
        with self._lock:
            self._refresh()
            if identifier is None:
                rules, identifier = self._added(target, when, None)
            else:
                rules = self._edited(identifier, when, None)(self._rules)
            examined = examine(rules, self.survey.table)
            summary = rules_summary(rules, examined, self.suppress_below)
            return next(rule for rule in summary["rules"] if rule["id"] == identifier)

    def undo(self, version: str) -> dict[str, Any]:
        """Undo the last change of this session, and remove its record."""
        with self._lock:
            self._require(version)
            if not self._undo:
                raise InputError("There is nothing to undo")
            self._save(self._undo[-1])
            self._undo.pop()
            return self._summary()

    @property
    def progress(self) -> tuple[int, int]:
        """The number of reviewed rules, and the number of rules."""
        with self._lock:
            rules = self._rules
            return sum(rule.status.value != "proposed" for rule in rules), len(rules)

    def _edited(self, identifier: str, when: Any, note: str | None) -> Callable[[RuleSet], RuleSet]:
        return lambda rules: edit(
            rules, identifier, when, self.survey.table, by=self.by, at=time_stamp(), note=note
        )

    def _added(self, target: Any, when: Any, note: str | None) -> tuple[RuleSet, str]:
        return add(
            self._rules,
            str(target),
            when,
            self.survey.table,
            by=self.by,
            at=time_stamp(),
            note=note,
        )

    def _change(self, version: str, change: Callable[[RuleSet], RuleSet]) -> dict[str, Any]:
        with self._lock:
            self._require(version)
            before = self._rules
            self._save(change(before))
            self._undo.append(before)
            return self._summary()

    def _require(self, version: str) -> None:
        self._refresh()
        if version != self._version:
            last = max((rule for rule in self._rules if rule.at), key=lambda r: r.at, default=None)
            raise StaleVersionError(
                f"'{self.path.name}' contains newer decisions than this page, so nothing was saved",
                found=None if last is None else f"{last.identifier}, by {last.by} at {last.at}",
                next_step="Look at the newer decisions, then decide again",
            )

    def _refresh(self) -> None:
        """Read the file again if it changed; earlier changes can then not be undone."""
        version = _version_of(self.path)
        if version == self._version:
            return
        rules = RuleSet.from_toml(self.path)
        self._examined: Examined = examine(rules, self.survey.table)
        self._rules, self._version, self._undo = rules, version, []

    def _save(self, rules: RuleSet) -> None:
        # Approving, the most frequent decision, does not change the routing.
        same = _routing_of(rules) == _routing_of(self._rules)
        examined = self._examined if same else examine(rules, self.survey.table)
        try:
            text = keep_comments(self.path.read_text(encoding="utf-8-sig"), dump_rules(rules))
            write_text(self.path, text)
        except OSError as error:
            raise InputError(
                f"'{self.path.name}' cannot be written",
                found=error.strerror or str(error),
                next_step="Free disk space or change its permissions, then decide again; the file"
                " is unchanged",
            ) from error
        self._rules, self._examined = rules, examined
        self._version = _hash(text.encode())

    def _summary(self) -> dict[str, Any]:
        return {
            "version": self._version,
            "file": self.path.name,
            "source": self.survey.source,
            "by": self.by,
            "rows": self.survey.table.shape[0],
            "suppress_below": self.suppress_below,
            "can_undo": bool(self._undo),
            **rules_summary(self._rules, self._examined, self.suppress_below),
        }


def _routing_of(rules: RuleSet) -> list[tuple[object, ...]]:
    """Return the parts of rules that determine where they fire."""
    return [(r.identifier, r.target, r.any_of, r.status is RuleStatus.REJECTED) for r in rules]


def _checked_note(note: Any) -> str | None:
    if note is None:
        return None
    if not isinstance(note, str) or _has_surrogates(note):
        raise InputError("The note is not valid text", found=repr(note)[:80])
    if len(note) > _LONGEST_NOTE:
        raise InputError(
            "The note is too long",
            found=f"{len(note):,} characters",
            expected=f"at most {_LONGEST_NOTE:,}",
        )
    return note


def _has_surrogates(text: str) -> bool:
    """Whether a text contains a lone surrogate, which cannot be encoded."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _version_of(path: Path) -> str:
    try:
        return _hash(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"The rules file '{path}' cannot be read", found=error.strerror or str(error)
        ) from error


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
