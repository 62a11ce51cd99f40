"""The ensemble of predictors: their answers, blended and decoded to one value per cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabsoda.engine.blend import (
    Blend,
    HeldOutCells,
    Prediction,
    fit_blend,
    without_abstentions,
)
from tabsoda.engine.codec import AnswerCodec
from tabsoda.engine.number_medians import number_medians
from tabsoda.engine.predictor import CellAnswers, Mask, Predictor, Values
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

# Enough held-out answers to choose a blend; more would only take memory and time.
_MAX_BLEND_ROWS = 20_000
# Only the held-out cells of a block are stored: all its probabilities need much memory.
_BLOCK_ROWS = 2048


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Predictors and their blend.

    Attributes
    ----------
    codec : AnswerCodec
    predictors : tuple of Predictor
        The network first.
    blend : Blend
    """

    codec: AnswerCodec
    predictors: tuple[Predictor, ...]
    blend: Blend

    @classmethod
    def fit(
        cls, training: TrainingTable, predictors: Sequence[Predictor], events: EventLog
    ) -> Ensemble:
        """Choose the blend on the held-out answers of a training table."""
        codec = training.codec
        usual = [one.usual for one in predictors]
        blend = Blend.usual(usual[1:], codec.ordered, codec.numbers.size)
        plain = cls(codec, tuple(predictors), blend)
        truth, predictions = plain.held_out(training)
        if not (truth.levels.size or truth.numbers.size):
            return plain
        names = [one.name for one in predictors]
        n_numbers = codec.numbers.size
        blend = fit_blend(predictions, names, usual, truth, codec.ordered, n_numbers, events)
        return cls(codec, tuple(predictors), blend)

    def held_out(self, training: TrainingTable) -> tuple[HeldOutCells, list[Prediction]]:
        """Return the held-out answers of a table, and every predictor's predictions of them."""
        codec = self.codec
        # Rows are in the order of their keys, so that the first ones are a random sample.
        rows = np.flatnonzero(training.held_out[:, codec.modelled].any(axis=1))[:_MAX_BLEND_ROWS]
        held_out, values = training.held_out[rows], training.whole.values[rows]
        level_cells = np.nonzero(held_out[:, codec.categorical])
        number_cells = np.nonzero(held_out[:, codec.numbers])
        weights = training.row_weights[rows]
        standard = codec.bins.standardize(np.nan_to_num(values[:, codec.numbers]))
        truth = HeldOutCells(
            level_cells[1],
            values[:, codec.categorical][level_cells].astype(np.int64),
            weights[level_cells[0]],
            number_cells[1],
            standard[number_cells],
            weights[number_cells[0]],
        )
        found: list[list[Prediction]] = [[] for _ in self.predictors]
        for start in range(0, rows.size, _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            of_levels = np.nonzero(held_out[block][:, codec.categorical])
            of_numbers = np.nonzero(held_out[block][:, codec.numbers])
            answers = self.all_answers(training.shown.rows(rows[block]), held_out[block])
            for own, one in zip(found, answers, strict=True):
                own.append(Prediction(one.probabilities[of_levels], one.numbers[of_numbers]))
        empty = Prediction(np.empty((0, codec.max_levels)), np.empty(0))
        predictions = [
            Prediction(*(np.concatenate(parts) for parts in zip(empty, *own, strict=True)))
            for own in found
        ]
        return truth, predictions

    def answers(self, table: CodedTable, cells: Mask) -> CellAnswers:
        """Return the blended answers for the given cells; shapes as in CellAnswers."""
        return self.blend.apply(self.all_answers(table, cells))

    def all_answers(self, table: CodedTable, cells: Mask) -> list[CellAnswers]:
        """Return the answers of every predictor."""
        network = self.predictors[0].answers(table, cells, None)
        others = [one.answers(table, cells, network) for one in self.predictors[1:]]
        return without_abstentions([network, *others])

    def points(
        self, table: CodedTable, block_rows: int, whole_numbers: bool = True
    ) -> tuple[Values, Values]:
        """Estimate the missing cells of a table by mode and by median, each of shape (n, d).

        Block by block: the probabilities of all levels of all cells would not fit in memory.
        """
        mode, median = (np.empty(table.shape) for _ in range(2))
        for start in range(0, table.shape[0], block_rows):
            rows = np.arange(start, min(start + block_rows, table.shape[0]))
            part = table.rows(rows)
            cells = part.states.missing
            answers = self.answers(part, cells)
            mode[rows] = self.decode(answers, "mode", cells, whole_numbers)
            median[rows] = self.decode(answers, "median", cells, whole_numbers)
        return mode, median

    def level_probabilities(self, table: CodedTable, block_rows: int) -> dict[int, Values]:
        """Return the blended probabilities of every level, shape (n, n_levels) by position.

        They are defined in missing cells only.
        """
        found = {
            position: np.empty((table.shape[0], int(self.codec.n_levels[position])))
            for position in self.codec.categorical.tolist()
        }
        for start in range(0, table.shape[0], block_rows):
            rows = np.arange(start, min(start + block_rows, table.shape[0]))
            part = table.rows(rows)
            blended = self.answers(part, part.states.missing).probabilities
            for place, own in enumerate(found.values()):
                own[rows] = blended[:, place, : own.shape[1]]
        return found

    def decode(
        self, answers: CellAnswers, rule: str, cells: Mask, whole_numbers: bool = True
    ) -> Values:
        """Return one value per cell, shape (n, d); constants in columns that are not modelled.

        Parameters
        ----------
        answers : CellAnswers
        rule : {"mode", "median"}
            ``"mode"``: levels by mode, numbers by expectation. ``"median"``: nominals by mode,
            ordinals and numbers by median.
        cells : ndarray of bool, shape (n, d)
            The cells to estimate.
        whole_numbers : bool
            Round the expectations of columns whose visible answers were all whole.
        """
        codec = self.codec
        values = np.tile(codec.constants, (answers.numbers.shape[0], 1))
        if codec.categorical.size:
            levels = answers.probabilities.argmax(axis=2)
            if rule == "median":
                cumulated = answers.probabilities.cumsum(axis=2)
                # The first level whose cumulative probability reaches a half, up to rounding.
                middle = (cumulated < 0.5 - 1e-9).sum(axis=2)
                levels = np.where(codec.ordered, middle, levels)
            values[:, codec.categorical] = levels
        decoded = codec.bins.restore(answers.numbers, codec.scores.whole & whole_numbers)
        if rule == "median" and answers.bins is not None:
            asked = cells[:, codec.numbers]
            medians = number_medians(codec.bins, answers.bins, answers.numbers, asked)
            decoded = np.where(asked, medians, decoded)
        values[:, codec.numbers] = decoded
        return values
