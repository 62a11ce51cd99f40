"""TabSyn (Zhang et al. 2024): a token VAE, and diffusion in its latent space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tabsoda._internal.randomness import stream_key
from tabsoda.bench.methods.column_tensors import ColumnTensors
from tabsoda.bench.methods.deep_method import DeepMethod, Prediction
from tabsoda.bench.methods.epoch_training import EpochPlan, train
from tabsoda.bench.methods.token_transformer import ValueReadOut, ValueTokens, transformer
from tabsoda.paper.denoiser import build_denoiser, sampling_copy
from tabsoda.paper.losses import reconstruction_loss
from tabsoda.paper.noise import noisy_state, training_noise
from tabsoda.paper.reverse_process import ReverseProcess
from tabsoda.paper.reverse_sampler import SampledRows
from tabsoda.paper.settings import BackboneSettings, SamplerSettings
from tabsoda.settings_base import SettingGroup, setting
from tabsoda.torch_runtime.keyed_noise import torch_generator

_DATA_SCALE = 0.5
_ENCODING_BLOCK = 8192


@dataclass(frozen=True)
class TabSynSettings(SettingGroup):
    """Defaults as released."""

    vae_epochs: int = setting(4000, "passes over the table in training the VAE", low=1)
    vae_learning_rate: float = setting(1e-3, "Adam's step for the VAE", low=0)
    token_width: int = setting(4, "width of a token, and of its latent", low=1)
    layers: int = setting(2, "transformer blocks of each encoder and of the decoder", low=1)
    hidden_factor: int = setting(32, "hidden width of a block over the token's", low=1)
    first_beta: float = setting(1e-2, "weight of the KL term at the start", low=0)
    last_beta: float = setting(1e-5, "and at the end", low=0)
    diffusion_epochs: int = setting(10_001, "passes in training the denoiser, at most", low=1)
    patience: int = setting(500, "epochs without improvement before the denoiser stops", low=1)
    max_steps: int | None = setting(None, "optimiser steps of each stage, at most", low=1)
    diffusion_learning_rate: float = setting(1e-3, "Adam's step for the denoiser", low=0)
    width: int = setting(1024, "hidden width of the denoiser", low=4)
    batch_size: int = setting(4096, "rows per step", low=1)
    noise_steps: int = setting(50, "noise levels of the sampler", low=2)
    refresh_cycles: int = setting(20, "times each level is repeated while mixing", low=1)
    samples: int = setting(20, "samples averaged", low=1)
    block_rows: int = setting(16_384, "rows sampled at a time", low=1)


class TabSyn(DeepMethod):
    """Diffusion in the latent space of a VAE with one token per column.

    Parameters
    ----------
    budget, settings, device
        As in :class:`~tabsoda.bench.methods.deep_method.DeepMethod`; the settings are the fields of
        :class:`TabSynSettings`.

    Notes
    -----
    TabSyn needs complete rows, and its code imputes one target column. The adaptation to missing
    cells anywhere: as there for the target, a missing number is filled by the mean of its column
    and a missing category by a level drawn from its answers; the VAE and the denoiser see the
    filled rows, but their losses count known cells alone; to impute, the latents of the missing
    cells are drawn while those of the known ones are mixed back in at every noise level (RePaint),
    cell by cell. The drawn latents are decoded together with the known ones; numbers and level
    probabilities are averaged over the samples.

    As there, latents are centred and divided by 2. Differences beyond that: the weight of the KL
    term falls geometrically instead of on a plateau, the learning rates follow the training loss
    because there is no validation table, and the last weights of the VAE are taken. See
    docs/baselines.md.

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda.bench.methods.contract import SkipView
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(200, n_columns=10).true_table
    >>> method = TabSyn(budget="reduced", device="cpu", settings={
    ...     "max_steps": 5, "noise_steps": 3, "samples": 2})
    >>> estimates = method.impute(table, seed=1, skip_view=SkipView.BLIND)
    >>> bool(np.isfinite(estimates.mode[table.states.missing]).all())
    True
    """

    name = "TabSyn"
    settings_type = TabSynSettings
    continuous = "normal_score"
    reduced: ClassVar[dict[str, Any]] = {
        "vae_learning_rate": 3e-3,
        "hidden_factor": 8,
        "max_steps": 1500,
        "width": 128,
        "batch_size": 256,
        "noise_steps": 20,
        "refresh_cycles": 4,
        "samples": 8,
        "block_rows": 4096,
    }

    def predict(self, data: ColumnTensors, seed: int) -> Prediction:
        """Train both stages on the filled table, then draw the latents of unknown cells."""
        numbers, levels = data.mean_filled(), data.drawn_levels(seed)
        vae = self._train_vae(data, numbers, levels, seed)
        latents = vae.means(numbers, levels)
        # A token's latent has token_width coordinates, all known or all unknown.
        known = data.known.repeat_interleave(self.settings.token_width, dim=1)
        center = known_mean(latents, known)
        centered = (latents - center) * _DATA_SCALE
        process = self._train_denoiser(centered, known, seed)
        return self._sample(data, vae, process, centered, known, center, seed)

    def _train_vae(
        self, data: ColumnTensors, numbers: torch.Tensor, levels: torch.Tensor, seed: int
    ) -> TokenVAE:
        settings = self.settings
        vae = TokenVAE(
            numbers.shape[1], data.level_valid, settings, torch_generator(seed, "vae weights")
        ).to(data.device)
        noise = torch_generator(seed, "vae noise", device=data.device)

        def loss_of(rows: torch.Tensor, progress: float) -> tuple[torch.Tensor, torch.Tensor]:
            mean, log_variance = vae.encode(numbers[rows], levels[rows])
            normals = torch.randn(mean.shape, generator=noise, device=data.device)
            decoded = vae.decode(mean + (0.5 * log_variance).exp() * normals)
            divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).mean()
            beta = settings.first_beta * (settings.last_beta / settings.first_beta) ** progress
            reconstruction = known_cell_loss(decoded, data, rows)
            return beta * divergence + reconstruction, reconstruction

        plan = EpochPlan(
            settings.vae_epochs,
            settings.batch_size,
            settings.vae_learning_rate,
            max_steps=settings.max_steps,
            plateau=(0.95, 10),
        )
        train(vae, plan, loss_of, data.n_rows, stream_key(seed, "vae"))
        return vae

    def _train_denoiser(
        self, latents: torch.Tensor, known: torch.Tensor, seed: int
    ) -> ReverseProcess:
        settings, device = self.settings, latents.device
        backbone = BackboneSettings(width=settings.width, sees_visible=False, sees_skips=False)
        denoiser = build_denoiser(
            latents.shape[1], backbone, _DATA_SCALE, "noisy", torch_generator(seed, "weights")
        ).to(device)
        noise = torch_generator(seed, "noise", device=device)

        def loss_of(rows: torch.Tensor, progress: float) -> tuple[torch.Tensor, torch.Tensor]:
            clean, everything = latents[rows], torch.ones_like(known[rows])
            levels = torch.randn(rows.shape, generator=noise, device=device)
            level = training_noise(-1.2, 1.2, levels)
            normals = torch.randn(clean.shape, generator=noise, device=device)
            state = noisy_state(clean, level, normals, everything)
            predicted = denoiser(state, level, everything, ~everything)
            counted = known[rows].float()
            loss = reconstruction_loss(predicted, clean, level, everything, counted, _DATA_SCALE)
            return loss, loss

        plan = EpochPlan(
            settings.diffusion_epochs,
            settings.batch_size,
            settings.diffusion_learning_rate,
            max_steps=settings.max_steps,
            plateau=(0.9, 20),
            patience=settings.patience,
        )
        train(denoiser, plan, loss_of, latents.shape[0], stream_key(seed, "diffusion"))
        sampler = SamplerSettings(
            steps=settings.noise_steps,
            noise_max=80.0,
            churn=1.0,
            refresh_cycles=settings.refresh_cycles,
        )
        return ReverseProcess(sampling_copy(denoiser), sampler, "noisy", events=self.events)

    @torch.no_grad()
    def _sample(
        self,
        data: ColumnTensors,
        vae: TokenVAE,
        process: ReverseProcess,
        latents: torch.Tensor,
        known: torch.Tensor,
        center: torch.Tensor,
        seed: int,
    ) -> Prediction:
        numbers = data.decoded(data.numbers)
        probabilities = torch.zeros(data.n_rows, *data.level_valid.shape, device=data.device)
        for rows in data.incomplete_rows().split(self.settings.block_rows):
            block = SampledRows(
                latents[rows], ~known[rows], torch.ones_like(known[rows]), data.row_keys[rows]
            )
            mean = torch.zeros_like(numbers[rows])
            for sample in range(self.settings.samples):
                drawn = process.sample(block, stream_key(seed, "sample", sample))
                decoded, logits = vae.decode(drawn / _DATA_SCALE + center)
                mean += data.decoded(decoded) / self.settings.samples
                probabilities[rows] += logits.softmax(dim=2) / self.settings.samples
            numbers[rows] = mean
        return Prediction(numbers, probabilities)


class TokenVAE(nn.Module):
    """Encoders for mean and log variance of every token, and a decoder; latents are flat.

    Shape: numbers (B, q), levels (B, c) → latents (B, (q + c) * width) → numbers, logits.
    """

    def __init__(
        self,
        n_numbers: int,
        level_valid: torch.Tensor,
        settings: TabSynSettings,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.width = settings.token_width
        n_categorical, max_levels = level_valid.shape
        self.tokens = ValueTokens(n_numbers, n_categorical, max_levels, self.width, generator)
        form = (settings.layers, self.width, 1, settings.hidden_factor, generator)
        self.to_mean, self.to_log_variance = transformer(*form), transformer(*form)
        self.decoder = transformer(*form)
        self.read_out = ValueReadOut(n_numbers, level_valid, self.width, generator)

    def encode(
        self, numbers: torch.Tensor, levels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return mean and log variance of the latents."""
        tokens = self.tokens(numbers, levels)
        return self.to_mean(tokens).flatten(1), self.to_log_variance(tokens).flatten(1)

    @torch.no_grad()
    def means(self, numbers: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        """Return the latents of a whole table, block by block."""
        blocks = zip(numbers.split(_ENCODING_BLOCK), levels.split(_ENCODING_BLOCK), strict=True)
        return torch.cat([self.encode(*block)[0] for block in blocks])

    def decode(self, latents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return numbers and level logits."""
        return self.read_out(self.decoder(latents.unflatten(1, (-1, self.width))))


def known_cell_loss(
    decoded: tuple[torch.Tensor, torch.Tensor], data: ColumnTensors, rows: torch.Tensor
) -> torch.Tensor:
    """Return squared error plus cross-entropy, each averaged over the known cells of some rows."""
    numbers, logits = decoded
    seen, named = data.numbers_known[rows], data.levels_known[rows]
    squared = (numbers - data.numbers[rows]).masked_fill(~seen, 0.0).square().sum()
    entropy = cross_entropy(logits.flatten(0, 1), data.levels[rows].flatten(), reduction="none")
    entropy = entropy.masked_fill(~named.flatten(), 0.0).sum()
    return squared / seen.sum().clamp(min=1) + entropy / named.sum().clamp(min=1)


def known_mean(latents: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
    """Return the mean of the known latents of each coordinate; shape (p,).

    Examples
    --------
    >>> known_mean(torch.tensor([[1.0], [3.0], [9.0]]), torch.tensor([[True], [True], [False]]))
    tensor([2.])
    """
    return latents.masked_fill(~known, 0.0).sum(dim=0) / known.sum(dim=0).clamp(min=1)
