"""The final word on every cell: network, experts and regressions blended, then decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.em.advisers import Advisers, answer_codec_of
from tabsoda.em.answering import answers_of
from tabsoda.em.blending import Blend, CellAnswers, fit_blend
from tabsoda.em.model import Model
from tabsoda.em.number_medians import number_medians
from tabsoda.em.working_table import WorkingTable
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

Values = NDArray[np.float64]

# Enough held-out cells to choose a blend by; asking about more would only take memory and time.
_MAX_BLEND_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Estimator:
    """Estimates cells with decoder heads, those who advise beside them, and their blend.

    Attributes
    ----------
    model : Model
        With decoder heads.
    advisers : Advisers
    blend : Blend
    """

    model: Model
    advisers: Advisers
    blend: Blend

    @classmethod
    def fit(
        cls,
        model: Model,
        data: WorkingTable,
        table: CodedTable,
        advisers: Advisers,
        events: EventLog,
    ) -> Estimator:
        """Choose the blend on the held-out cells of the table that was fitted.

        Parameters
        ----------
        model : Model
        data : WorkingTable
        table : CodedTable
            In the order of ``data``, with held-out cells missing.
        advisers : Advisers
        events : EventLog
        """
        codec = answer_codec_of(model)
        # Rows are in the order of their keys, so the first ones are a random sample.
        rows = torch.nonzero(data.held_out_columns.any(dim=1)).ravel()[:_MAX_BLEND_ROWS]
        blend = Blend.usual(
            codec.ordered,
            codec.bins.counts.size,
            experts=advisers.experts is not None,
            regressions=advisers.regressions is not None,
        )
        plain = cls(model, advisers, blend)
        if not rows.numel():
            return plain
        columns = torch.as_tensor(model.codec.categorical_columns, device=rows.device)
        numbers = torch.as_tensor(model.codec.layout.continuous_columns, device=rows.device)
        held_out = data.held_out_columns[rows]
        places = rows.cpu().numpy()
        blend = fit_blend(
            *plain.voices(table.rows(places), data, rows, held_out.cpu().numpy()),
            data.held_out_levels[rows][:, columns].cpu().numpy(),
            held_out[:, columns].cpu().numpy(),
            data.numbers[rows].double().cpu().numpy(),
            held_out[:, numbers].cpu().numpy(),
            codec.ordered,
            events,
            data.row_weights[rows].double().cpu().numpy(),
        )
        return cls(model, advisers, blend)

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what :meth:`from_state` needs beside the model: arrays, and content for JSON."""
        arrays = answer_codec_of(self.model).to_state()
        arrays |= {f"blend.{item.name}": getattr(self.blend, item.name) for item in fields(Blend)}
        added, content = self.advisers.to_state()
        return arrays | added, content

    @classmethod
    def from_state(
        cls, model: Model, arrays: dict[str, NDArray[Any]], content: dict[str, Any]
    ) -> Estimator:
        """Rebuild from :meth:`to_state`."""
        blend = Blend(**{item.name: arrays[f"blend.{item.name}"] for item in fields(Blend)})
        codec = answer_codec_of(model)
        if (
            blend.level_share.shape != codec.ordered.shape
            or blend.temperatures.shape != codec.ordered.shape
            or blend.number_share.shape != codec.bins.counts.shape
        ):
            raise ValueError("the blend does not fit the encoding")
        return cls(model, Advisers.from_state(arrays, content), blend)

    def points(
        self,
        table: CodedTable,
        data: WorkingTable,
        rows: torch.Tensor,
        whole_numbers: bool = True,
        report: Callable[[int, int], None] | None = None,
    ) -> tuple[Values, Values]:
        """Estimate the missing cells of some rows by mode and by median, each of shape (n, d).

        Block by block: the probabilities of all levels of all cells would not fit in memory.
        """
        mode, median = (np.empty((rows.numel(), table.shape[1])) for _ in range(2))
        blocks = rows.split(self.model.settings.sampler.block_rows)
        done = 0
        for number, block in enumerate(blocks, start=1):
            place = slice(done, done + block.numel())
            missing = data.missing_columns[block].cpu().numpy()
            answers = self.answers(table, data, block, missing)
            mode[place] = self.decode(answers, "mode", whole_numbers)
            median[place] = self.decode(answers, "median", whole_numbers, missing)
            done = place.stop
            if report is not None:
                report(number, len(blocks))
        return mode, median

    def answers(
        self,
        table: CodedTable,
        data: WorkingTable,
        rows: torch.Tensor,
        cells: NDArray[np.bool_] | None = None,
    ) -> CellAnswers:
        """Return what is said about some rows of a table.

        ``cells``, shape (n, d), says about which cells trees are asked, all unless given: what
        stands in the others must not be read.
        """
        part = table.rows(rows.cpu().numpy())
        return self.blend.apply(*self.voices(part, data, rows, cells))

    def voices(
        self,
        part: CodedTable,
        data: WorkingTable,
        rows: torch.Tensor,
        cells: NDArray[np.bool_] | None = None,
    ) -> tuple[CellAnswers, CellAnswers | None, CellAnswers | None]:
        """Return what network, tree experts and regressions say; ``part`` holds the rows alone."""
        network = self.network_answers(data, rows)
        experts = self.advisers.tree_answers(self.model, part, cells)
        regressions = self.advisers.regression_answers(self.model, part, network)
        network = self.advisers.without_blanks(self.model, part, network, experts, regressions)
        return network, experts, regressions

    def network_answers(self, data: WorkingTable, rows: torch.Tensor) -> CellAnswers:
        """Return what the network says on its own."""
        answers = answers_of(self.model, data, rows)
        return CellAnswers(
            answers.log_probabilities.double().exp().cpu().numpy(),
            answers.numbers.double().cpu().numpy(),
            answers.bin_log_probabilities.double().exp().cpu().numpy(),
        )

    def decode(
        self,
        answers: CellAnswers,
        rule: str,
        whole_numbers: bool = True,
        cells: NDArray[np.bool_] | None = None,
    ) -> Values:
        """Return one value per cell, shape (n, d); NaN in columns without coordinates.

        Parameters
        ----------
        answers : CellAnswers
        rule : {"mode", "median"}
            ``"mode"``: levels by mode, numbers by expectation. ``"median"``: nominals by mode,
            ordinals and numbers by median.
        whole_numbers : bool
            Round the expectations of columns whose visible answers were all whole.
        cells : ndarray of bool, shape (n, d), optional
            Which numbers are decoded by median; all unless given.
        """
        codec, layout = self.model.codec, self.model.codec.layout
        answer_codec = answer_codec_of(self.model)
        values = np.tile(codec.pass_value, (answers.numbers.shape[0], 1))
        if codec.categorical_columns.size:
            levels = answers.probabilities.argmax(axis=2)
            if rule == "median":
                cumulated = answers.probabilities.cumsum(axis=2)
                # The first level that half of the probability reaches, rounding aside.
                middle = (cumulated < 0.5 - 1e-9).sum(axis=2)
                levels = np.where(answer_codec.ordered, middle, levels)
            values[:, codec.categorical_columns] = levels
        bins, numbers = answer_codec.bins, layout.continuous_columns
        decoded = bins.restore(answers.numbers, codec.continuous.whole & whole_numbers)
        if rule == "median" and answers.bins is not None:
            asked = np.ones(decoded.shape, dtype=bool) if cells is None else cells[:, numbers]
            medians = number_medians(bins, answers.bins, answers.numbers, asked)
            decoded = np.where(asked, medians, decoded)
        values[:, numbers] = decoded
        return values
