"""Read and write survey.toml, the editable description of a survey.

::

    [[variable]]
    name = "AC1002"
    label = "Ever smoked a cigarette"
    kind = "nominal"
    levels = [
        { code = 1, label = "Yes" },
        { code = 2, label = "No" },
    ]
    skip = [{ code = -1, label = "Inapplicable" }]
    refused = [-7]

The order of the tables is the order of the questionnaire, the order of the levels that of an
ordinal. ``skip``, ``refused``, ``dont_know``, ``blank`` and ``other`` list the codes that are not
answers; the code ``""`` is an empty text, ``"."`` an empty cell of any type.

Corrections of many columns (:mod:`tabsoda.schema.corrections`) may precede them, and
``[level_sets]``, lists of levels that a variable names instead of repeating them.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tabsoda.errors import InputError
from tabsoda.schema.column import Code, Column, ColumnKind, ColumnRole, Confidence, Reason
from tabsoda.schema.correction_form import (
    Codes,
    CorrectionForm,
    Labelled,
    LevelSets,
    ReasonOrAnswer,
    named_levels,
    take,
)
from tabsoda.schema.corrections import Correction
from tabsoda.schema.description import Description
from tabsoda.schema.edit import Derivation, Edit
from tabsoda.schema.schema import Schema
from tabsoda.schema.unknown_keys import unknown_key

FORMAT_VERSION = 1
_HEADER = """\
# Survey description. Edit it freely; the order of the variables is that of the questionnaire.
# role: question if absent; columns of role id, weight, stratum, cluster or ignore stay unchanged.
# kind: continuous, nominal or ordinal (levels in their order).
# skip, refused, dont_know, blank, other: codes that are not answers, by reason.
# confidence: how certain the guess of the kind is; remove it once you have checked the kind.
# guessed: the guess and its reason before you gave the kind or role; for information only.
# minimum, maximum: bounds of a number. [[edit]] rule = "AGEFIRST <= AGE": what answers satisfy.
# select_all: the question of which the column is a box; who ticked another did not tick it.
# [[derive]] formula = "BMI = KILOS / (HEIGHT / 100) ** 2": a variable computed from others.
"""
_LINE = 96
# Keys of which a description needs at least one.
_CONTENTS = ("variable", "columns", "missing", "blanks", "edit", "derive")
_HEADER_LINE = re.compile(r"\s*\[\[\s*(edit|derive)\s*\]\]")
# Labelled levels that this many columns share are written once, under [level_sets].
_FEWEST_SHARING = 3


class _Variable(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: StrictStr = Field(min_length=1)
    label: StrictStr = ""
    role: Literal["question", "id", "weight", "stratum", "cluster", "ignore"] = "question"
    kind: Literal["continuous", "nominal", "ordinal"] | None = None
    levels: Codes | StrictStr = []
    skip: Codes = []
    refused: Codes = []
    dont_know: Codes = []
    blank: Codes = []
    other: Codes = []
    more_labels: list[Labelled] = []
    universe: StrictStr = ""
    note: StrictStr = ""
    confidence: Literal["certain", "likely", "doubtful"] | None = None
    guessed: StrictStr = ""
    minimum: StrictInt | StrictFloat | None = None
    maximum: StrictInt | StrictFloat | None = None
    select_all: StrictStr = ""


class _Edit(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rule: StrictStr = Field(min_length=1)
    name: StrictStr = ""
    label: StrictStr = ""
    approved: StrictBool = True


class _Derivation(BaseModel):
    model_config = ConfigDict(extra="forbid")
    formula: StrictStr = Field(min_length=1)
    name: StrictStr = ""
    label: StrictStr = ""
    tolerance: StrictInt | StrictFloat | None = Field(default=None, ge=0)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal[1] = 1
    missing: dict[str, ReasonOrAnswer] = {}
    blanks: ReasonOrAnswer | None = None
    level_sets: LevelSets = {}
    columns: dict[str, CorrectionForm] = {}
    variable: list[_Variable] = []
    edit: list[_Edit] = []
    derive: list[_Derivation] = []

    @model_validator(mode="after")
    def _describes_something(self) -> _Document:
        if not any(getattr(self, name) for name in _CONTENTS):
            raise PydanticCustomError("missing", "no variable")
        return self

    def corrections(self) -> tuple[Correction, ...]:
        """Return the corrections, those of the whole file first."""
        found = []
        if self.missing or self.blanks:
            form = CorrectionForm(missing=self.missing, blanks=self.blanks)
            found.append(form.correction("*", {}, whole_file=True))
        patterns = self.columns.items()
        return (*found, *(form.correction(name, self.level_sets) for name, form in patterns))


_ENTRIES: dict[str, type[BaseModel]] = {"edit": _Edit, "derive": _Derivation}


def parse_description(text: str, source: str) -> Description:
    """Read a survey.toml; ``source`` names it in messages."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Beside errors of TOML: numbers with thousands of digits, very deep nesting.
        raise InputError(
            f"The survey description '{source}' is not valid TOML",
            found=str(error),
            next_step="Correct that line; texts need quotes",
        ) from error
    try:
        document = _Document.model_validate(content)
    except ValidationError as error:
        raise _explain(error, content, source) from error
    columns = tuple(_column(variable, document.level_sets) for variable in document.variable)
    lines = _header_lines(text)
    return Description(
        Schema(columns) if columns else None,
        document.corrections(),
        tuple(
            Edit(one.rule, one.name, one.label, one.approved, _place(source, lines["edit"], number))
            for number, one in enumerate(document.edit)
        ),
        tuple(
            Derivation.of(
                one.formula,
                one.name,
                one.label,
                one.tolerance,
                _place(source, lines["derive"], number),
            )
            for number, one in enumerate(document.derive)
        ),
    )


