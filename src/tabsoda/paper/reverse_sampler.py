"""The E-step's reverse process: from noise to imputations, given the visible entries.

Every step moves the entries to impute down one noise level (Heun), refreshes the visible ones and
keeps skipped ones at 0. Steps read their noise levels and keys from tensors at a counter that is
also a tensor, so that one captured graph can run all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from tabsoda._internal.randomness import stream_key
from tabsoda.paper.noise import noise_grid
from tabsoda.paper.settings import SamplerSettings
from tabsoda.torch_runtime.keyed_noise import keyed_normals

# denoise(state, noise_level, visible, skipped) -> clean coordinates; see Denoiser.
Denoise = Callable[..., torch.Tensor]

_NOISE_KINDS = ("churn", "refresh", "renoise")


class SampledRows(NamedTuple):
    """A block of rows with its observed values and masks.

    Attributes
    ----------
    observed : float32 tensor, shape (B, p)
        Standardised; valid only where visible.
    to_impute, applicable : bool tensor, shape (B, p)
        Applicable entries not to impute are visible; entries not applicable are skipped.
    row_keys : int64 tensor, shape (B,)
        Identify the rows' noise.
    """

    observed: torch.Tensor
    to_impute: torch.Tensor
    applicable: torch.Tensor
    row_keys: torch.Tensor

    @property
    def visible(self) -> torch.Tensor:
        """Entries that condition the others."""
        return self.applicable & ~self.to_impute


class SamplerForm(NamedTuple):
    """Constants of a sampling run, so that a step does not branch on data."""

    noisy: bool
    churns: bool
    renoises: bool

    @classmethod
    def of(cls, settings: SamplerSettings, conditioning: str) -> SamplerForm:
        """Return the form of the settings."""
        return cls(conditioning == "noisy", settings.churn > 0, settings.refresh_cycles > 1)


class StepTable(NamedTuple):
    """Noise levels and keys of all steps; a refresh cycle counts as a step.

    Attributes
    ----------
    levels : float32 tensor, shape (n_steps, 4)
        Noise level before (with churn) and after the step, scales of churn and re-noising.
    keys : int64 tensor, shape (n_steps, 3)
        Keys of churn, refresh and re-noising.
    """

    levels: torch.Tensor
    keys: torch.Tensor


def reverse_levels(settings: SamplerSettings) -> torch.Tensor:
    """Return the noise levels of all steps in order, as in :class:`StepTable`.

    The step from each noise level is done ``refresh_cycles`` times; before each repetition the
    state is re-noised. The step to 0 is done once.

    Examples
    --------
    >>> settings = SamplerSettings(steps=2, noise_max=5.0, noise_min=3.0, refresh_cycles=2)
    >>> reverse_levels(settings).tolist()
    [[5.0, 3.0, 0.0, 4.0], [5.0, 3.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]]
    """
    grid = noise_grid(settings.steps, settings.noise_max, settings.noise_min, settings.exponent)
    start, end = grid[:-1], grid[1:]
    inflated = start * (1 + min(settings.churn / settings.steps, 2**0.5 - 1))
    churn = settings.noise_scale * torch.sqrt(inflated**2 - start**2)
    renoise = torch.sqrt(start**2 - end**2)
    cycles = torch.full((settings.steps,), settings.refresh_cycles)
    cycles[-1] = 1
    last_of_level = cycles.cumsum(0) - 1
    table = torch.stack([inflated, end, churn, renoise], dim=1).repeat_interleave(cycles, dim=0)
    table[last_of_level, 3] = 0.0
    return table.to(torch.float32)


def step_keys(key: int, settings: SamplerSettings) -> torch.Tensor:
    """Return the noise keys of all steps, shape (n_steps, 3), from a draw's key.

    They depend on the draw, the position of the noise level, the cycle and the purpose.
    """
    last = settings.steps - 1
    places = [(m, c) for m in range(last) for c in range(settings.refresh_cycles)] + [(last, 0)]
    keys = [[stream_key(key, kind, m, c) for kind in _NOISE_KINDS] for m, c in places]
    return torch.tensor(keys, dtype=torch.int64)


def start_state(rows: SampledRows, key: int, noise_max: float, form: SamplerForm) -> torch.Tensor:
    """Return the first state: the visible entries, and noise of the highest level.

    With clean conditioning only the entries to impute have noise.
    """
    normals = keyed_normals(stream_key(key, "start"), rows.row_keys, rows.observed.shape[1])
    observed = rows.observed.masked_fill(~rows.visible, 0.0)
    return observed + (noise_max * normals).masked_fill(~_carries_noise(rows, form), 0.0)


def reverse_step(
    denoise: Denoise,
    state: torch.Tensor,
    rows: SampledRows,
    table: StepTable,
    step: torch.Tensor,
    form: SamplerForm,
    *,
    last: bool = False,
) -> torch.Tensor:
    """Take one step of the reverse process, Eqs. (obs_refresh), (miss_update) and (mix).

    Parameters
    ----------
    denoise : callable
        See :class:`~tabsoda.paper.denoiser.Denoiser`.
    state : float32 tensor, shape (B, p)
    rows : SampledRows
    table : StepTable
    step : int64 tensor, shape (1,)
        Row of the table to use.
    form : SamplerForm
    last : bool
        The step to noise 0, taken by Euler.

    Returns
    -------
    float32 tensor, shape (B, p)
        0 where skipped; after the last step the observed values where visible.
    """
    before, after, churn, renoise = table.levels.index_select(0, step)[0].unbind()
    churn_key, refresh_key, renoise_key = table.keys.index_select(0, step)[0].unbind()
    still = ~_carries_noise(rows, form)

    def noise(key: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        normals = keyed_normals(key, rows.row_keys, state.shape[1])
        return (scale * normals).masked_fill(still, 0.0)

    def clean(noisy: torch.Tensor, noise_level: torch.Tensor) -> torch.Tensor:
        return denoise(noisy, noise_level[None], rows.visible, ~rows.applicable)

    def slope(noisy: torch.Tensor, noise_level: torch.Tensor) -> torch.Tensor:
        return ((noisy - clean(noisy, noise_level)) / noise_level).masked_fill(still, 0.0)

    if form.churns:
        state = state + noise(churn_key, churn)
    if last:
        # Euler's step to noise 0 gives the denoised state itself.
        moved = clean(state, before)
    else:
        first = slope(state, before)
        second = slope(state + (after - before) * first, after)
        moved = state + (after - before) * 0.5 * (first + second)

    refreshed = rows.observed
    if form.noisy and not last:
        refreshed = refreshed + noise(refresh_key, after)
    mixed = torch.where(rows.to_impute, moved, refreshed).masked_fill(~rows.applicable, 0.0)
    if form.renoises and not last:
        mixed = mixed + noise(renoise_key, renoise)
    return mixed


def _carries_noise(rows: SampledRows, form: SamplerForm) -> torch.Tensor:
    return rows.applicable if form.noisy else rows.to_impute
