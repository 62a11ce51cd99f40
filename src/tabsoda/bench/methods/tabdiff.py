"""TabDiff (Shi et al. 2025): numbers by Gaussian, categories by masked diffusion, jointly."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tabsoda.bench.methods.column_tensors import ColumnTensors
from tabsoda.bench.methods.deep_method import DeepMethod, Prediction, train
from tabsoda.bench.methods.token_transformer import ValueReadOut, ValueTokens, transformer
from tabsoda.paper.denoiser import preconditioning
from tabsoda.paper.network import MLPBackbone
from tabsoda.paper.noise import loss_weight
from tabsoda.paper.settings import BackboneSettings
from tabsoda.settings_base import SettingGroup, setting
from tabsoda.torch_runtime.keyed_noise import torch_generator

_DATA_SCALE = 1.0
_EXPONENT = 7.0
# Below this time hardly anything is masked, and the weight 1 / time becomes very large.
_FIRST_TIME = 1e-3


@dataclass(frozen=True)
class TabDiffSettings(SettingGroup):
    """Defaults as released, where an epoch of a table of up to 4,096 rows is one step."""

    steps: int = setting(8000, "optimiser steps", low=1)
    batch_size: int = setting(4096, "rows per step", low=1)
    learning_rate: float = setting(1e-3, "Adam's step", low=0)
    token_width: int = setting(4, "width of a token", low=1)
    layers: int = setting(2, "transformer blocks before and after the MLP", low=1)
    hidden_factor: int = setting(32, "hidden width of a block over the token's", low=1)
    width: int = setting(1024, "hidden width of the MLP between them", low=4)
    noise_max: float = setting(80.0, "noise of numbers at time 1", low=1e-3)
    noise_min: float = setting(0.002, "noise of numbers at time 0", low=1e-6)
    noise_steps: int = setting(50, "steps from time 1 to 0", low=1)
    refresh_cycles: int = setting(4, "times each step is repeated while mixing", low=1)
    samples: int = setting(20, "samples averaged", low=1)
    block_rows: int = setting(16_384, "rows sampled at a time", low=1)


class TabDiff(DeepMethod):
    """One denoiser for noisy numbers and masked categories.

    Forward in time, numbers get more Gaussian noise and more categories are masked; the network
    predicts numbers and level probabilities from the rest.

    Parameters
    ----------
    budget, settings, device
        As in :class:`~tabsoda.bench.methods.deep_method.DeepMethod`; the settings are the fields of
        :class:`TabDiffSettings`.

    Notes
    -----
    TabDiff needs complete rows, and its code imputes one target column, guided by a second model.
    The adaptation to missing cells anywhere: in training a missing category is masked at every
    time and a missing number is an answer of the same column drawn at random, and neither counts
    in the loss; to impute, known cells are noised or masked for the current time and mixed with
    the drawn ones, cell by cell, and each step is repeated after going back up (RePaint). There is
    no guidance, as there is no target column. Numbers are averaged over the samples, and so are
    the probabilities from which categories were drawn.

    Differences beyond that: the noise schedules are fixed and shared by the columns instead of
    learned, the sampler is Euler's, and the last weights are taken instead of an average.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.bench.methods.contract import SkipView
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(200, n_columns=10).true_table
    >>> method = TabDiff(budget="reduced", device="cpu", settings={
    ...     "steps": 5, "noise_steps": 3, "samples": 2})
    >>> estimates = method.impute(table, seed=1, skip_view=SkipView.BLIND)
    >>> bool(np.isfinite(estimates.mode[table.states.missing]).all())
    True
    """

    name = "TabDiff"
    settings_type = TabDiffSettings
    continuous = "normal_score"
    reduced: ClassVar[dict[str, Any]] = {
        "steps": 1500,
        "batch_size": 256,
        "learning_rate": 2e-3,
        "hidden_factor": 8,
        "width": 128,
        "noise_steps": 20,
        "refresh_cycles": 2,
        "samples": 8,
        "block_rows": 4096,
    }

    def predict(self, data: ColumnTensors, seed: int) -> Prediction:
        """Train on the filled table and sample the unknown cells."""
        settings, device = self.settings, data.device
        network = _Network(data, settings, torch_generator(seed, "weights")).to(device)
        numbers, _ = data.filled(seed)
        noise = torch_generator(seed, "noise", device=device)

        def loss_of(rows: torch.Tensor, progress: float) -> torch.Tensor:
            time = torch.rand(rows.shape, generator=noise, device=device).clamp(min=_FIRST_TIME)
            clean = _Cells(numbers[rows], data.levels[rows])
            noisy, masked = self._noised(clean, time, network, noise)
            unknown = ~data.levels_known[rows]
            noisy = noisy._replace(levels=noisy.levels.masked_fill(unknown, network.mask_level))
            predicted, logits = network(noisy, self._level(time))
            return _loss(
                predicted - clean.numbers,
                data.numbers_known[rows],
                loss_weight(self._level(time), _DATA_SCALE),
                cross_entropy(logits.transpose(1, 2), clean.levels, reduction="none"),
                masked & ~unknown,
                1 / time,
            )

        train(
            network,
            loss_of,
            data.n_rows,
            steps=settings.steps,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            seed=seed,
        )
        return self._sample(network, data, seed)

    def _level(self, time: torch.Tensor) -> torch.Tensor:
        """Return the noise of numbers at a time: EDM's polynomial between least and most."""
        low, high = (
            x ** (1 / _EXPONENT) for x in (self.settings.noise_min, self.settings.noise_max)
        )
        return (low + time * (high - low)) ** _EXPONENT

    def _noised(
        self, clean: _Cells, time: torch.Tensor, network: _Network, noise: torch.Generator
    ) -> tuple[_Cells, torch.Tensor]:
        """Take clean cells to a time (B,): noise on numbers, masks at rate ``time``."""
        device = time.device
        normals = torch.randn(clean.numbers.shape, generator=noise, device=device)
        uniforms = torch.rand(clean.levels.shape, generator=noise, device=device)
        masked = uniforms < time[:, None]
        numbers = clean.numbers + self._level(time)[:, None] * normals
        return _Cells(numbers, clean.levels.masked_fill(masked, network.mask_level)), masked

    @torch.no_grad()
    def _sample(self, network: _Network, data: ColumnTensors, seed: int) -> Prediction:
        noise = torch_generator(seed, "sampling", device=data.device)
        numbers = data.numbers.clone()
        probabilities = torch.zeros(data.n_rows, *data.level_valid.shape, device=data.device)
        for rows in data.incomplete_rows().split(self.settings.block_rows):
            known = _Cells(data.numbers_known[rows], data.levels_known[rows])
            clean = _Cells(data.numbers[rows], data.levels[rows])
            mean = torch.zeros_like(clean.numbers)
            for _ in range(self.settings.samples):
                drawn, drawn_from = self._draw(network, clean, known, noise)
                mean += drawn.numbers / self.settings.samples
                probabilities[rows] += drawn_from / self.settings.samples
            numbers[rows] = mean
        return Prediction(numbers, probabilities)

    def _draw(
        self, network: _Network, clean: _Cells, known: _Cells, noise: torch.Generator
    ) -> tuple[_Cells, torch.Tensor]:
        """Draw the unknown cells of some rows; also return the categories' distributions."""
        n_rows, device = clean.numbers.shape[0], clean.numbers.device
        times = torch.linspace(1.0, 0.0, self.settings.noise_steps + 1, device=device)
        every = torch.ones(n_rows, device=device)
        nothing = _Cells(torch.zeros_like(clean.numbers), clean.levels)
        state, _ = self._noised(nothing, every, network, noise)
        drawn_from = torch.zeros(*clean.levels.shape, network.mask_level, device=device)
        for time, later in itertools.pairwise(times):
            for cycle in range(self.settings.refresh_cycles, 0, -1):
                shown, _ = self._noised(clean, time * every, network, noise)
                state = _mixed(known, shown, state)
                predicted, logits = network(state, self._level(time * every))
                state, fresh = self._step(state, predicted, logits, time, later, network, noise)
                drawn_from = torch.where(fresh[:, :, None], logits.softmax(dim=2), drawn_from)
                if cycle > 1:
                    state = self._back_up(state, later, time, network, noise)
        # At time 0 a little noise remains on the numbers; one more pass removes it.
        state = _mixed(known, clean, state)
        predicted, _ = network(state, self._level(0 * every))
        return state._replace(numbers=predicted), drawn_from

    def _step(
        self,
        state: _Cells,
        predicted: torch.Tensor,
        logits: torch.Tensor,
        time: torch.Tensor,
        later: torch.Tensor,
        network: _Network,
        noise: torch.Generator,
    ) -> tuple[_Cells, torch.Tensor]:
        """Go from a time to the next: Euler on numbers, some of the masks drawn."""
        before, after = self._level(time), self._level(later)
        numbers = predicted + after / before * (state.numbers - predicted)
        uniforms = torch.rand(state.levels.shape, generator=noise, device=time.device)
        fresh = (state.levels == network.mask_level) & (uniforms * time < time - later)
        levels = torch.where(fresh, _categorical(logits, noise), state.levels)
        return _Cells(numbers, levels), fresh

    def _back_up(
        self,
        state: _Cells,
        time: torch.Tensor,
        earlier: torch.Tensor,
        network: _Network,
        noise: torch.Generator,
    ) -> _Cells:
        """Add noise to move a state back to a noisier time."""
        variance = self._level(earlier) ** 2 - self._level(time) ** 2
        normals = torch.randn(state.numbers.shape, generator=noise, device=time.device)
        uniforms = torch.rand(state.levels.shape, generator=noise, device=time.device)
        masked = uniforms * (1 - time) < earlier - time
        levels = state.levels.masked_fill(masked, network.mask_level)
        return _Cells(state.numbers + variance.sqrt() * normals, levels)


