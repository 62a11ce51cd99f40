"""Parse corrections from survey.toml and from ``tabsoda inspect --set``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, StrictFloat, StrictInt, StrictStr, ValidationError

from tabsoda.errors import InputError
from tabsoda.schema.codes import numeric_if_possible
from tabsoda.schema.column import Code, ColumnKind, ColumnRole, Reason
from tabsoda.schema.corrections import ANSWER, EMPTY_CELL, Correction


class Labelled(BaseModel):
    """A code with its label."""

    model_config = ConfigDict(extra="forbid")
    code: StrictInt | StrictFloat | StrictStr
    label: StrictStr


# A list of codes: a code alone, or a code with its label.
Codes = list[StrictInt | StrictFloat | StrictStr | Labelled]
ReasonOrAnswer = Literal["skip", "refused", "dont_know", "blank", "other", "answer"]
LevelSets = dict[str, Codes]

_SETTING = re.compile(
    r"^(?:(?P<pattern>.+)\.)?(?P<field>kind|role|label|levels|select_all|blanks|missing\.(?P<code>[^=]+))"
    r"=(?P<value>.*)$",
    re.DOTALL,
)
_FORMS = (
    "'PATTERN.kind=ordinal', 'PATTERN.role=ignore', 'PATTERN.levels=1,2,3',"
    " 'PATTERN.select_all=QUESTION', 'PATTERN.missing.-9=refused', 'missing.-9=refused'"
    " or 'blanks=skip'"
)


class CorrectionForm(BaseModel):
    """The keys of ``[columns."PATTERN"]``."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["continuous", "nominal", "ordinal"] | None = None
    role: Literal["question", "id", "weight", "stratum", "cluster", "ignore"] | None = None
    label: StrictStr | None = None
    levels: Codes | StrictStr | None = None
    missing: dict[str, ReasonOrAnswer] = {}
    blanks: ReasonOrAnswer | None = None
    minimum: StrictInt | StrictFloat | None = None
    maximum: StrictInt | StrictFloat | None = None
    select_all: StrictStr | None = None

    def correction(
        self, pattern: str, level_sets: Mapping[str, Codes], *, whole_file: bool = False
    ) -> Correction:
        """Return the correction for a pattern."""
        labels: dict[Code, str] = {}
        levels = self.levels
        if isinstance(levels, str):
            levels = named_levels(levels, level_sets, pattern)
        codes = {numeric_if_possible(code): _reason(why) for code, why in self.missing.items()}
        if self.blanks is not None:
            codes[EMPTY_CELL] = _reason(self.blanks)
        return Correction(
            pattern,
            None if self.kind is None else ColumnKind(self.kind),
            None if self.role is None else ColumnRole(self.role),
            self.label,
            None if levels is None else tuple(take(levels, labels)),
            labels,
            codes,
            whole_file,
            self.minimum,
            self.maximum,
            self.select_all,
        )


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


def named_levels(name: str, level_sets: Mapping[str, Codes], where: str) -> Codes:
    """Return a level set by its name; ``where`` names the column for error messages."""
    if name not in level_sets:
        raise InputError(
            "names a level set that is not in the description",
            column=where,
            found=repr(name),
            expected=", ".join(level_sets) or "a table [level_sets] with that name",
            next_step="Add it under [level_sets], or list the levels",
        )
    return level_sets[name]


def parse_settings(settings: Iterable[str]) -> tuple[Correction, ...]:
    """Read corrections from texts such as ``Q12_*.kind=ordinal``.

    Neighbouring texts for the same columns are one correction: a kind and its levels belong
    together, because an ordinal of texts is not valid without their order.

    Examples
    --------
    >>> one, two = parse_settings(["Q12_*.kind=ordinal", "missing.-9=refused"])
    >>> one.pattern, one.kind.value, two.whole_file, two.codes[-9].value
    ('Q12_*', 'ordinal', True, 'refused')
    >>> one, = parse_settings(["Q12_*.kind=ordinal", "Q12_*.levels=low,high"])
    >>> one.kind.value, one.levels
    ('ordinal', ('low', 'high'))
    """
    corrections: list[Correction] = []
    for one in map(_parse, settings):
        if corrections and _concern_the_same(corrections[-1], one):
            corrections[-1] = _joined(corrections[-1], one)
        else:
            corrections.append(one)
    return tuple(corrections)


def _concern_the_same(one: Correction, other: Correction) -> bool:
    return (one.pattern, one.whole_file) == (other.pattern, other.whole_file)


def _joined(one: Correction, later: Correction) -> Correction:
    """Return both corrections as one; the later one has priority."""
    given = {
        name: getattr(later, name)
        for name in ("kind", "role", "label", "levels", "select_all")
        if getattr(later, name) is not None
    }
    return replace(one, **given, codes={**one.codes, **later.codes})


def _parse(text: str) -> Correction:
    found = _SETTING.match(text)
    if found is None:
        raise InputError(
            "The correction cannot be parsed",
            found=text,
            expected=f"one of the forms {_FORMS}",
            next_step="Correct the text after --set",
        )
    pattern, field, code, value = found.group("pattern", "field", "code", "value")
    whole_file = pattern is None
    if whole_file and code is None and field != "blanks":
        raise InputError(
            f"The correction does not name the columns whose {field} it gives",
            found=text,
            expected=f"a pattern of names before it, such as Q12_*.{field}={value}",
        )
    content: dict[str, Any] = {field: value}
    if code is not None:
        content = {"missing": {code: value}}
    elif field == "levels":
        content = {"levels": [numeric_if_possible(part.strip()) for part in value.split(",")]}
    try:
        form = CorrectionForm.model_validate(content)
    except ValidationError as error:
        raise InputError(
            "The correction has an unknown value",
            found=text,
            expected=error.errors()[0]["msg"].removeprefix("Input should be "),
            next_step="Correct the text after --set",
        ) from error
    return form.correction(pattern or "*", {}, whole_file=whole_file)


def _reason(name: str) -> Reason | None:
    return None if name == ANSWER else Reason(name)
