"""A fitted engine as a folder: tensors in safetensors, everything else in JSON, no code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from tabsoda._internal.files import atomic_path, make_folder, write_json
from tabsoda._version import __version__
from tabsoda.errors import DeviceError, InputError
from tabsoda.schema.column import Column, ColumnKind, Reason

FORMAT = "tabsoda-model"
FORMAT_VERSION = 2
TENSORS, TEXT = "model.safetensors", "model.json"
Part = TypeVar("Part")


def write_model(
    folder: Path, engine: str, content: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> None:
    """Write a model to a folder, which is created if it does not exist.

    Parameters
    ----------
    folder : Path
    engine : str
        Which engine can read it.
    content : dict
        Ready for JSON.
    tensors : dict of str to tensor
    """
    make_folder(folder)
    with atomic_path(folder / TENSORS) as temporary:
        plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(plain, temporary)
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "tabsoda": __version__}
    write_json(folder / TEXT, head | {"engine": engine} | content)


def read_model(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return the content and the tensors that :func:`write_model` wrote."""
    content = read_content(folder)
    if content.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"The model '{folder}' has a different format version",
            found=str(content.get("format_version")),
            expected=str(FORMAT_VERSION),
            next_step=f"Load it with tabsoda {content.get('tabsoda', '')}, or fit it again",
        )
    try:
        return content, load_file(folder / TENSORS)
    except (OSError, SafetensorError) as error:
        raise _unreadable(folder / TENSORS, str(error)) from error


def read_content(folder: Path) -> dict[str, Any]:
    """Return the JSON part of a model, of any format version."""
    path = folder / TEXT
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The folder '{folder}' does not contain a model",
            found=error.strerror or str(error),
            expected=f"{TEXT} and {TENSORS}, written by save",
            next_step="Check the path, or fit a model and save it",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _unreadable(path, "not written by tabsoda")
    return content


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Convert exceptions while loading a damaged model into an input error."""
    try:
        yield
    except DeviceError:
        raise
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise _unreadable(folder, f"{type(error).__name__}: {error}") from error


def part_of(named: Mapping[str, Part], prefix: str) -> dict[str, Part]:
    """Return the tensors or arrays whose names start with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in named.items() if k.startswith(prefix)}


def _unreadable(path: Path, found: str) -> InputError:
    return InputError(
        f"The model file '{path}' cannot be read",
        found=found,
        expected="a model written by save",
        next_step="Save the model again, or fit it again",
    )


def column_content(column: Column) -> dict[str, Any]:
    """Return a column, ready for JSON."""
    # Lists of pairs, because JSON would convert codes to strings if they were keys.
    return {
        "name": column.name,
        "kind": column.kind.value,
        "levels": list(column.levels),
        "label": column.label,
        "level_labels": [[code, text] for code, text in column.level_labels.items()],
        "special_codes": [[code, reason.value] for code, reason in column.special_codes.items()],
    }


def column_from(content: dict[str, Any]) -> Column:
    """Return a column from :func:`column_content`."""
    return Column(
        name=content["name"],
        kind=ColumnKind(content["kind"]),
        levels=tuple(content["levels"]),
        label=content["label"],
        level_labels=dict(content["level_labels"]),
        special_codes={code: Reason(reason) for code, reason in content["special_codes"]},
    )
