"""Who reviews, and how a rules file is saved on their behalf."""

from __future__ import annotations

import getpass
from pathlib import Path

from tabsoda._internal.files import write_text
from tabsoda.errors import InputError
from tabsoda.review.comments import keep_comments
from tabsoda.skips.rule_files import dump_rules
from tabsoda.skips.rule_set import RuleSet


def login_name() -> str:
    """Return the name of the user; ``"unknown"`` if there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # In a container, the user may not have a name.
        return "unknown"


def save_rules(rules: RuleSet, path: Path) -> None:
    """Write an existing rules file anew, and keep its comments."""
    try:
        write_text(path, keep_comments(path.read_text(encoding="utf-8-sig"), dump_rules(rules)))
    except OSError as error:
        raise InputError(
            f"The rules file '{path}' cannot be written",
            found=error.strerror or str(error),
            next_step="It was not changed; free some disk space, or change its permissions",
        ) from error
