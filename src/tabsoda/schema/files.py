"""Read and write survey descriptions: survey.toml, or the JSON list form."""

from __future__ import annotations

import json
from pathlib import Path

from tabsoda._internal.files import write_json, write_text
from tabsoda.errors import InputError
from tabsoda.schema.description import Description
from tabsoda.schema.json_form import format_json, parse_json_list
from tabsoda.schema.schema import Schema
from tabsoda.schema.toml_form import format_toml, parse_description


def load_schema(path: str | Path) -> Schema:
    """Read a survey description that describes every column separately.

    Parameters
    ----------
    path : str or Path
        A ``.toml`` file, or a ``.json`` file with one object per column.

    Examples
    --------
    >>> import tempfile
    >>> from tabsoda.schema import Column, ColumnKind
    >>> schema = Schema((Column("age", ColumnKind.CONTINUOUS, label="Age in years"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_schema(schema, Path(folder) / "survey.toml")
    ...     load_schema(Path(folder) / "survey.toml") == schema
    True
    """
    return load_description(path).without_data()


def load_description(path: str | Path) -> Description:
    """Read a survey description, including corrections of many columns at once."""
    path = Path(path)
    form = description_form(path)
    if not path.is_file():
        raise InputError(
            f"The survey description '{path}' does not exist",
            next_step="Check the path, or create one with `tabsoda inspect FILE -o survey.toml`",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The survey description '{path}' is not UTF-8 text",
            found=f"byte {error.object[error.start]:#04x} at position {error.start}",
            expected="UTF-8",
            next_step="Save it as UTF-8",
        ) from error
    if form == ".toml":
        return parse_description(text, path.name)
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The survey description '{path}' is not valid JSON", found=str(error)
        ) from error
    return Description(parse_json_list(entries, f"'{path.name}'"))


def save_schema(schema: Schema, path: str | Path) -> None:
    """Write a survey description atomically, as TOML or JSON by the file extension."""
    path = Path(path)
    if description_form(path) == ".toml":
        write_text(path, format_toml(schema))
    else:
        write_json(path, format_json(schema))


def description_form(path: Path) -> str:
    """Return the form given by the file extension, ``".toml"`` or ``".json"``."""
    form = path.suffix.lower()
    if form not in (".toml", ".json"):
        raise InputError(
            f"The survey description '{path}' has an unknown file extension",
            found=form or "no extension",
            expected=".toml or .json",
        )
    return form
