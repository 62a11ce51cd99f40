"""Time what compiling a training step costs and what it saves, on one GPU.

A step is captured as a CUDA graph either way. Needs torch, numpy, scipy and scikit-learn alone:

    python benchmarks/engine/gpu_step.py results.json [--steps 500]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from tabsoda._internal.randomness import stream_key
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.engine.network import training
from tabsoda.engine.network.data import TrainingData
from tabsoda.engine.network.network import Network
from tabsoda.engine.presets import quality_settings
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog
from tabsoda.paper import em, training_batch
from tabsoda.paper.fit import start_model
from tabsoda.paper.m_step import training_schedule
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.working_table import WorkingTable
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.layers import seed_dropout
from tabsoda.torch_runtime.optimizer_steps import LossOf, OptimizerSteps
from tabsoda.torch_runtime.training import TrainingSchedule

EPOCH_STEPS = 50


@dataclass(frozen=True, eq=False)
class Ready:
    """A network before its first step, with everything a step reads.

    Attributes
    ----------
    network : nn.Module
    schedule : TrainingSchedule
    noise_uses : tuple of str
    n_rows : int
    loss_with : callable
        ``loss_with(compiled)`` returns the loss of a batch.
    """

    network: nn.Module
    schedule: TrainingSchedule
    noise_uses: tuple[str, ...]
    n_rows: int
    loss_with: Callable[[bool], LossOf]

    @classmethod
    def default(cls, table: CodedTable, settings: EngineSettings, device: torch.device) -> Ready:
        """Prepare the first network of the default engine."""
        prepared = TrainingTable.build(table, settings.training.held_out_share, 1, EventLog())
        untrained = Network.untrained(prepared.codec, settings, 1, device)
        member, data = untrained.members[0], TrainingData.of(prepared, device)

        def loss_with(compiled: bool) -> LossOf:
            loss = training.batch_loss
            chosen = torch.compile(loss, dynamic=False) if compiled else loss
            return lambda rows, keys: chosen(
                member, untrained.heads, data, rows, keys, settings.loss
            )

        schedule = training.schedule_of(settings)
        return cls(member, schedule, training.NOISE_USES, data.n_rows, loss_with)

    @classmethod
    def paper(cls, table: CodedTable, settings: PaperSettings, device: torch.device) -> Ready:
        """Prepare the denoiser of the paper's engine for its first round."""
        start = start_model(table, settings, 1, device, None, EventLog())
        model = start.model
        data = WorkingTable.build(start.table, model.codec, start.keys, device, start.held_out)
        targets = em._round_targets(model, data, em.initial_state(model, data), 1, EventLog())

        def loss_with(compiled: bool) -> LossOf:
            loss = training_batch.batch_loss
            chosen = training_batch.compiled_batch_loss() if compiled else loss
            return lambda rows, keys: chosen(model, data, targets, rows, keys).total

        schedule = training_schedule(model.settings.training)
        return cls(model.denoiser, schedule, training_batch.NOISE_USES, data.n_rows, loss_with)

    @property
    def batch_size(self) -> int:
        """Rows per step."""
        return self.schedule.steps(self.n_rows)[0]

    def steps(self, device: torch.device, *, compiled: bool) -> OptimizerSteps:
        """Capture a step; nothing but the chosen way is tried."""
        seed_dropout(self.network, torch.Generator(device=device).manual_seed(1))
        self.network.train()
        return OptimizerSteps(
            self.network,
            device,
            self.loss_with(compiled),
            None,
            batch_size=self.batch_size,
            n_keys=len(self.noise_uses),
            steps_per_epoch=EPOCH_STEPS,
            learning_rate=self.schedule.learning_rate,
            weight_decay=self.schedule.weight_decay,
            averages=self.schedule.average_decay > 0,
            events=EventLog(),
        )

    def epoch(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows and keys of an epoch's steps."""
        generator = torch.Generator().manual_seed(number)
        rows = torch.randint(self.n_rows, (EPOCH_STEPS, self.batch_size), generator=generator)
        keys = [
            [stream_key(1, "epoch", number, step, use) for use in self.noise_uses]
            for step in range(EPOCH_STEPS)
        ]
        return rows, torch.tensor(keys)


def timed(ready: Ready, n_steps: int, device: torch.device, *, compiled: bool) -> dict[str, float]:
    """Return the seconds until a step is captured, and the milliseconds of one after that."""
    start = time.perf_counter()
    steps = ready.steps(device, compiled=compiled)
    torch.cuda.synchronize()
    captured = time.perf_counter()
    for number in range(n_steps // EPOCH_STEPS):
        steps.run_epoch(*ready.epoch(number), 0.1)
    torch.cuda.synchronize()
    done = time.perf_counter()
    return {
        "capture_seconds": captured - start,
        "step_milliseconds": 1e3 * (done - captured) / n_steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--rows", type=int, default=32_320)
    parser.add_argument("--columns", type=int, default=57)
    parser.add_argument("--steps", type=int, default=500)
    options = parser.parse_args()
    device = torch.device("cuda")
    table = make_survey(options.rows, n_columns=options.columns, seed=0).true_table
    hidden = table.states.answered & (np.random.default_rng(0).random(table.shape) < 0.2)
    table = table.with_states(table.states.hide(hidden))
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "networks": {},
    }
    for name in ("fast", "balanced", "best", "path"):
        if name == "path":
            ready = Ready.paper(table, PaperSettings.preset(name), device)
        else:
            ready = Ready.default(table, quality_settings(name, *table.shape), device)
        ways = {"captured": False, "compiled": True}
        result["networks"][name] = {
            way: timed(ready, options.steps, device, compiled=compiled)
            for way, compiled in ways.items()
        }
        print(name, result["networks"][name], flush=True)
        options.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
