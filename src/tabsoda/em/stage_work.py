"""How much work each stage of a run is, counted before it starts.

Every stage gets a few counts. What a count costs was measured: see :mod:`tabsoda.em.cost`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsoda.em.operations import (
    count_coordinates,
    network_weights,
    passes_per_chain,
    training_steps,
)
from tabsoda.experts.settings import TreeExpertSettings
from tabsoda.schema.column import ColumnKind
from tabsoda.settings import Settings
from tabsoda.table import CodedTable

Floats = NDArray[np.float64]
# Of a nominal question, more levels are not told apart by a regression.
_MOST_INDICATORS = 15
# Regressions for draws go through so many rounds more before the first set.
_FIRST_ROUNDS = 3
# As many rows with held-out cells are blended at most; see em.estimating.
MAX_BLEND_ROWS = 20_000
# The report hides answers of so many respondents, and estimates numbers for fewer.
REPORT_ROWS = (2000, 500)


@dataclass(frozen=True, eq=False)
class TableSize:
    """What the work depends on.

    Attributes
    ----------
    rows, coordinates, incomplete_rows : int
    answered, missing : ndarray of float64, shape (n_columns,)
        Cells of each column.
    levels : ndarray of float64, shape (n_columns,)
        0 for numbers.
    widths : ndarray of float64, shape (n_columns,)
        Predictors that a column makes in a regression.
    classes : ndarray of float64, shape (n_columns,)
        Linear predictors of a column's regression: one, or one per level of a nominal.
    """

    rows: int
    coordinates: int
    incomplete_rows: int
    answered: Floats
    missing: Floats
    levels: Floats
    widths: Floats
    classes: Floats

    @classmethod
    def of(cls, table: CodedTable) -> TableSize:
        """Count a table.

        Examples
        --------
        >>> from tabsoda.schema import Column
        >>> columns = (Column("a", ColumnKind.NOMINAL, (1, 2, 3)), Column("b", ColumnKind.ORDINAL,
        ...            (1, 2)))
        >>> size = TableSize.of(CodedTable.from_values(columns, np.array([[0, 1], [2, np.nan]])))
        >>> size.coordinates, size.missing.tolist(), size.widths.tolist(), size.classes.tolist()
        (3, [0.0, 1.0], [2.0, 1.0], [3.0, 1.0])
        """
        states = table.states
        levels = np.array([c.n_levels if c.is_categorical else 0 for c in table.columns], float)
        nominal = np.array([c.kind is ColumnKind.NOMINAL for c in table.columns]) & (levels > 2)
        indicators = np.where(nominal, np.minimum(levels - 1, _MOST_INDICATORS), 1.0)
        return cls(
            rows=table.shape[0],
            coordinates=count_coordinates(table.columns),
            incomplete_rows=int(states.missing.any(axis=1).sum()),
            answered=states.answered.sum(axis=0).astype(float),
            missing=states.missing.sum(axis=0).astype(float),
            levels=levels,
            widths=indicators + states.skipped.any(axis=0),
            classes=np.where(nominal, levels, 1.0),
        )

    @property
    def columns(self) -> int:
        """Number of columns."""
        return self.levels.size

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    @property
    def n_missing(self) -> float:
        """Number of cells to impute."""
        return float(self.missing.sum())

    @property
    def probabilities(self) -> float:
        """Numbers per row where the probabilities of all levels of all columns are laid out."""
        categorical = np.count_nonzero(self.levels)
        return float(categorical * max(self.levels.max(initial=1), 1))

    def held_out(self, settings: Settings) -> tuple[float, float]:
        """Return about how many cells are held out of training, and from how many rows."""
        if settings.training.monitor != "held_out":
            return 0.0, 0.0
        share = settings.temperature.held_out_share
        cells = share * self.answered.sum()
        per_row = self.answered.sum() / max(self.rows, 1)
        return float(cells), float(self.rows * (1 - (1 - share) ** per_row))


def stage_work(
    size: TableSize, settings: Settings, n_draws: int, *, fits: bool = True, follows: bool = False
) -> dict[str, tuple[float, ...]]:
    """Count the work of each stage of ``tabsoda impute``.

    Parameters
    ----------
    size : TableSize
    settings : Settings
    n_draws : int
    fits : bool
        Whether a model is fitted first.
    follows : bool
        Whether draws follow rules: rows that hang on a missing gate are then drawn apart.
    """
    parts = 2 if follows else 1
    work = {
        "reading": (1.0, float(size.cells)),
        "answering": _answering(size, settings, parts, fits),
        "drawing": _times(n_draws, _draw(size, settings, size.n_missing, parts)),
        "redrawing": _times(n_draws, _redraw(size, settings)),
        "writing": (1.0, float(size.cells * (n_draws + 2))),
        "reporting": (1.0, float(size.columns), float(size.cells), n_draws * size.n_missing),
    }
    if fits:
        work |= {
            "training": _training(size, settings),
            "trees": _trees(size, settings),
            "completing": _completing(size, settings),
            "regressing": _regressing(size, settings, n_draws > 0),
        }
    return work


def _times(factor: float, counts: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(factor * count for count in counts)


def _pass(size: TableSize, settings: Settings, calls: float, rows: float) -> tuple[float, ...]:
    """Count calls of the network, cells read, products, and pairs of tokens that are compared."""
    pairs = float(size.columns**2) if settings.backbone.name == "tokens" else 0.0
    weights = network_weights(size.coordinates, settings)
    return calls, rows * size.columns, 2.0 * rows * weights, rows * pairs


def _training(size: TableSize, settings: Settings) -> tuple[float, ...]:
    """Count as :func:`_pass` does; a step with gradients is three passes."""
    steps = training_steps(settings, size.rows)
    rows = size.rows / math.ceil(size.rows / settings.training.batch_size)
    twice = 2 if settings.training.low_noise_pass else 1
    times = settings.em.rounds * _members(settings) * steps * twice
    calls, cells, products, pairs = _pass(size, settings, 1.0, rows)
    return _times(times, (calls, cells, 3.0 * products, pairs))


def _members(settings: Settings) -> float:
    """Count trainings; members that go on from the first network train for an eighth."""
    each = 0.125 if settings.backbone.bootstrap else 1.0
    return 1.0 + each * (settings.backbone.members - 1)


def _answering(size: TableSize, settings: Settings, parts: int, fits: bool) -> tuple[float, ...]:
    """Count what is asked for point estimates, to blend who answers, and to report how well."""
    asked = [float(size.incomplete_rows)] * parts + [float(min(size.rows, n)) for n in REPORT_ROWS]
    if fits and settings.has_heads:
        asked.append(min(size.held_out(settings)[1], MAX_BLEND_ROWS))
    if settings.sampler.point == "one_pass":
        passes = float(settings.backbone.members if settings.has_heads else 1)
    else:
        passes = float(settings.sampler.chains * passes_per_chain(settings))
    calls = passes * sum(math.ceil(rows / settings.sampler.block_rows) for rows in asked)
    # Rows are asked for once, in however many parts.
    rows = sum(asked) - (parts - 1) * size.incomplete_rows
    said = rows * size.probabilities if settings.has_heads else 0.0
    columns = float(size.columns * len(asked))
    return (*_pass(size, settings, calls, passes * rows), said, columns)


def _draw(size: TableSize, settings: Settings, cells: float, parts: int) -> tuple[float, ...]:
    """Count one draw of some missing cells from the network."""
    if settings.sampler.draws == "reverse":
        passes = float(passes_per_chain(settings))
        return _pass(size, settings, parts * passes, passes * size.incomplete_rows)
    groups = min(settings.sampler.draw_steps, size.columns)
    # A group of columns is drawn in the rows that miss one of them.
    return _pass(size, settings, parts * groups, min(cells, groups * size.rows))


def _redraw(size: TableSize, settings: Settings) -> tuple[float, ...]:
    if settings.sampler.draws != "refitted":
        return (0.0, 0.0, 0.0)
    sweeps, predictors = settings.regressions.sweeps, _predictors(size, settings)
    drawn = float((size.missing * size.classes).sum()) * predictors
    calls = float(np.count_nonzero(size.missing))
    return sweeps * calls, sweeps * drawn, size.incomplete_rows * float(size.widths.sum())


def _predictors(size: TableSize, settings: Settings) -> float:
    """Return about how many predictors a column is regressed on."""
    questions = min(settings.regressions.max_questions, max(size.columns - 1, 0))
    return float(questions * size.widths.mean())


def _trees(size: TableSize, settings: Settings) -> tuple[float, ...]:
    """Count models, and the cells that trees of a round look at; quick ones, then full ones."""
    level = settings.experts.trees
    if level == "none":
        return (0.0, 0.0, 0.0, 0.0)
    grown = TreeExpertSettings.named(level)
    trees = np.where(size.levels > 2, np.minimum(size.levels, grown.max_classes), 1.0)
    seen = trees * size.answered * min(max(size.columns - 1, 0), grown.max_predictors)
    counts = float(trees.sum()), float(seen.sum())
    return (*counts, 0.0, 0.0) if level == "quick" else (0.0, 0.0, *counts)


def _completing(size: TableSize, settings: Settings) -> tuple[float, ...]:
    """Count what is done once with the whole table: encode it, and draw what is held out."""
    cells, _ = size.held_out(settings)
    drawn: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    if settings.regressions.sets or settings.regressions.point_sets:
        drawn = _draw(size, settings, cells + size.n_missing, 1)
    return (*drawn, float(size.cells), 1.0)


def _regressing(size: TableSize, settings: Settings, draws: bool) -> tuple[float, ...]:
    """Count regressions, the products of one gradient of each, and of one Hessian."""
    chosen = settings.regressions
    rows = size.answered * min(1.0, chosen.max_rows / max(size.rows, 1))
    incomplete = (size.missing > 0).astype(float)
    # In the rounds before a set is kept, only incomplete columns are regressed.
    rounds = chosen.sets * (chosen.rounds - 1) + (_FIRST_ROUNDS if chosen.sets else 0)
    fits = (chosen.sets + rounds * incomplete) * draws + chosen.point_sets
    predictors = _predictors(size, settings)
    gradients = float((fits * rows * size.classes).sum()) * predictors
    hessians = float((fits * rows).sum()) * predictors**2
    return float(np.sum(fits * np.ones(size.columns))), gradients, hessians
