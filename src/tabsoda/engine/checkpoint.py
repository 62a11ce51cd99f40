"""Checkpoint of the trained network, so that a restarted fit does not train it again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from tabsoda._internal.files import atomic_path, make_folder, sealed
from tabsoda._version import __version__
from tabsoda.engine.network.network import Network
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog


class NetworkCheckpoint:
    """A folder with the network of one run.

    Parameters
    ----------
    folder : Path
    training : TrainingTable
        Rows in canonical order, so that a reordered file is still the same run.
    settings : EngineSettings
    seed : int
    """

    def __init__(
        self, folder: Path, training: TrainingTable, settings: EngineSettings, seed: int
    ) -> None:
        make_folder(folder)
        self._file = folder / "network.safetensors"
        self._training, self._settings, self._seed = training, settings, seed
        table = training.whole
        digest = hashlib.sha256(table.values.tobytes())
        digest.update(table.states.states.tobytes())
        columns = [(c.name, c.kind.value, c.n_levels) for c in table.columns]
        digest.update(json.dumps([__version__, columns, settings.to_dict(), seed]).encode())
        digest.update(b"" if training.weights is None else training.weights.tobytes())
        self._run = digest.hexdigest()

    def save(self, network: Network, history: list[dict[str, Any]], events: EventLog) -> None:
        """Write a trained network atomically."""
        arrays, _ = network.to_state()
        content = json.dumps({"run": self._run, "history": history, "events": events.to_dicts()})
        seal = {"state": content, "sha256": sealed(content, arrays)}
        with atomic_path(self._file) as temporary:
            save_file(arrays, temporary, metadata=seal)

    def load(
        self, device: torch.device, events: EventLog
    ) -> tuple[Network, list[dict[str, Any]]] | None:
        """Return the network that an earlier start of the same run trained; else None."""
        if not self._file.exists():
            return None
        try:
            with safe_open(self._file, framework="numpy") as file:
                seal = file.metadata() or {}
            arrays, text = load_file(self._file), seal.get("state", "")
            content = json.loads(text)
            if seal.get("sha256") != sealed(text, arrays):
                raise ValueError("damaged")
        except (SafetensorError, OSError, ValueError, LookupError):
            events.add("unreadable_network_not_used")
            return None
        if content.get("run") != self._run:
            events.add("network_of_other_run_not_used")
            return None
        network = Network.from_state(
            arrays, self._training.codec, self._settings, self._seed, device
        )
        # The events of the first start replace those that this start has logged again.
        events.events[:] = EventLog.from_dicts(content["events"])
        events.add("training_resumed_after_network")
        return network, content["history"]
