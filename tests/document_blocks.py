"""Code blocks of Markdown pages, and how tests run them."""

from __future__ import annotations

import functools
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?"
    r"```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is the content of, and why it is not run."""

    language: str
    text: str
    title: str | None = None
    reason: str | None = None

    @property
    def commands(self) -> list[list[str]]:
        """The words of each ``tabsoda`` line."""
        lines = self.text.splitlines() if self.language == "sh" else []
        return [shlex.split(line) for line in lines if line.startswith("tabsoda ")]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(found["language"], found["text"], found["title"], found["reason"])
        for found in _BLOCK.finditer(text)
    ]


def fit_quickly(patch: pytest.MonkeyPatch) -> None:
    """Let every fit of this process have the quality "tiny", whatever quality it asks for."""
    from tabsoda.engines import QUALITIES, settings_for

    @functools.wraps(settings_for)
    def tiny(name: str, n_rows: int, n_columns: int, changes: Any = None) -> Any:
        return settings_for("tiny" if name in QUALITIES else name, n_rows, n_columns, changes)

    for place in ("tabsoda.imputer.imputer", "tabsoda.bench.methods.tabsoda"):
        patch.setattr(f"{place}.settings_for", tiny)
