"""A small survey and half-fitted models of it on any device, for tests without fixtures."""

from __future__ import annotations

import numpy as np
import torch

from tabsoda._internal.randomness import row_keys, stream_key
from tabsoda.engine.network import training as network_training
from tabsoda.engine.network.data import TrainingData
from tabsoda.engine.network.network import Network
from tabsoda.engine.presets import QUALITIES
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog
from tabsoda.paper import em as paper_em
from tabsoda.paper import training_batch as paper_batch
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.model import Model
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.working_table import WorkingTable
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.layers import seed_dropout
from tabsoda.torch_runtime.optimizer_steps import OptimizerSteps

N_ROWS = 256
# Which quality or preset has which network; both conditionings of the paper are among them.
DEFAULT = {"embedding": "balanced", "tokens": "best"}
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


def settings_of(
    network: str, /, dropout: float = 0.0, **changes: dict
) -> EngineSettings | PaperSettings:
    """Return small settings of a network; those of the default engine train it alone."""
    training = {"learning_rate": 1e-3, "batch_size": N_ROWS // 4}
    if network in PAPER:
        settings = PaperSettings.preset(PAPER[network]).replace(
            backbone={"width": 32, "dropout": dropout}, training=training, sampler={"steps": 8}
        )
        return settings.replace(**changes).resolve(8, 2)
    settings = EngineSettings().replace(**QUALITIES[DEFAULT[network]])
    settings = settings.replace(
        network={"width": 32, "dropout": dropout},
        training=training,
        trees={"effort": "none"},
        regressions={"sets": 0, "point_sets": 0},
        draws={"method": "sequential"},
    )
    return settings.replace(**changes)


def untrained_model(
    settings: PaperSettings, device: str, seed: int = 1
) -> tuple[Model, WorkingTable]:
    """Return a model of the paper before its first step, and its table."""
    table, place = survey(), torch.device(device)
    keys = row_keys(table.values, table.states.states)
    codec = TableCodec.fit(table, table.states.answered, settings.encoding, EventLog())
    model = Model.start(codec, settings, seed, place)
    return model, WorkingTable.build(table, codec, keys, place)


def first_targets(model: Model, data: WorkingTable):
    """Return what the first round trains on; the model gets its standardiser."""
    return paper_em._round_targets(model, data, paper_em.initial_state(model, data), 1, EventLog())


def untrained_network(
    settings: EngineSettings, device: str, seed: int = 1
) -> tuple[Network, TrainingTable]:
    """Return a network of the default engine before its first step, and its table."""
    training = TrainingTable.build(survey(), 0.0, seed, EventLog())
    return Network.untrained(training.codec, settings, seed, torch.device(device)), training


class EagerSteps(OptimizerSteps):
    """Takes one operation after the other, on a GPU too."""

    def _capture(self, ways):
        pass


class CapturedSteps(OptimizerSteps):
    """Captures a step as it is, without compiling it."""

    def _capture(self, ways):
        super()._capture([way for way in ways if way[0] == "captured"])


class Float32Steps:
    """Mixed into the above: no bfloat16 anywhere."""

    _in_bfloat16 = False


class EagerFloat32Steps(Float32Steps, EagerSteps):
    """Eager and exact: what the others are measured against."""


class CapturedFloat32Steps(Float32Steps, CapturedSteps):
    """Captured and exact."""


class CompiledFloat32Steps(Float32Steps, OptimizerSteps):
    """Compiled, captured and exact."""


class Training:
    """A network in training: its steps, and batches that depend on the epoch alone."""

    def __init__(
        self,
        kind: type[OptimizerSteps],
        settings: EngineSettings | PaperSettings,
        device: str = "cuda",
    ):
        if isinstance(settings, PaperSettings):
            self._start_paper(settings, device)
        else:
            self._start_default(settings, device)
        self.events = EventLog()
        self.batch_size, self.n_steps = N_ROWS // 4, 4
        seed_dropout(self.network, torch.Generator(device=device).manual_seed(5))
        self.network.train()
        self.steps = kind(
            self.network,
            torch.device(device),
            self.loss_of,
            self.fused_loss_of,
            batch_size=self.batch_size,
            n_keys=len(self.noise_uses),
            steps_per_epoch=self.n_steps,
            learning_rate=settings.training.learning_rate,
            weight_decay=getattr(settings.training, "weight_decay", 0.0),
            averages=True,
            events=self.events,
        )
        self.start = self.weights()

    def _start_paper(self, settings: PaperSettings, device: str) -> None:
        model, data = untrained_model(settings, device)
        targets = first_targets(model, data)
        self.network, self.noise_uses = model.denoiser, paper_batch.NOISE_USES

        def loss_of(rows, keys):
            return paper_batch.batch_loss(model, data, targets, rows, keys).total

        def fused_loss_of(rows, keys):
            return paper_batch.compiled_batch_loss()(model, data, targets, rows, keys).total

        self.loss_of, self.fused_loss_of = loss_of, fused_loss_of

    def _start_default(self, settings: EngineSettings, device: str) -> None:
        network, training = untrained_network(settings, device)
        data, member = TrainingData.of(training, network.device), network.members[0]
        self.network, self.noise_uses = member, network_training.NOISE_USES

        def loss_of(rows, keys):
            return network_training.batch_loss(
                member, network.heads, data, rows, keys, settings.loss
            )

        # Its trainings are too short to compile a step.
        self.loss_of, self.fused_loss_of = loss_of, None

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
        return torch.cat([p.detach().ravel().cpu() for p in self.network.parameters()])

    def averaged(self) -> torch.Tensor:
        """Return the averaged weights in one vector, on the CPU."""
        return torch.cat([p.ravel().cpu() for p in self.steps.averaged])

    @property
    def is_captured(self) -> bool:
        """Whether steps are replayed from a graph."""
        return self.steps._graph is not None