def _header_lines(text: str) -> dict[str, list[int]]:
    """Return the lines, from 1, of the headers [[edit]] and [[derive]]; the parser has none."""
    lines: dict[str, list[int]] = {"edit": [], "derive": []}
    for number, line in enumerate(text.splitlines(), 1):
        found = _HEADER_LINE.match(line)
        if found is not None:
            lines[found.group(1)].append(number)
    return lines


def _place(source: str, lines: list[int], number: int) -> str:
    """Return file and line of an entry; of an inline list, the file alone."""
    return f"'{source}', line {lines[number]}" if number < len(lines) else f"'{source}'"


def _column(variable: _Variable, level_sets: LevelSets) -> Column:
    labels: dict[Code, str] = {}
    listed = variable.levels
    if isinstance(listed, str):
        listed = named_levels(listed, level_sets, variable.name)
    levels = tuple(take(listed, labels))
    special: dict[Code, Reason] = {}
    for reason in Reason:
        for code in take(getattr(variable, reason.value), labels):
            if code in special:
                raise InputError(
                    "lists a code twice among those that are not answers",
                    column=variable.name,
                    found=f"{code!r} as {special[code].value} and as {reason.value}",
                    expected="each code once",
                )
            special[code] = reason
    for entry in variable.more_labels:
        labels[entry.code] = entry.label
    role = ColumnRole(variable.role)
    kind = variable.kind
    if kind is None:
        if role is ColumnRole.QUESTION and not variable.select_all:
            raise InputError(
                "has no kind",
                column=variable.name,
                expected="kind = continuous, nominal or ordinal",
                next_step="Add it to the survey description",
            )
        kind = "continuous" if role is ColumnRole.WEIGHT else "nominal"
    return Column(
        variable.name,
        ColumnKind(kind),
        levels,
        variable.label,
        labels,
        special,
        role,
        variable.universe,
        variable.note,
        Confidence(variable.confidence) if variable.confidence else None,
        variable.guessed,
        variable.minimum,
        variable.maximum,
        variable.select_all,
    )


def _explain(error: ValidationError, content: Mapping[str, Any], source: str) -> InputError:
    """Turn pydantic's first error into an InputError with variable, key and expected value."""
    errors = error.errors()
    # A misspelt key is also a missing one; the misspelling is the helpful error.
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    where = list(first["loc"])
    column, in_columns = None, where[:1] == ["columns"]
    if where[:1] == ["variable"] and len(where) > 1:
        entry = content["variable"][int(where[1])]
        number = f"number {int(where[1]) + 1}"
        column = str(entry.get("name", number)) if isinstance(entry, Mapping) else number
        where = where[2:]
    elif in_columns and len(where) > 2:
        column, where = str(where[1]), where[2:]
    entry_form = _ENTRIES.get(str(where[0])) if len(where) > 2 and column is None else None
    kind = ""
    if entry_form is not None:
        kind, where = f"{where[0]} number {int(where[1]) + 1} in ", where[2:]
    if first["type"] == "extra_forbidden":
        form = CorrectionForm if in_columns else _Variable if column else entry_form or _Document
        place = "" if len(where) == 1 else str(where[0])
        known = Labelled.model_fields if place else form.model_fields
        return unknown_key(str(where[-1]), known, f"{kind}'{source}'", column=column, place=place)
    # Members of a union add their own name to the location, after the key.
    shown = [part for part in where[:2] if part not in ("int", "float")]
    key = ".".join(str(part) for part in shown if isinstance(part, int) or part.islower())
    if where[:1] == ["missing"] and len(where) > 1:
        key = f"missing.{where[1]}"
    is_absent = first["type"] == "missing"
    whole = "is not complete" if is_absent else "is not valid"
    expected = first["msg"].removeprefix("Input should be ")
    if len(shown) < len(where[:2]):
        expected = "a number"
    return InputError(
        f"is not described correctly in '{source}'"
        if column
        else f"The survey description '{source}' {whole}",
        column=column,
        found=kind + (f"no {key or 'variable'}" if is_absent else f"{key} = {first['input']!r}"),
        expected=None if is_absent else expected,
        next_step="Correct it; tabsoda inspect -o writes a description to start from",
    )


