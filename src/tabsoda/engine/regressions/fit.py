"""Fits the regressions of a training table: choice of rows, questions and start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.engine.regressions.chained_regressions import FEWEST_ANSWERS, ChainedRegressions
from tabsoda.engine.settings import RegressionSettings
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog
from tabsoda.progress import Progress
from tabsoda.table import CodedTable

Values = NDArray[np.float64]

# Burn-in rounds before the first set for draws, so that draws do not depend on the network's.
_FIRST_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class RegressionFit:
    """Fits sets of regressions to the rows of a training table.

    Attributes
    ----------
    training : TrainingTable
    settings : RegressionSettings
    seed : int
    rows : ndarray of int64, shape (n,)
        The rows to fit.
    filled : ndarray of float64, shape (n, d)
        These rows, with missing cells drawn once by the network.
    questions : list of int
        The questions to regress.
    events : EventLog
    """

    training: TrainingTable
    settings: RegressionSettings
    seed: int
    rows: NDArray[np.int64]
    filled: Values
    questions: list[int]
    events: EventLog

    @classmethod
    def start(
        cls,
        training: TrainingTable,
        settings: RegressionSettings,
        seed: int,
        complete: Callable[[NDArray[np.int64]], Values],
        events: EventLog,
    ) -> RegressionFit:
        """Choose rows and questions; ``complete(rows)`` returns the rows with cells drawn once."""
        rows = rows_to_fit(training, settings.max_rows, seed, events)
        questions = questions_to_fit(training, settings.max_levels, events)
        return cls(training, settings, seed, rows, complete(rows), questions, events)

    def for_points(self) -> ChainedRegressions:
        """Fit the sets for point estimates, without held-out answers."""
        # Point estimates average over sets, so the sets may be similar and close to the start.
        return self._fit(self.training.shown, self.settings.point_sets, rounds=1, row_share=1.0)

    def for_draws(
        self, progress: Progress | None = None, forced: tuple[tuple[int, ...], ...] = ()
    ) -> ChainedRegressions:
        """Fit the sets for draws, to all answers; ``forced`` as in ``ChainedRegressions.fit``."""
        settings = self.settings
        return self._fit(
            self.training.whole,
            settings.sets,
            settings.rounds,
            settings.row_share,
            _FIRST_ROUNDS,
            settings.interactions,
            forced,
            progress,
        )

    def _fit(
        self,
        table: CodedTable,
        n_sets: int,
        rounds: int,
        row_share: float,
        first_rounds: int = 0,
        interactions: bool = False,
        forced: tuple[tuple[int, ...], ...] = (),
        progress: Progress | None = None,
    ) -> ChainedRegressions:
        part, weights = table.rows(self.rows), self.training.weights

        def update(done: int, total: int) -> None:
            if progress is not None:
                progress(done, total, "regressions")

        fitted = ChainedRegressions.fit(
            part,
            np.where(part.states.answered, part.values, self.filled),
            self.questions,
            self.training.followers,
            n_sets=n_sets,
            rounds=rounds,
            max_questions=self.settings.max_questions,
            seed=self.seed,
            first_rounds=first_rounds,
            row_share=row_share,
            row_weights=None if weights is None else weights[self.rows],
            interactions=interactions,
            forced=forced,
            progress=update,
        )
        for position in fitted.unconverged:
            self.events.add("regression_not_converged", column=part.columns[position].name)
        return fitted


def rows_to_fit(
    training: TrainingTable, most: int, seed: int, events: EventLog
) -> NDArray[np.int64]:
    """Choose the rows to fit: all with a weight, or a sample of them."""
    n_rows = training.whole.shape[0]
    rows = np.arange(n_rows)
    if training.weights is not None:
        rows = rows[training.weights > 0]
    if rows.size > most:
        generator = numpy_generator(seed, "rows of regressions")
        rows = np.sort(generator.choice(rows, most, replace=False))
        events.add("regressions_fitted_to_sample", rows=most, of_rows=n_rows)
    return rows


def questions_to_fit(training: TrainingTable, max_levels: int, events: EventLog) -> list[int]:
    """Return the modelled questions, without those of too many levels or too few answers."""
    table = training.shown
    answers = table.states.answered.sum(axis=0)
    questions = []
    for position in np.sort(training.codec.modelled).tolist():
        column, seen = table.columns[position], int(answers[position])
        if column.is_categorical and column.n_levels > max_levels:
            name, levels = column.name, column.n_levels
            events.add("many_levels_not_regressed", column=name, levels=levels)
        elif seen < FEWEST_ANSWERS:
            events.add("few_answers_not_regressed", column=column.name, answers=seen)
        else:
            questions.append(position)
    return questions
