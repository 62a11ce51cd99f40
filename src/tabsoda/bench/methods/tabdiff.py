"""TabDiff (Shi et al. 2025): numbers by Gaussian, categories by masked diffusion, jointly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tabsoda.bench.methods.column_tensors import ColumnTensors
from tabsoda.bench.methods.deep_method import DeepMethod, Prediction
from tabsoda.bench.methods.epoch_training import EpochPlan, train
from tabsoda.bench.methods.noise_schedules import MaskSchedule, NumberSchedule, power_mean
from tabsoda.bench.methods.token_transformer import ValueReadOut, ValueTokens, transformer
from tabsoda.paper.denoiser import preconditioning
from tabsoda.paper.network import MLPBackbone
from tabsoda.paper.noise import loss_weight
from tabsoda.paper.settings import BackboneSettings
from tabsoda.settings_base import SettingGroup, setting
from tabsoda.torch_runtime.keyed_noise import torch_generator

_DATA_SCALE = 1.0
# The network gets the time as the noise level of a schedule with this fixed exponent.
_TIME_EXPONENT = 7.0
# S_churn of the sampler.
_CHURN = 1.0
# Temperature of the relaxed masks, through which the mask schedule is learned.
_MASK_TEMPERATURE = 0.01


@dataclass(frozen=True)
class TabDiffSettings(SettingGroup):
    """Defaults as released, but for refresh cycles (1 there) and samples (50 there)."""

    epochs: int = setting(8000, "passes over the table in training", low=1)
    max_steps: int | None = setting(None, "optimiser steps, at most", low=1)
    batch_size: int = setting(4096, "rows per step", low=1)
    learning_rate: float = setting(1e-3, "Adam's step", low=0)
    average_decay: float = setting(
        0.997, "decay per epoch of the averaged weights", low=0, high=0.99999
    )
    token_width: int = setting(4, "width of a token", low=1)
    layers: int = setting(2, "transformer blocks before and after the MLP", low=1)
    hidden_factor: int = setting(32, "hidden width of a block over the token's", low=1)
    width: int = setting(1024, "hidden width of the MLP between them", low=4)
    noise_max: float = setting(80.0, "noise of numbers at time 1", low=1e-3)
    noise_min: float = setting(0.002, "noise of numbers at time 0", low=1e-6)
    noise_steps: int = setting(50, "times from 1 to 0", low=2)
    refresh_cycles: int = setting(4, "times each step is repeated while mixing", low=1)
    samples: int = setting(20, "samples averaged", low=1)
    block_rows: int = setting(16_384, "rows sampled at a time", low=1)


class TabDiff(DeepMethod):
    """One denoiser for noisy numbers and masked categories.

    Forward in time, numbers get more Gaussian noise and more categories are masked; the network
    predicts numbers and level probabilities from the rest. How fast is learned for each column.

    Parameters
    ----------
    budget, settings, device
        As in :class:`~tabsoda.bench.methods.deep_method.DeepMethod`; the settings are the fields of
        :class:`TabDiffSettings`.

    Notes
    -----
    TabDiff needs complete rows, and its code imputes one target column, guided by a second model.
    The adaptation to missing cells anywhere: in training a missing category is masked at every
    time and a missing number is the mean of its column, and neither counts in the loss; to impute,
    known cells are noised or masked for the current time and mixed with the drawn ones, cell by
    cell, and each step is repeated after going back up (RePaint). There is no guidance, as there is
    no target column. Numbers are averaged over the samples, and so are the probabilities from which
    categories were drawn.

    As there, the noise schedules are learned, the weight of the numbers' loss falls to 0, weights
    and schedules are averaged over the epochs, and the sampler is stochastic and of second order.
    See docs/baselines.md for what differs.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.bench.methods.contract import SkipView
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(200, n_columns=10).true_table
    >>> method = TabDiff(budget="reduced", device="cpu", settings={
    ...     "max_steps": 5, "noise_steps": 3, "samples": 2})
    >>> estimates = method.impute(table, seed=1, skip_view=SkipView.BLIND)
    >>> bool(np.isfinite(estimates.mode[table.states.missing]).all())
    True
    """

    name = "TabDiff"
    settings_type = TabDiffSettings
    continuous = "normal_score"
    # Few epochs need a shorter average.
    reduced: ClassVar[dict[str, Any]] = {
        "epochs": 2000,
        "max_steps": 1500,
        "batch_size": 256,
        "learning_rate": 2e-3,
        "average_decay": 0.95,
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
        network = Network(data, settings, torch_generator(seed, "weights")).to(device)
        numbers = data.mean_filled()
        noise = torch_generator(seed, "noise", device=device)

        def loss_of(rows: torch.Tensor, progress: float) -> tuple[torch.Tensor, torch.Tensor]:
            clean = Cells(numbers[rows], data.levels[rows])
            known = Cells(data.numbers_known[rows], data.levels_known[rows])
            for_numbers, for_levels = diffusion_losses(network, clean, known, noise)
            return for_levels + (1 - progress) * for_numbers, for_levels + for_numbers

        plan = EpochPlan(
            settings.epochs,
            settings.batch_size,
            settings.learning_rate,
            max_steps=settings.max_steps,
            plateau=(0.9, 50),
            average_decay=settings.average_decay,
        )
        train(network, plan, loss_of, data.n_rows, seed)
        return self._sample(network, data, seed)

    @torch.no_grad()
    def _sample(self, network: Network, data: ColumnTensors, seed: int) -> Prediction:
        sampler = MixedSampler(
            network,
            self.settings.noise_steps,
            self.settings.refresh_cycles,
            torch_generator(seed, "sampling", device=data.device),
        )
        numbers = data.decoded(data.numbers)
        probabilities = torch.zeros(data.n_rows, *data.level_valid.shape, device=data.device)
        for rows in data.incomplete_rows().split(self.settings.block_rows):
            known = Cells(data.numbers_known[rows], data.levels_known[rows])
            clean = Cells(data.numbers[rows], data.levels[rows])
            mean = torch.zeros_like(numbers[rows])
            for _ in range(self.settings.samples):
                drawn, drawn_from = sampler.draw(clean, known)
                mean += data.decoded(drawn.numbers) / self.settings.samples
                probabilities[rows] += drawn_from / self.settings.samples
            numbers[rows] = mean
        return Prediction(numbers, probabilities)


class Cells(NamedTuple):
    """One value per number (B, q) and per category (B, c)."""

    numbers: torch.Tensor
    levels: torch.Tensor


def diffusion_losses(
    network: Network, clean: Cells, known: Cells, noise: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the losses of numbers and of categories for a batch, each of shape ().

    Both average over all cells, of which only known ones count. They reach the schedules: the
    numbers through their noise, the categories through relaxed masks and through their weights.

    Parameters
    ----------
    network : Network
    clean, known : Cells
    noise : torch.Generator
    """
    device = clean.numbers.device
    time = torch.rand(clean.numbers.shape[0], 1, generator=noise, device=device)
    level = network.number_schedule(time)
    normals = torch.randn(clean.numbers.shape, generator=noise, device=device)
    mask = relaxed_mask(network.mask_schedule(time), noise)
    # A missing category is masked at every time.
    mask = torch.where(known.levels, mask, 1.0)
    noisy = Cells(clean.numbers + level * normals, clean.levels)
    predicted, logits = network(noisy, time, level, mask)
    squared = loss_weight(level, _DATA_SCALE) * (predicted - clean.numbers).square()
    squared = squared.masked_fill(~known.numbers, 0.0)
    entropy = cross_entropy(logits.transpose(1, 2), clean.levels, reduction="none")
    counted = known.levels & (mask > 0.5)
    weighted = network.mask_schedule.weight(time) * entropy
    weighted = weighted.masked_fill(~counted, 0.0)
    return squared.sum() / max(squared.numel(), 1), weighted.sum() / max(weighted.numel(), 1)


