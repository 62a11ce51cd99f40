"""The JSON list form of a survey description: one object per column, in questionnaire order.

Keys: name, type (or kind), levels, label, level_labels, note, skip_codes, missing_codes, role,
universe, confidence, guessed, minimum, maximum, select_all, refused_codes, dont_know_codes and
blank_codes. Any other key is an error, as in survey.toml. Codes written as texts (``"8"``,
``"-1.0"``) are read as numbers if the levels are numbers.

With edits or derived variables it is an object: this list as ``variables``, and ``edits`` and
``derive`` with the keys of survey.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tabsoda.errors import InputError
from tabsoda.schema.codes import CodeBook, match_keys, numeric_if_possible
from tabsoda.schema.column import Code, Column, ColumnKind, ColumnRole, Confidence, Reason
from tabsoda.schema.edit import Derivation, Edit
from tabsoda.schema.reasons import reason_from_label
from tabsoda.schema.schema import Schema
from tabsoda.schema.unknown_keys import unknown_key

_CODE_FIELDS = {
    Reason.SKIP: "skip_codes",
    Reason.REFUSED: "refused_codes",
    Reason.DONT_KNOW: "dont_know_codes",
    Reason.BLANK: "blank_codes",
    Reason.OTHER: "missing_codes",
}
_KEYS = (
    *("name", "type", "kind", "levels", "label", "level_labels", "role", "universe", "note"),
    *("confidence", "guessed", "minimum", "maximum", "select_all", *_CODE_FIELDS.values()),
)
_LISTS = ("variables", "edits", "derive")
_EDIT_KEYS = ("rule", "name", "label", "approved")
_DERIVE_KEYS = ("formula", "name", "label", "tolerance")


def parse_json_list(entries: Any, source: str = "the description") -> Schema:
    """Read the list form.

    Examples
    --------
    >>> schema = parse_json_list([{"name": "Q1", "type": "nominal", "levels": [1, 2],
    ...                            "skip_codes": ["-1"], "missing_codes": ["8"]}])
    >>> {code: reason.value for code, reason in schema["Q1"].special_codes.items()}
    {-1: 'skip', 8: 'other'}
    """
    if isinstance(entries, Mapping):
        unknown = [key for key in entries if key not in _LISTS]
        if unknown:
            raise unknown_key(str(unknown[0]), _LISTS, source)
        return replace(
            parse_json_list(entries.get("variables"), source),
            edits=tuple(
                Edit(
                    _text(one, "rule", source),
                    _text(one, "name", source),
                    _text(one, "label", source),
                    one.get("approved", True) is True,
                    f"{source}, edit {number}",
                )
                for number, one in _entries(entries, "edits", _EDIT_KEYS, source)
            ),
            derivations=tuple(
                Derivation.of(
                    _text(one, "formula", source),
                    _text(one, "name", source),
                    _text(one, "label", source),
                    _number(one, "tolerance", None),
                    f"{source}, derive {number}",
                )
                for number, one in _entries(entries, "derive", _DERIVE_KEYS, source)
            ),
        )
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(
            f"{source} is not a survey description",
            found=type(entries).__name__,
            expected="a list with one object per column, each with name and type",
        )
    return Schema(tuple(_column(entry, number, source) for number, entry in enumerate(entries, 1)))


def _entries(
    content: Mapping[str, Any], field: str, keys: tuple[str, ...], source: str
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the numbered objects of a list; raise if one has another key or lacks the first."""
    for number, one in enumerate(content.get(field) or (), 1):
        if not isinstance(one, Mapping) or not one.get(keys[0]):
            raise InputError(
                f"Entry {number} of {field} in {source} has no {keys[0]}",
                found=repr(one)[:80],
                expected=f"an object with {keys[0]}",
            )
        unknown = [key for key in one if key not in keys]
        if unknown:
            raise unknown_key(str(unknown[0]), keys, f"{field} of {source}")
        yield number, one


def _text(entry: Mapping[str, Any], key: str, source: str) -> str:
    text = entry.get(key) or ""
    if not isinstance(text, str):
        raise InputError(
            f"The {key} of an edit in {source} is not a text",
            found=repr(text)[:80],
            expected="text",
        )
    return text


def _number(entry: Mapping[str, Any], key: str, name: str | None) -> float | None:
    number = entry.get(key)
    if number is None or (isinstance(number, int | float) and not isinstance(number, bool)):
        return number
    raise InputError(
        f"has a {key} that is not a number",
        column=name,
        found=repr(number)[:80],
        expected="a number",
    )


