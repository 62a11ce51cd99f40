"""Lists of codes in a survey.toml: a code alone, or a code with its label."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, StrictFloat, StrictInt, StrictStr

from tabsoda.schema.column import Code


class Labelled(BaseModel):
    """A code with its label."""

    model_config = ConfigDict(extra="forbid")
    code: StrictInt | StrictFloat | StrictStr
    label: StrictStr


Codes = list[StrictInt | StrictFloat | StrictStr | Labelled]


def take(entries: Iterable[Code | Labelled], labels: dict[Code, str]) -> list[Code]:
    """Return the codes of a list, and add their labels to ``labels``."""
    codes: list[Code] = []
    for entry in entries:
        if isinstance(entry, Labelled):
            labels[entry.code] = entry.label
            codes.append(entry.code)
        else:
            codes.append(entry)
    return codes
