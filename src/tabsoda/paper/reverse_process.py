"""Runs the reverse process over blocks of rows, compiled and captured on a GPU."""

from __future__ import annotations

import torch

from tabsoda.events import EventLog
from tabsoda.paper.captured_step import CapturedStep
from tabsoda.paper.reverse_sampler import (
    Denoise,
    SampledRows,
    SamplerForm,
    StepTable,
    reverse_levels,
    reverse_step,
    start_state,
    step_keys,
)
from tabsoda.paper.settings import SamplerSettings


class ReverseProcess:
    """Draws the entries to impute of a block of rows.

    On a CUDA device a step is compiled and captured as a graph at the first block; if that fails,
    an event records why, and the next simpler way is used. The captured step is reused, so the
    denoiser's weights must only be changed in place, and later blocks are padded to the size of
    the first: start with the largest block.

    Parameters
    ----------
    denoise : callable
        A :class:`~tabsoda.paper.denoiser.Denoiser`, or anything called like one.
    settings : SamplerSettings
    conditioning : {"noisy", "clean"}
    execution : {"auto", "compiled", "captured", "eager"}
        How steps run: compiled and captured, captured only, or one operation at a time.
        ``"auto"`` is ``"compiled"`` on CUDA and ``"eager"`` elsewhere.
    events : EventLog, optional

    Examples
    --------
    >>> def exact(state, noise_level, visible, skipped):  # data: independent N(0, 0.25)
    ...     return state * 0.25 / (0.25 + noise_level**2)
    >>> everything = torch.ones(500, 4, dtype=torch.bool)
    >>> rows = SampledRows(torch.zeros(500, 4), everything, everything, torch.arange(500))
    >>> draws = ReverseProcess(exact, SamplerSettings(steps=20), "clean").sample(rows, key=1)
    >>> abs(draws.std().item() - 0.5) < 0.02
    True
    """

    def __init__(
        self,
        denoise: Denoise,
        settings: SamplerSettings,
        conditioning: str,
        *,
        execution: str = "auto",
        events: EventLog | None = None,
    ) -> None:
        self.denoise = denoise
        self.settings = settings
        self.form = SamplerForm.of(settings, conditioning)
        self.execution = execution
        self.events = events if events is not None else EventLog()
        self._levels = reverse_levels(settings)
        self._captured: CapturedStep | None = None

    @torch.no_grad()
    def sample(self, rows: SampledRows, key: int) -> torch.Tensor:
        """Draw once for every row.

        Parameters
        ----------
        rows : SampledRows
            Values of entries that are not visible are ignored.
        key : int
            From :func:`~tabsoda._internal.randomness.stream_key`; one per draw. With a row's key
            it determines the row's noise, independent of the block.

        Returns
        -------
        float32 tensor, shape (B, p)
            The draw where to impute, the observed values where visible, 0 where skipped.
        """
        to_impute = rows.to_impute & rows.applicable
        rows = rows._replace(to_impute=to_impute)
        rows = rows._replace(observed=rows.observed.masked_fill(~rows.visible, 0.0))
        device = rows.observed.device
        table = StepTable(
            self._levels.to(device), step_keys(key, self.settings).to(device, non_blocking=True)
        )
        state = start_state(rows, key, self.settings.noise_max, self.form)
        captured = self._captured_for(rows, table)
        if captured is not None:
            state = captured.run(state, rows, table)
        else:
            state = self._eager_steps(state, rows, table)
        final = torch.full((1,), len(table.levels) - 1, device=device)
        return reverse_step(self.denoise, state, rows, table, final, self.form, last=True)

    def _eager_steps(
        self, state: torch.Tensor, rows: SampledRows, table: StepTable
    ) -> torch.Tensor:
        steps = torch.arange(len(table.levels) - 1, device=state.device)
        for step in steps.split(1):
            state = reverse_step(self.denoise, state, rows, table, step, self.form)
        return state

    def _captured_for(self, rows: SampledRows, table: StepTable) -> CapturedStep | None:
        """Return a captured step for the block, capturing one if necessary and possible."""
        if self.execution == "auto":
            self.execution = "compiled" if rows.observed.device.type == "cuda" else "eager"
        if self._captured is not None and self._captured.fits(rows):
            return self._captured
        self._captured = None
        while self.execution != "eager" and self._captured is None:
            compiled = self.execution == "compiled"
            try:
                self._captured = CapturedStep(
                    self.denoise, rows, table, self.form, compiled=compiled
                )
            except torch.OutOfMemoryError:
                raise
            except (RuntimeError, OSError, ImportError, NotImplementedError) as error:
                self._fall_back("captured" if compiled else "eager", error)
        return self._captured

    def _fall_back(self, simpler: str, error: Exception) -> None:
        self.events.add(
            "sampler_step_not_captured",
            way=simpler,
            wanted=self.execution,
            error=type(error).__name__,
            message=next(iter(str(error).strip().splitlines()), ""),
        )
        self.execution = simpler