def format_toml(schema: Schema) -> str:
    """Write a schema as survey.toml."""
    sets = _shared_levels(schema)
    parts = [f"{_HEADER}format = {FORMAT_VERSION}\n"]
    if sets:
        parts.append("[level_sets]\n" + "\n".join(_format_set(*one) for one in sets.items()))
    parts += [_format_variable(column, sets) for column in schema]
    parts += [format_edit(edit) for edit in schema.edits]
    return "\n".join([*parts, *(_format_derivation(one) for one in schema.derivations)])


def format_edit(edit: Edit) -> str:
    """Write one edit as TOML."""
    keys = {"name": edit.name, "label": edit.label}
    lines = ["[[edit]]", f"rule = {_literal(edit.rule)}"]
    lines += [f"{key} = {_literal(text)}" for key, text in keys.items() if text]
    return "\n".join([*lines, *["approved = false"] * (not edit.approved)]) + "\n"


def _format_derivation(one: Derivation) -> str:
    lines = ["[[derive]]", f"name = {_literal(one.name)}", f"formula = {_literal(one.formula)}"]
    if one.label:
        lines.append(f"label = {_literal(one.label)}")
    if one.tolerance is not None:
        lines.append(f"tolerance = {_literal(one.tolerance)}")
    return "\n".join(lines) + "\n"


_LevelSet = tuple[tuple[Code, str | None], ...]


def _labelled_levels(column: Column) -> _LevelSet:
    return tuple((level, column.level_labels.get(level)) for level in column.levels)


def _shared_levels(schema: Schema) -> dict[_LevelSet, str]:
    """Name the labelled levels that several columns share, to write them once."""
    counts = Counter(_labelled_levels(column) for column in schema)
    shared = [
        levels
        for levels, count in counts.items()
        if count >= _FEWEST_SHARING and any(label for _, label in levels)
    ]
    return {levels: f"set_{number}" for number, levels in enumerate(shared, 1)}


def _format_set(levels: _LevelSet, name: str) -> str:
    labels = {level: label for level, label in levels if label is not None}
    return f"{name} = {_format_codes([level for level, _ in levels], labels)}\n"


def _format_variable(column: Column, sets: Mapping[_LevelSet, str]) -> str:
    labels = dict(column.level_labels)
    lines = ["[[variable]]", f"name = {_literal(column.name)}"]
    if column.label:
        lines.append(f"label = {_literal(column.label)}")
    if column.role is not ColumnRole.QUESTION:
        lines.append(f"role = {_literal(column.role.value)}")
    lines.append(f"kind = {_literal(column.kind.value)}")
    shared = sets.get(_labelled_levels(column))
    if shared is not None:
        lines.append(f"levels = {_literal(shared)}")
        labels = {code: text for code, text in labels.items() if code not in column.levels}
    elif column.levels:
        lines.append(f"levels = {_format_codes(column.levels, labels)}")
    for reason in Reason:
        codes = [code for code, why in column.special_codes.items() if why is reason]
        if codes:
            lines.append(f"{reason.value} = {_format_codes(codes, labels)}")
    if labels:
        lines.append(f"more_labels = {_format_codes(list(labels), labels)}")
    if column.universe:
        lines.append(f"universe = {_literal(column.universe)}")
    if column.note:
        lines.append(f"note = {_literal(column.note)}")
    if column.confidence is not None:
        lines.append(f"confidence = {_literal(column.confidence.value)}")
    if column.guessed:
        lines.append(f"guessed = {_literal(column.guessed)}")
    if column.select_all:
        lines.append(f"select_all = {_literal(column.select_all)}")
    for key, bound in (("minimum", column.minimum), ("maximum", column.maximum)):
        if bound is not None:
            lines.append(f"{key} = {_literal(bound)}")
    return "\n".join(lines) + "\n"


def _format_codes(codes: Iterable[Code], labels: dict[Code, str]) -> str:
    """Write codes on one line if they fit, else one per line; used labels are removed."""
    items = [
        f"{{ code = {_literal(code)}, label = {_literal(labels.pop(code))} }}"
        if code in labels
        else _literal(code)
        for code in codes
    ]
    line = f"[{', '.join(items)}]"
    if len(items) == 1 or (len(line) <= _LINE and not line.startswith("[{")):
        return line
    return "[\n" + "".join(f"    {item},\n" for item in items) + "]"


def _literal(value: Code) -> str:
    """Write one value as TOML."""
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")
