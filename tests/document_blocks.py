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
# A fit that learns nothing worth knowing, in about a second. Few draws, few columns at a time.
TINY: dict[str, dict[str, Any]] = {
    "backbone": {"width": 16, "depth": 1},
    "training": {"max_steps": 10, "min_epoch_steps": 5},
    "sampler": {"draw_steps": 2, "steps": 4},
    "experts": {"trees": "none"},
}
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
    """Let every fit of this process be tiny, whatever quality it asks for."""
    from tabsoda.quality import settings_for

    @functools.wraps(settings_for)
    def tiny(name: str, n_rows: int, n_columns: int, changes: Any = None) -> Any:
        heads = name in ("fast", "balanced", "best")
        small = TINY if heads else {g: s for g, s in TINY.items() if g != "experts"}
        return settings_for(name, n_rows, n_columns, changes).replace(**small)

    for place in ("tabsoda.imputer", "tabsoda.bench.methods.tabsoda"):
        patch.setattr(f"{place}.settings_for", tiny)
