"""A person's judgement of a survey file: kinds, roles, codes and gates, as written in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JUDGED = Path(__file__).resolve().parent / "judged"


@dataclass(frozen=True)
class JudgedColumn:
    """What is right for one column; where two answers are defensible, both are listed.

    Attributes
    ----------
    name : str
    kinds : tuple of str
        "continuous", "nominal", "ordinal"; "any" where the kind does not matter.
    roles : tuple of str
    codes : mapping of str to tuple of str
        Codes that are not answers, and the meanings that are right for each.
    answers : tuple of str
        Codes that look like missing codes and are answers.
    order : tuple of str
        The answers of an ordinal in order; empty where ascending codes are the order.
    """

    name: str
    kinds: tuple[str, ...]
    roles: tuple[str, ...] = ("question",)
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkipCodes:
    """Codes that give the truth about skips.

    Attributes
    ----------
    by_column : mapping of str to tuple of str
        Columns with their own skip codes.
    codes : tuple of str
        Skip codes of the other columns; "blank" stands for empty cells.
    columns : tuple of str
        The columns ``codes`` holds for; empty for all.
    nonresponse : tuple of str
        Codes of refusals and the like, made blank too, so that blanks are a mixture.
    exclude : tuple of str
        Columns left as they are.
    """

    by_column: Mapping[str, tuple[str, ...]]
    codes: tuple[str, ...]
    columns: tuple[str, ...]
    nonresponse: tuple[str, ...]
    exclude: tuple[str, ...]


@dataclass(frozen=True)
class Judgement:
    """All that was judged of one file.

    Attributes
    ----------
    facts : mapping
        name, set ("dev" or "heldout"), survey, source, file, format, language, rows, columns.
    columns : tuple of JudgedColumn
    design : mapping of str to tuple of str
        Columns of the whole file that are not questions, and their right roles.
    gates : mapping of str to tuple of str
        Skipped questions, and the columns that route past them.
    skips : SkipCodes or None
    """

    facts: Mapping[str, Any]
    columns: tuple[JudgedColumn, ...]
    design: Mapping[str, tuple[str, ...]]
    gates: Mapping[str, tuple[str, ...]]
    skips: SkipCodes | None

    @property
    def name(self) -> str:
        """Short name of the file, and of its folder."""
        return str(self.facts["name"])


def load_judgement(path: Path) -> Judgement:
    """Read one judgement file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    columns = [
        JudgedColumn(
            name,
            tuple(group["kind"]),
            tuple(group.get("role", ("question",))),
            {code: tuple(meanings) for code, meanings in group.get("codes", {}).items()},
            tuple(group.get("answers", ())),
            tuple(group.get("order", ())),
        )
        for group in content.pop("judged")
        for name in group["columns"]
    ]
    design = {name: tuple(roles) for name, roles in content.pop("design", {}).items()}
    gates = {
        target: tuple(entry["gate"])
        for entry in content.pop("gate", [])
        for target in entry["targets"]
    }
    skips = _skip_codes(content.pop("skips", None))
    return Judgement(content, tuple(columns), design, gates, skips)


def load_all() -> list[Judgement]:
    """Read every judgement, development files first."""
    found = [load_judgement(path) for path in sorted(JUDGED.glob("*.toml"))]
    return sorted(found, key=lambda judgement: (judgement.facts["set"], judgement.name))


def _skip_codes(entry: Mapping[str, Any] | None) -> SkipCodes | None:
    if entry is None:
        return None
    by_column = {name: tuple(codes) for name, codes in entry.get("by_column", {}).items()}
    return SkipCodes(
        by_column,
        tuple(entry.get("codes", ())),
        tuple(entry.get("columns", ())),
        tuple(entry.get("nonresponse", ())),
        tuple(entry.get("except", ())),
    )
