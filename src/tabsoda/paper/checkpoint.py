"""Checkpoint of the state after each round, so that an interrupted run can continue."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from tabsoda._internal.files import atomic_path, make_folder, sealed, write_json
from tabsoda._version import __version__
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
        make_folder(folder)
        self._tensors = folder / "round.safetensors"
        self._text = folder / "round.json"
        digest = hashlib.sha256(table.values.tobytes())
        digest.update(table.states.states.tobytes())
        columns = [(c.name, c.kind.value, c.n_levels) for c in table.columns]
        digest.update(json.dumps([__version__, columns, settings.to_dict(), seed]).encode())
        digest.update(b"" if weights is None else weights.tobytes())
        self._run = digest.hexdigest()

    def save(self, model: Model, state: EMState, events: EventLog) -> None:
        """Write the state of a finished round; a crash during writing keeps the previous one."""
        tensors = {f"denoiser.{k}": v for k, v in model.denoiser.state_dict().items()}
        tensors |= {f"cutpoints.{k}": v for k, v in model.cutpoints.state_dict().items()}
        tensors["standardizer.mean"] = model.standardizer.mean
        tensors["standardizer.scale"] = model.standardizer.scale
        tensors["encoder_cutpoints"] = torch.from_numpy(model.codec.cutpoints.copy())
        tensors["temperatures"] = torch.from_numpy(model.temperatures)
        tensors["completed"] = state.completed
        # One file contains both, so that tensors and numbers always belong to the same round.
        content = json.dumps(
            {
                "run": self._run,
                "round": state.round_number,
                "history": state.history,
                "events": events.to_dicts(),
            }
        )
        with atomic_path(self._tensors) as temporary:
            plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            seal = {"state": content, "sha256": _sealed(content, plain)}
            save_file(plain, temporary, metadata=seal)
        write_json(self._text, {"run": self._run, "round": state.round_number})

    def load(self, model: Model, events: EventLog) -> EMState | None:
        """Load the saved round into the model; None if there is none of this run."""
        if not self._tensors.exists():
            return None
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self._tensors, framework="pt") as file:
                seal = file.metadata() or {}
            saved, text = load_file(self._tensors), seal.get("state", "")
            content = json.loads(text)
            if seal.get("sha256") != _sealed(text, saved):
                raise ValueError("damaged")
        except (SafetensorError, OSError, ValueError, LookupError):
            events.add("unreadable_round_not_used")
            return None
        if content.get("run") != self._run:
            events.add("round_of_other_run_not_used")
            return None
        tensors = {k: v.to(model.device) for k, v in saved.items()}

        def part(prefix: str) -> dict[str, torch.Tensor]:
            return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}

        model.denoiser.load_state_dict(part("denoiser."))
        model.cutpoints.load_state_dict(part("cutpoints."))
        model.standardizer = Standardizer(
            tensors["standardizer.mean"], tensors["standardizer.scale"]
        )
        model.codec = model.codec.with_cutpoints(tensors["encoder_cutpoints"])
        model.temperatures = tensors["temperatures"].cpu().numpy()
        # Events of the first rounds are restored, without repeating those of this start.
        events.events[:] = EventLog.from_dicts(content["events"])
        events.add("training_resumed_after_round", round=content["round"])
        return EMState(tensors["completed"], content["round"], content["history"])


def _sealed(text: str, tensors: dict[str, torch.Tensor]) -> str:
    return sealed(text, {name: tensor.numpy() for name, tensor in tensors.items()})
