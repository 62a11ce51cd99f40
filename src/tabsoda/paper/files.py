"""A fitted :class:`PaperEngine` as a folder, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tabsoda.coding.model_folder import (
    column_content,
    column_from,
    part_of,
    read_model,
    readable,
    write_model,
)
from tabsoda.events import EventLog
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.model import Model
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.standardizer import Standardizer
from tabsoda.torch_runtime.devices import resolve_device

ENGINE = "paper"


def save_engine(engine: PaperEngine, folder: Path) -> None:
    """Write an engine to a folder, which is created if it does not exist."""
    model = engine.model
    arrays, codec = model.codec.to_state()
    tensors = {f"codec.{k}": torch.from_numpy(np.ascontiguousarray(v)) for k, v in arrays.items()}
    tensors |= {f"denoiser.{k}": v for k, v in model.denoiser.state_dict().items()}
    tensors |= {f"cutpoints.{k}": v for k, v in model.cutpoints.state_dict().items()}
    tensors["standardizer.mean"] = model.standardizer.mean
    tensors["standardizer.scale"] = model.standardizer.scale
    tensors["temperatures"] = torch.from_numpy(model.temperatures)
    content = {
        "seed": model.seed,
        "settings": model.settings.to_dict(),
        "columns": [column_content(column) for column in engine.columns],
        "codec": codec,
        "history": engine.history,
        "events": engine.events.to_dicts(),
    }
    write_model(folder, ENGINE, content, tensors)


def load_engine(folder: Path, device: str = "auto") -> PaperEngine:
    """Read an engine from a folder; nothing in it is executed."""
    content, tensors = read_model(folder)
    with readable(folder):
        return _assemble(content, tensors, resolve_device(device))


def _assemble(
    content: dict[str, Any], tensors: dict[str, torch.Tensor], device: torch.device
) -> PaperEngine:
    arrays = {k: v.numpy() for k, v in part_of(tensors, "codec.").items()}
    codec = TableCodec.from_state(arrays, content["codec"])
    settings = PaperSettings.from_dict(content["settings"])
    model = Model.start(codec, settings, int(content["seed"]), device)
    model.denoiser.load_state_dict(part_of(tensors, "denoiser."))
    model.denoiser.eval()
    model.cutpoints.load_state_dict(part_of(tensors, "cutpoints."))
    mean, scale = tensors["standardizer.mean"], tensors["standardizer.scale"]
    temperatures = tensors["temperatures"].numpy()
    columns = tuple(column_from(entry) for entry in content["columns"])
    if (
        mean.shape != model.standardizer.mean.shape
        or scale.shape != model.standardizer.scale.shape
        or temperatures.shape != model.temperatures.shape
        or tuple(column.name for column in columns) != codec.names
    ):
        raise ValueError("the parts of the model are inconsistent")
    model.standardizer = Standardizer(mean, scale).to(device)
    model.temperatures = temperatures
    events = EventLog.from_dicts(content["events"])
    return PaperEngine.of_model(columns, model, content["history"], events)
