"""A small survey and half-fitted models of it on any device, for tests without fixtures."""

from __future__ import annotations

import numpy as np
import torch
from tabsoda.em import loop, training_batch
from tabsoda.em.model import Model
from tabsoda.em.working_table import WorkingTable
from tabsoda.encoding.answer_codec import AnswerCodec
from tabsoda.encoding.table_codec import TableCodec
from tabsoda.settings import Settings

from tabsoda._internal.randomness import row_keys, stream_key
from tabsoda.events import EventLog
from tabsoda.paper import em as paper_em
from tabsoda.paper import training_batch as paper_batch
from tabsoda.paper.codec import TableCodec as PaperCodec
from tabsoda.paper.model import Model as PaperModel
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.working_table import WorkingTable as PaperTable
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.layers import seed_dropout
from tabsoda.torch_runtime.optimizer_steps import OptimizerSteps

N_ROWS = 256
# Which quality or preset has which network; both conditionings of the paper are among them.
QUALITIES = {"embedding": "balanced", "tokens": "best"}
PAPER = {"mlp": "small", "noisy mlp": "path"}


def survey(n_rows: int = N_ROWS, seed: int = 0) -> CodedTable:
    """Return a table with every kind of column, blanks and skips; columns go together."""
    columns = (
        Column("sex", ColumnKind.NOMINAL, levels=("f", "m")),
        Column("age", ColumnKind.CONTINUOUS),
        Column("region", ColumnKind.NOMINAL, levels=tuple(range(5))),
        Column("likes", ColumnKind.ORDINAL, levels=tuple("abcde")),
        Column("rarely", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("income", ColumnKind.CONTINUOUS),
        Column("agrees", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("pregnant", ColumnKind.NOMINAL, levels=("yes", "no")),
    )
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=n_rows)
    values = np.column_stack(
        [
            rng.integers(0, 2, n_rows),
            np.round(40 + 10 * taste + 3 * rng.normal(size=n_rows)),
            np.digitize(taste + rng.normal(size=n_rows), [-1, -0.3, 0.3, 1]),
            np.digitize(taste + 0.5 * rng.normal(size=n_rows), [-1, -0.3, 0.3, 1]),
            rng.choice(3, n_rows, p=[0.8, 0.1, 0.1]),
            np.exp(taste + rng.normal(size=n_rows)),
            np.digitize(taste + 0.5 * rng.normal(size=n_rows), [-0.5, 0.5]),
            rng.integers(0, 2, n_rows),
        ]
    ).astype(float)
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 7] = values[:, 0] == 1
    values[skipped | (rng.random(values.shape) < 0.15)] = np.nan
    return CodedTable.from_values(columns, values, skipped)


def settings_of(network: str, /, **changes: dict) -> Settings | PaperSettings:
    """Return small settings of a network, without dropout and without what needs scikit-learn."""
    small = {
        "backbone": {"width": 32, "dropout": 0.0},
        "training": {"learning_rate": 1e-3, "batch_size": N_ROWS // 4},
        "sampler": {"steps": 8},
    }
    if network in PAPER:
        settings = PaperSettings.preset(PAPER[network]).replace(**small)
    else:
        settings = Settings.preset(QUALITIES[network]).replace(
            **small | {"sampler": {"steps": 8, "draws": "sequential"}},
            experts={"trees": "none"},
            regressions={"sets": 0, "point_sets": 0},
        )
    return settings.replace(**changes).resolve(8, 2)


def untrained(settings: Settings | PaperSettings, device: str, seed: int = 1) -> tuple:
    """Return a model before its first step, and its table."""
    table, place = survey(), torch.device(device)
    keys = row_keys(table.values, table.states.states)
    if isinstance(settings, PaperSettings):
        codec = PaperCodec.fit(table, table.states.answered, settings.encoding, EventLog())
        model = PaperModel.start(codec, settings, seed, place)
        return model, PaperTable.build(table, codec, keys, place)
    codec = TableCodec.fit(table, table.states.answered, settings.encoding, EventLog())
    answers = AnswerCodec.fit(table, table.states.answered, codec)
    model = Model.start(codec, settings, seed, place, answers)
    return model, WorkingTable.build(table, codec, keys, place, bins=answers.bins)


def first_targets(model: Model | PaperModel, data: WorkingTable | PaperTable):
    """Return what the first round trains on; the model gets its standardiser."""
    module = paper_em if isinstance(model, PaperModel) else loop
    return module._round_targets(model, data, module.initial_state(model, data), 1, EventLog())


class EagerSteps(OptimizerSteps):
    """Takes one operation after the other, on a GPU too."""

    def _capture(self, ways):
        pass


class CapturedSteps(OptimizerSteps):
    """Captures a step as it is, without compiling it."""

    def _capture(self, ways):
        super()._capture(ways[1:])


class Float32Steps:
    """Mixed into the above: no bfloat16 anywhere."""

    _on_gpu = False


class EagerFloat32Steps(Float32Steps, EagerSteps):
    """Eager and exact: what the others are measured against."""


class CapturedFloat32Steps(Float32Steps, CapturedSteps):
    """Captured and exact."""


class CompiledFloat32Steps(Float32Steps, OptimizerSteps):
    """Compiled, captured and exact."""


class Training:
    """A model in training: its steps, and batches that depend on the epoch alone."""

    def __init__(self, kind: type[OptimizerSteps], settings: Settings, device: str = "cuda"):
        self.model, data = untrained(settings, device)
        self.events = EventLog()
        targets = first_targets(self.model, data)
        batch = paper_batch if isinstance(settings, PaperSettings) else training_batch
        self.noise_uses = batch.NOISE_USES
        self.batch_size, self.n_steps = data.n_rows // 4, 4
        generator = torch.Generator(device=device).manual_seed(5)
        seed_dropout(self.model.denoiser, generator)
        self.model.denoiser.train()
        model = self.model
        self.steps = kind(
            model.denoiser,
            model.device,
            lambda rows, keys: batch.batch_loss(model, data, targets, rows, keys).total,
            lambda rows, keys: batch.compiled_batch_loss()(model, data, targets, rows, keys).total,
            batch_size=self.batch_size,
            n_keys=len(self.noise_uses),
            steps_per_epoch=self.n_steps,
            learning_rate=settings.training.learning_rate,
            weight_decay=getattr(settings.training, "weight_decay", 0.0),
            averages=settings.training.average_decay > 0,
            events=self.events,
        )
        self.start = self.weights()

    def epoch(self, number: int, new_share: float = 0.1) -> float:
        """Take the steps of an epoch and return their mean loss."""
        order = torch.Generator().manual_seed(number)
        rows = torch.randperm(N_ROWS, generator=order).view(self.n_steps, self.batch_size)
        keys = [
            [stream_key(3, "epoch", number, step, use) for use in self.noise_uses]
            for step in range(self.n_steps)
        ]
        return self.steps.run_epoch(rows, torch.tensor(keys), new_share)

    def weights(self) -> torch.Tensor:
        """Return all weights in one vector, on the CPU."""
        return torch.cat([p.detach().ravel().cpu() for p in self.model.denoiser.parameters()])

    def averaged(self) -> torch.Tensor:
        """Return the averaged weights in one vector, on the CPU."""
        return torch.cat([p.ravel().cpu() for p in self.steps.averaged])

    @property
    def is_captured(self) -> bool:
        """Whether steps are replayed from a graph."""
        return self.steps._graph is not None
