"""A fitted engine as a folder: weights in safetensors, everything else in JSON, no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from tabsoda._internal.files import atomic_path, make_folder, write_json
from tabsoda._version import __version__
from tabsoda.em.engine import Engine
from tabsoda.em.estimating import Estimator
from tabsoda.em.model import Model, new_denoiser
from tabsoda.encoding.answer_codec import AnswerCodec
from tabsoda.encoding.standardizer import Standardizer
from tabsoda.encoding.table_codec import TableCodec
from tabsoda.errors import DeviceError, InputError
from tabsoda.events import Event, EventLog
from tabsoda.schema.column import Column, ColumnKind, Reason
from tabsoda.settings import Settings
from tabsoda.torch_runtime.devices import resolve_device

FORMAT = "tabsoda-model"
FORMAT_VERSION = 1
_TENSORS, _TEXT = "model.safetensors", "model.json"


def save_engine(engine: Engine, folder: Path) -> None:
    """Write an engine to a folder, which is made where it does not exist."""
    make_folder(folder)
    model = engine.model
    arrays, codec = model.codec.to_state()
    tensors = {f"codec.{k}": torch.from_numpy(np.ascontiguousarray(v)) for k, v in arrays.items()}
    tensors |= {f"denoiser.{k}": v for k, v in model.denoiser.state_dict().items()}
    tensors |= {f"cutpoints.{k}": v for k, v in model.cutpoints.state_dict().items()}
    tensors["standardizer.mean"] = model.standardizer.mean
    tensors["standardizer.scale"] = model.standardizer.scale
    tensors["temperatures"] = torch.from_numpy(model.temperatures)
    text: dict[str, Any] = {}
    if engine.estimator is not None:
        arrays, text = engine.estimator.to_state()
        tensors |= {f"estimator.{k}": _tensor(v) for k, v in arrays.items()}
        for number, member in enumerate(model.members):
            tensors |= {f"member{number}.{k}": v for k, v in member.state_dict().items()}
    with atomic_path(folder / _TENSORS) as temporary:
        save_file(
            {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()},
            temporary,
        )
    write_json(
        folder / _TEXT,
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "tabsoda": __version__,
            "seed": model.seed,
            "settings": model.settings.to_dict(),
            "columns": [_column_content(column) for column in engine.columns],
            "codec": codec,
            "estimator": text,
            "history": engine.history,
            "events": engine.events.to_dicts(),
        },
    )


def load_engine(folder: Path, device: str = "auto") -> Engine:
    """Read an engine from a folder; nothing in it is executed."""
    content = _read_content(folder / _TEXT)
    try:
        tensors = load_file(folder / _TENSORS)
    except (OSError, SafetensorError) as error:
        raise _broken(folder / _TENSORS, str(error)) from error
    try:
        return _assemble(content, tensors, resolve_device(device))
    except DeviceError:
        raise
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise _broken(folder, f"{type(error).__name__}: {error}") from error


def _assemble(
    content: dict[str, Any], tensors: dict[str, torch.Tensor], device: torch.device
) -> Engine:
    events = EventLog([Event(**event) for event in content["events"]])
    settings = Settings.from_dict(content["settings"])
    arrays = {k: v.numpy() for k, v in _part(tensors, "codec.").items()}
    codec = TableCodec.from_state(arrays, content["codec"])
    parts = {k: v.numpy() for k, v in _part(tensors, "estimator.").items()}
    answer_codec = None
    if settings.has_heads and parts:
        answer_codec = AnswerCodec.from_state(parts, codec)
    model = Model.start(codec, settings, int(content["seed"]), device, answer_codec)
    model.denoiser.load_state_dict(_part(tensors, "denoiser."))
    model.denoiser.eval()
    model.cutpoints.load_state_dict(_part(tensors, "cutpoints."))
    mean, scale = tensors["standardizer.mean"], tensors["standardizer.scale"]
    temperatures = tensors["temperatures"].numpy()
    columns = tuple(_column(entry) for entry in content["columns"])
    if (
        mean.shape != model.standardizer.mean.shape
        or scale.shape != model.standardizer.scale.shape
        or temperatures.shape != model.temperatures.shape
        or tuple(column.name for column in columns) != codec.names
    ):
        raise ValueError("columns, standardizer or temperatures do not fit the encoding")
    model.standardizer = Standardizer(mean, scale).to(model.device)
    model.temperatures = temperatures
    estimator = None
    if answer_codec is not None:
        for number in range(settings.backbone.members - 1):
            member = new_denoiser(codec, settings, model.seed, model.heads)
            member.load_state_dict(_part(tensors, f"member{number}."))
            model.members.append(member.to(device).eval())
        estimator = Estimator.from_state(model, parts, content["estimator"])
    return Engine(columns, model, content["history"], events, estimator)


def _tensor(array: np.ndarray) -> torch.Tensor:
    # safetensors keeps no numpy type that torch lacks.
    return torch.from_numpy(np.ascontiguousarray(array))


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _read_content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The folder '{path.parent}' holds no model",
            found=error.strerror or str(error),
            expected=f"{_TEXT} and {_TENSORS}, as save writes them",
        ) from error
    except ValueError as error:
        raise _broken(path, str(error)) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _broken(path, "not written by tabsoda")
    if content.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"The model '{path.parent}' has another format version",
            found=str(content.get("format_version")),
            expected=str(FORMAT_VERSION),
            next_step=f"Load it with tabsoda {content.get('tabsoda', '')}, or fit it again",
        )
    return content


def _broken(path: Path, found: str) -> InputError:
    return InputError(
        f"The model file '{path}' cannot be read",
        found=found,
        expected="a model as save writes it",
        next_step="Save the model again, or fit it again",
    )


def _column_content(column: Column) -> dict[str, Any]:
    # Lists of pairs, because JSON would turn the codes into texts if they were keys.
    return {
        "name": column.name,
        "kind": column.kind.value,
        "levels": list(column.levels),
        "label": column.label,
        "level_labels": [[code, text] for code, text in column.level_labels.items()],
        "special_codes": [[code, reason.value] for code, reason in column.special_codes.items()],
    }


def _column(entry: dict[str, Any]) -> Column:
    return Column(
        name=entry["name"],
        kind=ColumnKind(entry["kind"]),
        levels=tuple(entry["levels"]),
        label=entry["label"],
        level_labels=dict(entry["level_labels"]),
        special_codes={code: Reason(reason) for code, reason in entry["special_codes"]},
    )