def _column(entry: Any, number: int, source: str) -> Column:
    unknown = [key for key in entry if key not in _KEYS] if isinstance(entry, Mapping) else []
    if unknown:
        name = str(entry.get("name") or f"number {number}")
        raise unknown_key(str(unknown[0]), _KEYS, source, column=name)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise InputError(
            f"Entry {number} of {source} has no name",
            found=repr(entry)[:80],
            expected="an object with name and type",
        )
    name = entry["name"]
    role = _one_of(ColumnRole, entry.get("role", ColumnRole.QUESTION.value), name, "role")
    written = entry.get("type", entry.get("kind"))
    if written is None and (role is not ColumnRole.QUESTION or entry.get("select_all")):
        written = "continuous" if role is ColumnRole.WEIGHT else "nominal"
    kind = _one_of(ColumnKind, written, name, "type")
    levels = tuple(_codes(entry, "levels", name))
    if kind is ColumnKind.CONTINUOUS and levels:
        raise InputError(
            "is continuous and lists levels",
            column=name,
            found=f"{len(levels)} levels",
            expected="no levels, or type nominal or ordinal",
        )
    numeric = not any(isinstance(level, str) for level in levels)
    raw_labels = entry.get("level_labels") or {}
    labels = match_keys({str(k): str(v) for k, v in raw_labels.items()}, levels)
    return Column(
        name,
        kind,
        levels,
        str(entry.get("label") or ""),
        labels,
        _special_codes(entry, name, numeric, labels),
        role,
        str(entry.get("universe") or ""),
        str(entry.get("note") or ""),
        _one_of(Confidence, entry["confidence"], name, "confidence")
        if entry.get("confidence")
        else None,
        str(entry.get("guessed") or ""),
        _number(entry, "minimum", name),
        _number(entry, "maximum", name),
        str(entry.get("select_all") or ""),
    )


def _special_codes(
    entry: Mapping[str, Any], name: str, numeric: bool, labels: Mapping[Code, str]
) -> dict[Code, Reason]:
    special: dict[Code, Reason] = {}
    label_of = CodeBook(labels)
    for reason, field in _CODE_FIELDS.items():
        for written in _codes(entry, field, name):
            code = numeric_if_possible(written) if numeric else written
            if special.get(code, reason) is not reason:
                raise InputError(
                    "gives one code two meanings",
                    column=name,
                    found=f"{written!r} as {special[code].value} and as {reason.value}",
                    expected="each code in one list",
                )
            special[code] = reason
            if reason is Reason.OTHER:
                labelled = label_of.find(code)
                special[code] = _missing_reason(
                    code, labels[labelled] if labelled is not None else ""
                )
    return special


def _missing_reason(code: Code, label: str) -> Reason:
    """Read the reason from the label; a code listed as missing is never a skip."""
    if code == "":
        return Reason.BLANK
    reason = reason_from_label(label, declared=True)
    return Reason.OTHER if reason is None or reason is Reason.SKIP else reason


def _codes(entry: Mapping[str, Any], field: str, name: str) -> list[Code]:
    codes = entry.get(field) or []
    wrong = not isinstance(codes, list | tuple) or any(
        isinstance(code, bool) or not isinstance(code, int | float | str) for code in codes
    )
    if wrong:
        raise InputError(
            f"has {field} that are not a list of codes",
            column=name,
            found=repr(codes)[:80],
            expected="a list of numbers or texts",
        )
    return list(codes)


def _one_of(choices: Any, value: object, name: str, field: str) -> Any:
    known = [choice.value for choice in choices]
    if value not in known:
        raise InputError(
            f"has an unknown {field}",
            column=name,
            found=repr(value),
            expected=" or ".join(known),
            next_step="Correct the survey description",
        )
    return choices(value)


def format_json_list(schema: Schema) -> list[dict[str, Any]]:
    """Write the columns of a schema in the list form."""
    return [_entry(column) for column in schema]


def format_json(schema: Schema) -> list[dict[str, Any]] | dict[str, Any]:
    """Write a schema: a list, or an object if it has edits or derived variables."""
    variables = format_json_list(schema)
    if not (schema.edits or schema.derivations):
        return variables
    return {
        "variables": variables,
        "edits": [{key: getattr(one, key) for key in _EDIT_KEYS} for one in schema.edits],
        "derive": [{key: getattr(one, key) for key in _DERIVE_KEYS} for one in schema.derivations],
    }


def _entry(column: Column) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": column.name,
        "type": column.kind.value,
        "levels": list(column.levels) or None,
        "label": column.label,
        "note": column.note,
        "level_labels": {str(code): label for code, label in column.level_labels.items()},
    }
    for reason, field in _CODE_FIELDS.items():
        codes = [code for code, why in column.special_codes.items() if why is reason]
        if codes or reason in (Reason.SKIP, Reason.OTHER):
            entry[field] = codes
    if column.role is not ColumnRole.QUESTION:
        entry["role"] = column.role.value
    if column.universe:
        entry["universe"] = column.universe
    if column.confidence is not None:
        entry["confidence"] = column.confidence.value
    if column.guessed:
        entry["guessed"] = column.guessed
    if column.select_all:
        entry["select_all"] = column.select_all
    for key, bound in (("minimum", column.minimum), ("maximum", column.maximum)):
        if bound is not None:
            entry[key] = bound
    return entry
