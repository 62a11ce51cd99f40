"""A fitted :class:`DefaultEngine` as a folder, and back; nothing in it is executed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.coding.model_folder import (
    column_content,
    column_from,
    part_of,
    read_model,
    readable,
    write_model,
)
from tabsoda.engine.blend import Blend
from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.draws import Drawer
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.ensemble import Ensemble
from tabsoda.engine.network.network import Network
from tabsoda.engine.predictor import Predictor
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.engine.regressions.regressions import Regressions
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.trees.trees import Trees
from tabsoda.events import EventLog
from tabsoda.schema.column import Column
from tabsoda.torch_runtime.devices import resolve_device

Arrays = dict[str, NDArray[Any]]
ENGINE = "default"
_DRAWS = "draw_regressions"


def save_engine(engine: DefaultEngine, folder: Path) -> None:
    """Write an engine to a folder, which is created if it does not exist."""
    arrays, state = engine_state(engine)
    content = {
        "seed": engine.seed,
        "settings": engine.settings.to_dict(),
        "columns": [column_content(column) for column in engine.columns],
        "state": state,
        "history": engine.history,
        "events": engine.events.to_dicts(),
    }
    tensors = {name: torch.from_numpy(np.ascontiguousarray(one)) for name, one in arrays.items()}
    write_model(folder, ENGINE, content, tensors)


def load_engine(folder: Path, device: str = "auto") -> DefaultEngine:
    """Read an engine from a folder."""
    content, tensors = read_model(folder)
    with readable(folder):
        return engine_from_state(
            {name: tensor.numpy() for name, tensor in tensors.items()},
            content["state"],
            tuple(column_from(entry) for entry in content["columns"]),
            EngineSettings.from_dict(content["settings"]),
            int(content["seed"]),
            resolve_device(device),
            content["history"],
            EventLog.from_dicts(content["events"]),
        )


def engine_state(engine: DefaultEngine) -> tuple[Arrays, dict[str, Any]]:
    """Return what :func:`engine_from_state` needs: arrays, and content for JSON."""
    arrays, codec = engine.codec.to_state()
    arrays = {f"codec.{name}": array for name, array in arrays.items()}
    content: dict[str, Any] = {"codec": codec, "predictors": {}}
    if engine.ensemble is None or engine.drawer is None:
        return arrays, content
    for item in fields(Blend):
        arrays[f"blend.{item.name}"] = getattr(engine.ensemble.blend, item.name)
    parts: dict[str, Any] = {one.name: one for one in engine.ensemble.predictors}
    if engine.drawer.regressions is not None:
        parts[_DRAWS] = engine.drawer.regressions
    for name, part in parts.items():
        own, content["predictors"][name] = part.to_state()
        arrays |= {f"{name}.{key}": array for key, array in own.items()}
    return arrays, content


def engine_from_state(
    arrays: Arrays,
    content: dict[str, Any],
    columns: tuple[Column, ...],
    settings: EngineSettings,
    seed: int,
    device: torch.device,
    history: list[dict[str, Any]],
    events: EventLog,
) -> DefaultEngine:
    """Rebuild an engine; raises if parts are missing or inconsistent."""
    codec = AnswerCodec.from_state(part_of(arrays, "codec."), content["codec"])
    if tuple(column.name for column in columns) != codec.names:
        raise ValueError("the columns do not fit the coding of answers")
    saved = content["predictors"]
    ensemble, drawer = None, None
    if saved:
        network = Network.from_state(part_of(arrays, "network."), codec, settings, seed, device)
        predictors: list[Predictor] = [network]
        if "trees" in saved:
            predictors.append(Trees.from_state(part_of(arrays, "trees."), saved["trees"], codec))
        if "regressions" in saved:
            own = part_of(arrays, "regressions.")
            predictors.append(Regressions.from_state(own, saved["regressions"], codec))
        blend = Blend(**part_of(arrays, "blend."))
        shape = (len(predictors) - 1, codec.categorical.size)
        if (
            blend.level_shares.shape != shape
            or blend.number_shares.shape != (shape[0], codec.numbers.size)
            or blend.temperatures.shape != codec.categorical.shape
        ):
            raise ValueError("the blend does not fit the predictors")
        ensemble = Ensemble(codec, tuple(predictors), blend)
        chained = None
        if _DRAWS in saved:
            chained = ChainedRegressions.from_state(part_of(arrays, f"{_DRAWS}."), saved[_DRAWS])
        drawer = Drawer(network, chained, settings, seed)
    return DefaultEngine(columns, settings, seed, device, history, events, codec, ensemble, drawer)
