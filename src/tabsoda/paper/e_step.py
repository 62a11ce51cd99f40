"""The E-step: completes rows with missing cells, by the mean of many chains or in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import stream_key
from tabsoda.events import EventLog
from tabsoda.paper.decoding import Rule
from tabsoda.paper.denoiser import sampling_copy
from tabsoda.paper.model import Model, diverged
from tabsoda.paper.reverse_process import ReverseProcess
from tabsoda.paper.reverse_sampler import SampledRows, start_state
from tabsoda.paper.working_table import WorkingTable, chain_key
from tabsoda.progress import StageProgress
from tabsoda.torch_runtime.devices import matrix_precision


class Sampler:
    """Draws encoded rows from a model; keeps compiled code between calls.

    Parameters
    ----------
    model : Model
    events : EventLog
    round_number : int
        The EM round whose noise is used: after the fit the last one, so that the imputations of
        the fitted table are those of its last E-step.
    """

    def __init__(self, model: Model, events: EventLog, round_number: int = 0) -> None:
        self.model = model
        self._round = round_number
        precision = matrix_precision(model.device, model.settings.training.precision)
        self._denoiser = sampling_copy(model.denoiser, precision)
        self._process = ReverseProcess(
            self._denoiser,
            model.settings.sampler,
            model.settings.training.conditioning,
            events=events,
        )

    def start_round(self, round_number: int) -> None:
        """Copy the model's current weights, in place, and use the noise of a round."""
        self._round = round_number
        self._denoiser.load_state_dict(self.model.denoiser.state_dict())

    def draw(
        self, data: WorkingTable, chain: int, progress: StageProgress | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw every incomplete row once.

        Returns
        -------
        rows : int64 tensor, shape (n_incomplete,)
        encoded : float32 tensor, shape (n_incomplete, p)
            Unstandardised.
        """
        return self._run(data, lambda rows: self._process.sample(rows, self._key(chain)), progress)

    def expect(
        self, data: WorkingTable, progress: StageProgress | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the conditional expectation of every incomplete row, Eq. (em_estep).

        Memory does not depend on the number of chains: only their sum is stored.
        Shapes as in :meth:`draw`.
        """
        if self.model.settings.sampler.point == "one_pass":
            return self._run(data, self._one_pass, progress)
        return self._run(data, self._mean_of_chains, progress)

    def draw_values(
        self, data: WorkingTable, chain: int, progress: StageProgress | None = None
    ) -> NDArray[np.float64]:
        """Draw every incomplete row once and decode it; shape (n_incomplete, d)."""
        _, encoded = self.draw(data, chain, progress)
        return self.model.codec.decode_point(encoded, rule="interval")

    def points(
        self, data: WorkingTable, whole_numbers: bool = True, progress: StageProgress | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Decode the expectation of every incomplete row by mode and by median, each (n, d)."""
        _, expected = self.expect(data, progress)
        model = self.model

        def decoded(rule: Rule) -> NDArray[np.float64]:
            return model.codec.decode_point(
                expected,
                model.temperatures,
                rule,
                cutpoints=model.cutpoints().detach(),
                whole_numbers=whole_numbers,
            )

        return decoded("mode"), decoded("median")

    def level_probabilities(self, data: WorkingTable) -> dict[int, NDArray[np.float64]]:
        """Return probabilities of the levels, shape (n, n_levels), by position of the column."""
        _, expected = self.expect(data)
        model, codec = self.model, self.model.codec
        probabilities = codec.level_probabilities(
            expected, model.temperatures, cutpoints=model.cutpoints().detach()
        )
        levels = codec.layout.n_levels.tolist()
        return {
            position: probabilities[:, place, : levels[position]].astype(np.float64)
            for place, position in enumerate(codec.categorical_columns.tolist())
        }

    def _key(self, chain: int) -> int:
        return chain_key(self.model.seed, chain, self._noise_round)

    @property
    def _noise_round(self) -> int | None:
        return self._round if self.model.settings.sampler.fresh_noise else None

    def _mean_of_chains(self, rows: SampledRows) -> torch.Tensor:
        chains = self.model.settings.sampler.chains
        total = torch.zeros_like(rows.observed)
        for chain in range(1, chains + 1):
            total += self._process.sample(rows, self._key(chain))
        return total / chains

    @torch.no_grad()
    def _one_pass(self, rows: SampledRows) -> torch.Tensor:
        noise_max = self.model.settings.sampler.noise_max
        key = stream_key(self.model.seed, "one pass")
        if self._noise_round is not None:
            key = stream_key(key, "round", self._noise_round)
        state = start_state(rows, key, noise_max, self._process.form)
        level = torch.full((1,), noise_max, device=state.device)
        return self._denoiser(state, level, rows.visible, ~rows.applicable)

    def _run(
        self,
        data: WorkingTable,
        complete: Callable[[SampledRows], torch.Tensor],
        progress: StageProgress | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        incomplete = data.incomplete_rows()
        encoded = torch.empty((incomplete.numel(), data.encoded.shape[1]), device=self.model.device)
        blocks = list(self._blocks(incomplete))
        for number, place in enumerate(blocks, start=1):
            rows = incomplete[place]
            block = SampledRows(
                self.model.standardizer.apply(data.encoded[rows], data.visible[rows]),
                data.to_impute[rows],
                data.applicable[rows],
                data.row_keys[rows],
            )
            encoded[place] = self.model.standardizer.invert(complete(block))
            if not encoded[place].isfinite().all():
                raise diverged(self.model, "the imputed values are not finite")
            if progress is not None:
                progress(number, len(blocks))
        return incomplete, encoded

    def _blocks(self, incomplete: torch.Tensor) -> Iterator[slice]:
        size = self.model.settings.sampler.block_rows
        for start in range(0, incomplete.numel(), size):
            yield slice(start, start + size)