class _Cells(NamedTuple):
    """One value per number (B, q) and per category (B, c)."""

    numbers: torch.Tensor
    levels: torch.Tensor


def _mixed(known: _Cells, shown: _Cells, drawn: _Cells) -> _Cells:
    """Use the known value where known, else the drawn one."""
    parts = zip(known, shown, drawn, strict=True)
    return _Cells(*(torch.where(mask, mine, other) for mask, mine, other in parts))


def _categorical(logits: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
    """Draw levels by Gumbel's trick; (B, c)."""
    uniforms = torch.rand(logits.shape, generator=noise, device=logits.device)
    return (logits - torch.log(-torch.log(uniforms.clamp(1e-20, 1 - 1e-7)))).argmax(dim=2)


def _loss(
    error: torch.Tensor,
    seen: torch.Tensor,
    number_weight: torch.Tensor,
    entropy: torch.Tensor,
    hidden: torch.Tensor,
    level_weight: torch.Tensor,
) -> torch.Tensor:
    """Average weighted squared errors over numbers, weighted cross-entropies over categories."""
    squared = number_weight[:, None] * error.masked_fill(~seen, 0.0).square()
    weighted = level_weight[:, None] * entropy.masked_fill(~hidden, 0.0)
    return squared.sum() / max(squared.numel(), 1) + weighted.sum() / max(weighted.numel(), 1)


class _Network(nn.Module):
    """Tokens, attention, an MLP over the row conditioned on the noise, attention, values."""

    def __init__(
        self, data: ColumnTensors, settings: TabDiffSettings, generator: torch.Generator
    ) -> None:
        super().__init__()
        n_numbers, (n_categorical, self.mask_level) = data.numbers.shape[1], data.level_valid.shape
        width = settings.token_width
        self.width = width
        self.tokens = ValueTokens(n_numbers, n_categorical, self.mask_level + 1, width, generator)
        form = (settings.layers, width, 1, settings.hidden_factor, generator)
        self.before, self.after = transformer(*form), transformer(*form)
        backbone = BackboneSettings(width=settings.width, sees_visible=False, sees_skips=False)
        self.row = MLPBackbone(data.n_columns * width, backbone, generator)
        self.read_out = ValueReadOut(n_numbers, data.level_valid, width, generator)

    def forward(
        self, noisy: _Cells, noise_level: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return clean numbers (B, q) and level logits (B, c, K); noise_level (B,)."""
        scalings = preconditioning(noise_level, _DATA_SCALE)
        residual, output, scale_in = (s[:, None] for s in scalings[:3])
        tokens = self.before(self.tokens(scale_in * noisy.numbers, noisy.levels))
        flat = tokens.flatten(1)
        masks = torch.zeros_like(flat, dtype=torch.bool)
        mixed = self.row(flat, scalings.noise_label, masks, masks)
        tokens = self.after(tokens + mixed.unflatten(1, (-1, self.width)))
        predicted, logits = self.read_out(tokens)
        return residual * noisy.numbers + output * predicted, logits
