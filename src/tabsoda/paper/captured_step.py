"""One reverse step as a CUDA graph: a step costs one launch instead of a hundred."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from tabsoda.paper.reverse_sampler import (
    Denoise,
    SampledRows,
    SamplerForm,
    StepTable,
    reverse_step,
)

_WARM_UP_STEPS = 3
# Every block size and table width is compiled separately; by default torch gives up after 8.
_COMPILED_SHAPES = 256


@functools.cache
def _compiled_step() -> Callable[..., torch.Tensor]:
    """Compile the step once per process: networks of one shape share the compiled code."""
    compiled = torch.compile(reverse_step, fullgraph=True, dynamic=False)
    return torch._dynamo.config.patch(recompile_limit=_COMPILED_SHAPES)(compiled)


class CapturedStep:
    """A graph of one step over buffers of a fixed size, replayed for every step.

    Parameters
    ----------
    denoise : callable
        Its weights are read from the same memory at each replay: change them only in place.
    rows : SampledRows
        The block that fixes the number of rows; smaller blocks are padded.
    table : StepTable
        Fixes the number of steps.
    form : SamplerForm
    compiled : bool
        Let torch fuse the step's operations first.
    """

    def __init__(
        self,
        denoise: Denoise,
        rows: SampledRows,
        table: StepTable,
        form: SamplerForm,
        *,
        compiled: bool,
    ) -> None:
        if rows.observed.device.type != "cuda":
            raise RuntimeError(f"graphs need a CUDA device, not {rows.observed.device}")
        self._rows = SampledRows._make(part.clone() for part in rows)
        self._table = StepTable(table.levels.clone(), table.keys.clone())
        self._state = torch.zeros_like(rows.observed)
        self._step = torch.zeros(1, dtype=torch.int64, device=rows.observed.device)
        take_step = _compiled_step() if compiled else reverse_step

        def advance() -> None:
            moved = take_step(denoise, self._state, self._rows, self._table, self._step, form)
            self._state.copy_(moved)
            # Modulo keeps the warm-up inside a short table.
            self._step.add_(1).remainder_(len(table.levels))

        self._graph = _capture(advance, rows.observed.device)

    def fits(self, rows: SampledRows) -> bool:
        """Return whether the graph can run this block."""
        mine = self._rows
        return (
            rows.observed.device == mine.observed.device
            and rows.observed.shape[1] == mine.observed.shape[1]
            and rows.observed.shape[0] <= mine.observed.shape[0]
        )

    def run(self, state: torch.Tensor, rows: SampledRows, table: StepTable) -> torch.Tensor:
        """Run all steps except the last on a block; returns a new tensor, shape (B, p)."""
        n_rows = state.shape[0]
        for buffer, part in zip(self._rows, rows, strict=True):
            buffer[:n_rows].copy_(part)
            # All entries of padding rows are marked as skipped.
            buffer[n_rows:].zero_()
        self._state[:n_rows].copy_(state)
        self._state[n_rows:].zero_()
        self._table.levels.copy_(table.levels)
        self._table.keys.copy_(table.keys)
        self._step.zero_()
        for _ in range(len(table.levels) - 1):
            self._graph.replay()
        return self._state[:n_rows].clone()


def _capture(advance: Callable[[], None], device: torch.device) -> torch.cuda.CUDAGraph:
    """Run a few times on a side stream, as capture requires, then record one run."""
    with torch.cuda.device(device):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP_STEPS):
                advance()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            advance()
    return graph
