"""Checkpoint of the state after each round, so that an interrupted run can continue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.files import write_json
from tabsoda.coding.fit_checkpoint import DamagedFileError, FitCheckpoint, OtherRunError
from tabsoda.coding.model_folder import part_of
from tabsoda.events import EventLog
from tabsoda.paper.em import EMState
from tabsoda.paper.model import Model
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.standardizer import Standardizer
from tabsoda.table import CodedTable


class Checkpoint:
    """A folder with the last finished round of one run.

    Parameters
    ----------
    folder : Path
    table : CodedTable
        Rows in canonical order, so that a reordered file is still the same run.
    settings : PaperSettings
    seed : int
    weights : ndarray or None
    """

    def __init__(
        self,
        folder: Path,
        table: CodedTable,
        settings: PaperSettings,
        seed: int,
        weights: NDArray[np.float64] | None,
    ) -> None:
        self._text = folder / "round.json"
        self._file = FitCheckpoint(folder / "round.safetensors", table, settings, seed, weights)

    def save(self, model: Model, state: EMState, events: EventLog) -> None:
        """Write the state of a finished round; a crash during writing keeps the previous one."""
        tensors = {f"denoiser.{k}": v for k, v in model.denoiser.state_dict().items()}
        tensors |= {f"cutpoints.{k}": v for k, v in model.cutpoints.state_dict().items()}
        tensors["standardizer.mean"] = model.standardizer.mean
        tensors["standardizer.scale"] = model.standardizer.scale
        tensors["encoder_cutpoints"] = torch.from_numpy(model.codec.cutpoints.copy())
        tensors["temperatures"] = torch.from_numpy(model.temperatures)
        tensors["completed"] = state.completed
        self._file.save(
            {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()},
            {
                "round": state.round_number,
                "history": state.history,
                "events": events.to_dicts(),
            },
        )
        write_json(self._text, {"run": self._file.run, "round": state.round_number})

    def load(self, model: Model, events: EventLog) -> EMState | None:
        """Load the saved round into the model; None if there is none of this run."""
        try:
            found = self._file.load()
        except DamagedFileError:
            events.add("unreadable_round_not_used")
            return None
        except OtherRunError:
            events.add("round_of_other_run_not_used")
            return None
        if found is None:
            return None
        arrays, content = found
        tensors = {k: torch.from_numpy(v).to(model.device) for k, v in arrays.items()}
        model.denoiser.load_state_dict(part_of(tensors, "denoiser."))
        model.cutpoints.load_state_dict(part_of(tensors, "cutpoints."))
        model.standardizer = Standardizer(
            tensors["standardizer.mean"], tensors["standardizer.scale"]
        )
        model.codec = model.codec.with_cutpoints(tensors["encoder_cutpoints"])
        model.temperatures = tensors["temperatures"].cpu().numpy()
        # Events of the first rounds are restored, without repeating those of this start.
        events.events[:] = EventLog.from_dicts(content["events"])
        events.add("training_resumed_after_round", round=content["round"])
        return EMState(tensors["completed"], content["round"], content["history"])
