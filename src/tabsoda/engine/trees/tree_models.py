"""The tree models of a table, one per question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tabsoda._internal.randomness import numpy_generator
from tabsoda.engine.trees.association import information
from tabsoda.engine.trees.files import from_state, to_state
from tabsoda.engine.trees.predictor_codes import PredictorCodes
from tabsoda.engine.trees.question_model import (
    LevelModel,
    NumberModel,
    Problem,
    fit_levels,
    fit_number,
)
from tabsoda.engine.trees.settings import TreeSettings
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.progress import Progress
from tabsoda.table import CodedTable


@dataclass(frozen=True, eq=False)
class TreeAnswers:
    """What trees predict for some rows, by position of the question.

    Attributes
    ----------
    probabilities : dict of int to ndarray of float64, shape (n_rows, n_levels)
        For nominal and ordinal questions; each row sums to 1.
    numbers : dict of int to ndarray of float64, shape (n_rows,)
        For continuous questions.
    """

    probabilities: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    numbers: dict[int, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TreeModels:
    """One gradient-boosted model per question, with the other answers as predictors.

    A missing predictor stays missing, a skipped one is a separate level. Models are plain arrays:
    a loaded model predicts with the same code as a fitted one.

    Attributes
    ----------
    coding : PredictorCodes
    models : dict of int to LevelModel or NumberModel
        By position of the question.

    Examples
    --------
    >>> from tabsoda.schema import Column, ColumnKind
    >>> rng = np.random.default_rng(0)
    >>> first = rng.integers(0, 2, 300)
    >>> values = np.column_stack([first, np.where(rng.random(300) < 0.9, first, 1 - first)])
    >>> columns = tuple(Column(n, ColumnKind.NOMINAL, (1, 2)) for n in "ab")
    >>> table = CodedTable.from_values(columns, values.astype(float))
    >>> models = TreeModels.fit(table, table.states.answered, TreeSettings(), seed=1,
    ...                           columns=[1])
    >>> answers = models.predict(table, np.flatnonzero(first == 1)[:1])
    >>> bool(answers.probabilities[1][0, 1] > 0.8)
    True
    """

    coding: PredictorCodes
    models: dict[int, LevelModel | NumberModel]

    @classmethod
    def fit(
        cls,
        table: CodedTable,
        visible: NDArray[np.bool_],
        settings: TreeSettings,
        seed: int,
        *,
        columns: list[int] | None = None,
        row_weights: NDArray[np.float64] | None = None,
        barred: NDArray[np.bool_] | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
        events: EventLog | None = None,
    ) -> TreeModels:
        """Fit one model per question.

        Parameters
        ----------
        table : CodedTable
        visible : ndarray of bool, shape (n_rows, n_columns)
            The answers to use; others count as missing.
        settings : TreeSettings
        seed : int
            The only source of randomness; the result does not depend on the threads.
        columns : list of int, optional
            Positions of the questions to fit; by default those with a cell that is missing or not
            visible.
        row_weights : ndarray of float64, shape (n_rows,), optional
            Rows of weight 0 are left out.
        barred : ndarray of bool, shape (n_columns, n_columns), optional
            True at (question, predictor) if the question's trees must not split on that predictor.
        n_threads : int, optional
            Models fitted in parallel; by default one. Two are faster from about 10,000 rows; below
            that, Python's global lock dominates.
        progress : callable, optional
            Called as ``progress(done, total, name)`` after each model.
        events : EventLog, optional
            Receives the questions with too few answers to be modelled.
        """
        visible = _checked_visible(table, visible)
        coding = PredictorCodes.of(table, visible, settings)
        codes = coding.encode(table, visible)
        wanted = _wanted(table, visible, columns)
        information_with = information(codes) if wanted else np.empty((0, 0))

        # Inspecting the loaded libraries takes as long as a small tree, so it is done once.
        libraries = ThreadpoolController()

        def fit_one(position: int) -> LevelModel | NumberModel:
            rows = visible[:, position]
            if row_weights is not None:
                rows = rows & (row_weights > 0)
            informative = information_with[:, position]
            if barred is not None:
                informative = np.where(barred[position], -np.inf, informative)
            problem = Problem(
                codes[rows],
                _most_informative(informative, settings.max_predictors),
                coding.native,
                table.values[rows, position],
                None if row_weights is None else row_weights[rows],
                int(numpy_generator(seed, "tree expert", position).integers(2**31)),
            )
            column = table.columns[position]
            # Threads within a model wait for one another at every node: slow on busy cores.
            with libraries.limit(limits=1, user_api="openmp"):
                if column.is_categorical:
                    return fit_levels(problem, column.n_levels, settings)
                return fit_number(problem, settings)

        fitted = Parallel(n_jobs=n_threads or 1, prefer="threads", return_as="generator")(
            delayed(fit_one)(position) for position in wanted
        )
        models = {}
        for done, (position, model) in enumerate(zip(wanted, fitted, strict=True), start=1):
            models[position] = model
            name = table.names[position]
            if events is not None and not model.trees.cut.size:
                answers = int(visible[:, position].sum())
                events.add("trees_predict_one_answer", column=name, answers=answers)
            if progress is not None:
                progress(done, len(wanted), name)
        return cls(coding, models)

    def predict(
        self,
        table: CodedTable,
        rows: NDArray[np.int64],
        cells: NDArray[np.bool_] | None = None,
    ) -> TreeAnswers:
        """Predict some rows, for cells in any state.

        Parameters
        ----------
        table : CodedTable
            The same questions as in the fit; its answers are the predictors.
        rows : ndarray of int64, shape (n_rows,)
            Positions in the table.
        cells : ndarray of bool, shape (n_rows, n_columns), optional
            The cells of these rows to predict; all by default. Other cells get 0.
        """
        rows = np.asarray(rows, dtype=np.int64)
        codes = np.ascontiguousarray(self.coding.encode(table.rows(rows)).T)
        answers = TreeAnswers()
        for position, model in self.models.items():
            kind = answers.probabilities if isinstance(model, LevelModel) else answers.numbers
            if cells is None:
                kind[position] = model.answer(codes)
                continue
            asked = np.flatnonzero(cells[:, position])
            predicted = model.answer(np.ascontiguousarray(codes[:, asked]))
            kind[position] = np.zeros((rows.size, *predicted.shape[1:]))
            kind[position][asked] = predicted
        return answers

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what :meth:`from_state` needs: arrays, and content for JSON."""
        return to_state(self.coding, self.models)

    @classmethod
    def from_state(
        cls, arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]
    ) -> TreeModels:
        """Rebuild models from :meth:`to_state`; InputError where the state is damaged."""
        return cls(*from_state(arrays, content))


def _checked_visible(table: CodedTable, visible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    visible = np.asarray(visible, dtype=bool)
    if visible.shape != table.shape:
        raise InputError(
            "The mask of visible answers does not match the table",
            found=f"{visible.shape}",
            expected=f"{table.shape}",
        )
    return visible & table.states.answered


def _wanted(table: CodedTable, visible: NDArray[np.bool_], columns: list[int] | None) -> list[int]:
    n_columns = len(table.columns)
    if n_columns < 2:
        return []
    if columns is None:
        return np.flatnonzero((~visible & ~table.states.skipped).any(axis=0)).tolist()
    for position in columns:
        if not 0 <= position < n_columns:
            raise InputError(
                "There is no question at this position to fit trees for",
                found=f"position {position}",
                expected=f"0 to {n_columns - 1}",
            )
    return sorted(set(columns))


def _most_informative(information: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the questions with the most information, in questionnaire order."""
    ranked = np.argsort(-information, kind="stable")
    return np.sort(ranked[np.isfinite(information[ranked])][:most])
