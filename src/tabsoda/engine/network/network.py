"""The network as a predictor: one or more trained members whose answers are averaged."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tabsoda._internal.randomness import stream_key
from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.network.data import NetworkInput, TrainingData
from tabsoda.engine.network.embedding import EmbeddingNetwork
from tabsoda.engine.network.heads import AnswerHeads, Answers
from tabsoda.engine.network.tokens import TokenNetwork
from tabsoda.engine.network.training import train
from tabsoda.engine.predictor import CellAnswers, Mask, State, UsualShares
from tabsoda.engine.settings import EngineSettings
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog
from tabsoda.followers import unresolved_gates
from tabsoda.progress import Progress
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.keyed_noise import torch_generator


@dataclass(eq=False)
class Network:
    """One or more trained networks whose answers are averaged.

    Attributes
    ----------
    codec : AnswerCodec
    heads : AnswerHeads
    members : list of Module
        At least one.
    gates : ndarray of bool, shape (d, d)
        True at (gate, follower): a missing gate whose followers are all missing is left to other
        predictors, because the network reads a missing follower as one that was asked.
    device : torch.device
    """

    name: ClassVar[str] = "network"
    usual: ClassVar[UsualShares] = UsualShares(1.0, 1.0, 1.0)

    codec: AnswerCodec
    heads: AnswerHeads
    members: list[nn.Module]
    gates: Mask
    device: torch.device

    @classmethod
    def untrained(
        cls, codec: AnswerCodec, settings: EngineSettings, seed: int, device: torch.device
    ) -> Network:
        """Build networks whose initial weights depend only on the seed, not on the device."""
        heads = AnswerHeads(
            codec.level_counts,
            codec.n_levels[codec.categorical],
            codec.ordered,
            codec.bins.counts,
        )
        members = []
        for number in range(1, settings.network.members + 1):
            generator = torch_generator(member_seed(seed, number), "weights")
            members.append(_build(codec, heads, settings, generator).to(device).eval())
        n_columns = len(codec.names)
        gates = np.zeros((n_columns, n_columns), dtype=bool)
        return cls(codec, heads.to(device), members, gates, device)

    @classmethod
    def fit(
        cls,
        training: TrainingTable,
        settings: EngineSettings,
        seed: int,
        device: torch.device,
        events: EventLog,
        progress: Progress | None = None,
    ) -> tuple[Network, list[dict[str, Any]]]:
        """Train the networks; return them, and the history of each training."""
        network = cls.untrained(training.codec, settings, seed, device)
        incomplete = np.flatnonzero(training.shown.states.missing.any(axis=0))
        network.gates[incomplete] = training.followers[incomplete]
        data = TrainingData.of(training, device)
        history = []
        for number, member in enumerate(network.members, start=1):

            def update(done: int, total: int, number: int = number) -> None:
                if progress is not None:
                    whole = len(network.members) * total
                    progress((number - 1) * total + done, whole, "training the network")

            start = time.perf_counter()
            own = member_seed(seed, number)
            trained = train(member, network.heads, data, settings, own, device, events, update)
            member.eval()
            seconds = time.perf_counter() - start
            history.append({"network": number, **trained, "training_seconds": seconds})
        return network, history

    def answers(
        self, table: CodedTable, cells: Mask, network: CellAnswers | None = None
    ) -> CellAnswers:
        """Return the mean answers of the members."""
        mean = self.mean_answers(NetworkInput.of(table, self.codec, self.device))
        abstains = unresolved_gates(self.gates, table.states)[:, self.codec.modelled]
        return CellAnswers(
            mean.log_probabilities.double().exp().cpu().numpy(),
            mean.numbers.double().cpu().numpy(),
            mean.bin_log_probabilities.double().exp().cpu().numpy(),
            abstains if abstains.any() else None,
        )

    @torch.no_grad()
    def mean_answers(self, inputs: NetworkInput) -> Answers:
        """Average probabilities and expectations over the members."""
        answers = [self.heads(member(inputs)) for member in self.members]
        if len(answers) == 1:
            first: Answers = answers[0]
            return first
        levels, numbers, bins = (torch.stack(parts) for parts in zip(*answers, strict=True))
        shift = math.log(len(answers))
        return Answers(
            levels.logsumexp(dim=0) - shift, numbers.mean(dim=0), bins.logsumexp(dim=0) - shift
        )

    def to_state(self) -> State:
        """Return the weights, by member."""
        arrays: dict[str, NDArray[Any]] = {"gates": self.gates}
        for number, member in enumerate(self.members):
            for name, tensor in member.state_dict().items():
                arrays[f"{number}.{name}"] = tensor.detach().cpu().numpy()
        return arrays, {}

    @classmethod
    def from_state(
        cls,
        arrays: dict[str, NDArray[Any]],
        codec: AnswerCodec,
        settings: EngineSettings,
        seed: int,
        device: torch.device,
    ) -> Network:
        """Rebuild from :meth:`to_state`."""
        network = cls.untrained(codec, settings, seed, device)
        if arrays["gates"].shape != network.gates.shape:
            raise ValueError("the saved gates do not match the columns")
        network.gates = arrays["gates"]
        for number, member in enumerate(network.members):
            prefix = f"{number}."
            own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
            member.load_state_dict({name: torch.as_tensor(array) for name, array in own.items()})
        return network


def member_seed(seed: int, number: int) -> int:
    """Return the seed of a member; the first has the seed of the fit."""
    return seed if number == 1 else stream_key(seed, "member", number)


def _build(
    codec: AnswerCodec,
    heads: AnswerHeads,
    settings: EngineSettings,
    generator: torch.Generator,
) -> nn.Module:
    if settings.network.name == "tokens":
        return TokenNetwork(codec, heads, settings.network, generator)
    return EmbeddingNetwork(codec, heads.n_outputs, settings.network, generator)