def relaxed_mask(share: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
    """Draw masks, 1 with a given probability, whose gradient is that of a Gumbel softmax."""
    uniforms = torch.rand(share.shape, generator=noise, device=share.device).clamp(1e-7, 1 - 1e-7)
    soft = torch.sigmoid((share.logit() + uniforms.logit()) / _MASK_TEMPERATURE)
    return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())


class MixedSampler:
    """Draws unknown cells while mixing in known ones: Heun's steps on numbers, masks drawn.

    Parameters
    ----------
    network : Network
        Or anything with its schedules that is called like it.
    n_times : int
    refresh_cycles : int
        Each step is repeated this often after going back up.
    noise : torch.Generator
    """

    def __init__(
        self, network: Network, n_times: int, refresh_cycles: int, noise: torch.Generator
    ) -> None:
        self.network, self.refresh_cycles, self.noise = network, refresh_cycles, noise
        self.moments = moments_of(network, n_times, noise.device)

    @torch.no_grad()
    def draw(self, clean: Cells, known: Cells) -> tuple[Cells, torch.Tensor]:
        """Draw the unknown cells of some rows.

        Parameters
        ----------
        clean, known : Cells
            Values, valid where known, and where they are.

        Returns
        -------
        drawn : Cells
        drawn_from : float tensor, shape (B, c, max_levels)
            The distributions from which the categories were drawn.
        """
        masked = torch.full_like(clean.levels, self.network.mask_level)
        start = clean.numbers.masked_fill(~known.numbers, 0.0)
        state = Cells(start + self.moments[0].level * self._normals(start), masked)
        shape = (*clean.levels.shape, self.network.mask_level)
        drawn_from = torch.zeros(shape, device=masked.device)
        for now, later in zip(self.moments, [*self.moments[1:], None], strict=True):
            for cycle in range(self.refresh_cycles, 0, -1):
                state, fresh, chances = self._step(state, now, later)
                drawn_from = torch.where(fresh[:, :, None], chances, drawn_from)
                shown = clean if later is None else self._noised(clean, later)
                state = Cells(
                    torch.where(known.numbers, shown.numbers, state.numbers),
                    torch.where(known.levels, shown.levels, state.levels),
                )
                if cycle > 1:
                    state = self._back_up(state, later, now)
        return state, drawn_from

    def _step(
        self, state: Cells, now: Moment, later: Moment | None
    ) -> tuple[Cells, torch.Tensor, torch.Tensor]:
        """Go to the next time; also return which categories were drawn, and from what."""
        extra = (now.churned_level**2 - now.level**2).clamp(min=0).sqrt()
        numbers = state.numbers + extra * self._normals(state.numbers)
        levels = self._masked(state.levels, more_masked(now.share, now.churned_share))
        before, after = now.churned_level, torch.zeros_like(now.level)
        if later is not None:
            after = later.level
        predicted, logits = self._denoised(Cells(numbers, levels), now.churned_time, before)
        slope = (numbers - predicted) / before
        moved = numbers + (after - before) * slope
        if later is not None:
            again, _ = self._denoised(Cells(moved, levels), later.time, after)
            moved = numbers + (after - before) * (slope + (moved - again) / after) / 2
        stays = torch.zeros_like(now.share) if later is None else later.share / now.churned_share
        uniforms = torch.rand(levels.shape, generator=self.noise, device=levels.device)
        fresh = (levels == self.network.mask_level) & (uniforms >= stays)
        drawn = torch.where(fresh, _categorical(logits, self.noise), levels)
        return Cells(moved, drawn), fresh, logits.softmax(dim=2)

    def _denoised(
        self, noisy: Cells, time: torch.Tensor, level: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        n_rows = noisy.numbers.shape[0]
        return self.network(noisy, time.expand(n_rows, 1), level.expand(n_rows, -1))

    def _noised(self, clean: Cells, moment: Moment) -> Cells:
        """Take clean cells to a time: noise on numbers, some categories masked."""
        numbers = clean.numbers + moment.level * self._normals(clean.numbers)
        return Cells(numbers, self._masked(clean.levels, moment.share))

    def _back_up(self, state: Cells, later: Moment | None, now: Moment) -> Cells:
        """Add noise and masks to move a state back to the time before."""
        if later is None:
            return self._noised(state, now)
        spread = (now.level**2 - later.level**2).sqrt()
        numbers = state.numbers + spread * self._normals(state.numbers)
        return Cells(numbers, self._masked(state.levels, more_masked(later.share, now.share)))

    def _masked(self, levels: torch.Tensor, chance: torch.Tensor) -> torch.Tensor:
        uniforms = torch.rand(levels.shape, generator=self.noise, device=levels.device)
        return levels.masked_fill(uniforms < chance, self.network.mask_level)

    def _normals(self, like: torch.Tensor) -> torch.Tensor:
        return torch.randn(like.shape, generator=self.noise, device=like.device)


class Moment(NamedTuple):
    """Noise at a time of the sampler, and at the slightly later one to which it is churned.

    Attributes
    ----------
    time, churned_time : float tensor, shape (1, 1)
    level, churned_level : float tensor, shape (1, q)
        Noise of the numbers.
    share, churned_share : float tensor, shape (1, c)
        Masked share of the categories.
    """

    time: torch.Tensor
    level: torch.Tensor
    share: torch.Tensor
    churned_time: torch.Tensor
    churned_level: torch.Tensor
    churned_share: torch.Tensor


@torch.no_grad()
def moments_of(network: Network, n_times: int, device: torch.device) -> list[Moment]:
    """Return the sampler's moments from time 1 to 0.

    Numbers are churned by the same factor each, and categories to the earliest time at which a
    number has its churned noise. Nothing is churned beyond time 1, or without numbers.
    """
    moments = []
    for time in torch.linspace(1.0, 0.0, n_times, device=device)[:, None, None]:
        level, share = network.number_schedule(time), network.mask_schedule(time)
        churned_time, churned_level = time, level * (1 + _CHURN / n_times)
        if level.numel():
            churned_time = network.number_schedule.time_of(churned_level).min().view(1, 1)
        if not level.numel() or churned_time > 1:
            churned_time, churned_level = time, level
        churned_share = network.mask_schedule(churned_time)
        moments.append(Moment(time, level, share, churned_time, churned_level, churned_share))
    return moments


def more_masked(share: torch.Tensor, later_share: torch.Tensor) -> torch.Tensor:
    """Return the chance of masking an unmasked cell to get from one masked share to a larger."""
    return 1 - (1 - later_share) / (1 - share)


def _categorical(logits: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
    """Draw levels by Gumbel's trick; (B, c)."""
    uniforms = torch.rand(logits.shape, generator=noise, device=logits.device)
    return (logits - torch.log(-torch.log(uniforms.clamp(1e-20, 1 - 1e-7)))).argmax(dim=2)


class Network(nn.Module):
    """Tokens, attention, an MLP over the row conditioned on the time, attention, values.

    Its parameters include those of the two schedules.
    """

    def __init__(
        self, data: ColumnTensors, settings: TabDiffSettings, generator: torch.Generator
    ) -> None:
        super().__init__()
        n_numbers, (n_categorical, self.mask_level) = data.numbers.shape[1], data.level_valid.shape
        width = settings.token_width
        self.width = width
        self.number_schedule = NumberSchedule(n_numbers, settings.noise_min, settings.noise_max)
        self.mask_schedule = MaskSchedule(n_categorical)
        self.tokens = ValueTokens(n_numbers, n_categorical, self.mask_level + 1, width, generator)
        form = (settings.layers, width, 1, settings.hidden_factor, generator)
        self.before, self.after = transformer(*form), transformer(*form)
        backbone = BackboneSettings(width=settings.width, sees_visible=False, sees_skips=False)
        self.row = MLPBackbone(data.n_columns * width, backbone, generator)
        self.read_out = ValueReadOut(n_numbers, data.level_valid, width, generator)

    def forward(
        self,
        noisy: Cells,
        time: torch.Tensor,
        level: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Denoise a batch.

        Parameters
        ----------
        noisy : Cells
        time : float tensor, shape (B, 1)
        level : float tensor, shape (B, q)
            Noise of the numbers.
        mask : float tensor, shape (B, c), optional
            How much of each category is masked, if the levels do not say it.

        Returns
        -------
        numbers : float tensor, shape (B, q)
        logits : float tensor, shape (B, c, K)
        """
        scalings = preconditioning(level, _DATA_SCALE)
        scaled = scalings.input * noisy.numbers
        tokens = self.tokens(scaled, noisy.levels)
        if mask is not None:
            hidden = self.tokens(scaled, torch.full_like(noisy.levels, self.mask_level))
            whole = torch.cat([torch.zeros_like(scaled), mask], dim=1)[:, :, None]
            tokens = (1 - whole) * tokens + whole * hidden
        flat = self.before(tokens).flatten(1)
        schedule = self.number_schedule
        shown_time = power_mean(time[:, 0], _TIME_EXPONENT, schedule.low, schedule.high).log() / 4
        masks = torch.zeros_like(flat, dtype=torch.bool)
        mixed = self.row(flat, shown_time, masks, masks)
        predicted, logits = self.read_out(self.after(mixed.unflatten(1, (-1, self.width))))
        return scalings.residual * noisy.numbers + scalings.output * predicted, logits
