"""Time what compiling a training step costs and what it saves, on one GPU.

A step is captured as a CUDA graph either way. Needs torch, numpy, scipy and scikit-learn alone:

    python benchmarks/engine/gpu_step.py results.json [--steps 500]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from tabsoda._internal.randomness import stream_key
from tabsoda.coding.row_order import canonical_order
from tabsoda.datasets.synthetic_survey import make_survey
from tabsoda.em import loop, training_batch
from tabsoda.em.model import Model
from tabsoda.em.working_table import WorkingTable
from tabsoda.encoding.answer_codec import AnswerCodec
from tabsoda.encoding.table_codec import TableCodec
from tabsoda.events import EventLog
from tabsoda.paper import em as paper_em
from tabsoda.paper import training_batch as paper_batch
from tabsoda.paper.fit import start_model
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.working_table import WorkingTable as PaperTable
from tabsoda.quality import settings_for
from tabsoda.settings import Settings
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.layers import seed_dropout
from tabsoda.torch_runtime.optimizer_steps import OptimizerSteps

EPOCH_STEPS = 50


class Ready:
    """A model before its first step, with everything a step reads."""

    def __init__(
        self, table: CodedTable, settings: Settings | PaperSettings, device: torch.device
    ) -> None:
        if isinstance(settings, PaperSettings):
            self._start_paper(table, settings, device)
        else:
            self._start(table, settings, device)
        generator = torch.Generator(device=device).manual_seed(1)
        seed_dropout(self.model.denoiser, generator)
        self.model.denoiser.train()
        most = settings.training.batch_size
        self.batch_size = self.data.n_rows // -(-self.data.n_rows // most)

    def _start_paper(
        self, table: CodedTable, settings: PaperSettings, device: torch.device
    ) -> None:
        start = start_model(table, settings, 1, device, None, EventLog())
        self.model, self.batch = start.model, paper_batch
        self.data = PaperTable.build(
            start.table, start.model.codec, start.keys, device, start.held_out
        )
        state = paper_em.initial_state(self.model, self.data)
        self.targets = paper_em._round_targets(self.model, self.data, state, 1, EventLog())

    def _start(self, table: CodedTable, settings: Settings, device: torch.device) -> None:
        order, keys = canonical_order(table)
        table = table.rows(order)
        kinds = [str(column.kind) for column in table.columns]
        settings = settings.resolve(len(kinds), kinds.count("continuous"))
        visible = table.states.answered
        codec = TableCodec.fit(table, visible, settings.encoding, EventLog())
        answers = AnswerCodec.fit(table, visible, codec)
        self.model = Model.start(codec, settings, 1, device, answers)
        self.batch = training_batch
        self.data = WorkingTable.build(table, codec, keys, device, bins=answers.bins)
        state = loop.initial_state(self.model, self.data)
        self.targets = loop._round_targets(self.model, self.data, state, 1, EventLog())

    def steps(self, *, compiled: bool) -> OptimizerSteps:
        """Capture a step; nothing but the chosen way is tried."""
        chosen = self.batch.compiled_batch_loss() if compiled else self.batch.batch_loss
        training = self.model.settings.training
        return OptimizerSteps(
            self.model.denoiser,
            self.model.device,
            self._loss(chosen),
            None,
            batch_size=self.batch_size,
            n_keys=len(self.batch.NOISE_USES),
            steps_per_epoch=EPOCH_STEPS,
            learning_rate=training.learning_rate,
            weight_decay=getattr(training, "weight_decay", 0.0),
            averages=training.average_decay > 0,
            events=EventLog(),
        )

    def _loss(self, function):
        return lambda rows, keys: function(self.model, self.data, self.targets, rows, keys).total

    def epoch(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows and keys of an epoch's steps."""
        generator = torch.Generator().manual_seed(number)
        rows = torch.randint(self.data.n_rows, (EPOCH_STEPS, self.batch_size), generator=generator)
        keys = [
            [stream_key(1, "epoch", number, step, use) for use in self.batch.NOISE_USES]
            for step in range(EPOCH_STEPS)
        ]
        return rows, torch.tensor(keys)


def timed(ready: Ready, n_steps: int, *, compiled: bool) -> dict[str, float]:
    """Return the seconds until a step is captured, and the milliseconds of one after that."""
    start = time.perf_counter()
    steps = ready.steps(compiled=compiled)
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
    chosen = {
        "fast": settings_for("fast", *table.shape),
        "balanced": settings_for("balanced", *table.shape),
        "best": settings_for("best", *table.shape),
        "path": PaperSettings.preset("path"),
    }
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "networks": {},
    }
    for name, settings in chosen.items():
        ready = Ready(table, settings, device)
        ways = {"captured": False, "compiled": True}
        result["networks"][name] = {
            way: timed(ready, options.steps, compiled=compiled) for way, compiled in ways.items()
        }
        print(name, result["networks"][name], flush=True)
        options.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
