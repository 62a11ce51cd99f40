"""Checkpoint of the trained network, so that a restarted fit does not train it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tabsoda.coding.fit_checkpoint import DamagedFileError, FitCheckpoint, OtherRunError
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
    settings : EngineSettings
    seed : int
    """

    def __init__(
        self, folder: Path, training: TrainingTable, settings: EngineSettings, seed: int
    ) -> None:
        self._training, self._settings, self._seed = training, settings, seed
        self._file = FitCheckpoint(
            folder / "network.safetensors", training.whole, settings, seed, training.weights
        )

    def save(self, network: Network, history: list[dict[str, Any]], events: EventLog) -> None:
        """Write a trained network atomically."""
        arrays, _ = network.to_state()
        self._file.save(arrays, {"history": history, "events": events.to_dicts()})

    def load(
        self, device: torch.device, events: EventLog
    ) -> tuple[Network, list[dict[str, Any]]] | None:
        """Return the network that an earlier start of the same run trained; else None."""
        try:
            found = self._file.load()
        except DamagedFileError:
            events.add("unreadable_network_not_used")
            return None
        except OtherRunError:
            events.add("network_of_other_run_not_used")
            return None
        if found is None:
            return None
        arrays, content = found
        network = Network.from_state(
            arrays, self._training.codec, self._settings, self._seed, device
        )
        # The events of the first start replace those that this start has logged again.
        events.events[:] = EventLog.from_dicts(content["events"])
        events.add("training_resumed_after_network")
        return network, content["history"]
