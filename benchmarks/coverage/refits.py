"""A study: draws of the engine, redrawn from small regressions refitted to every draw.

The engine's networks shrink what they learn, which makes good estimates of single cells and weak
slopes. Here each question is regressed on all others in the table that the engine completed, and
its missing cells are drawn anew, a few rounds long: chained equations that start from the engine's
draws. With ``answers`` the network's own answer is one more predictor.
"""

from __future__ import annotations

import numpy as np
import torch

from tabsoda._internal.randomness import numpy_generator
from tabsoda.baselines.chained_models import model_for
from tabsoda.baselines.point_estimates import center
from tabsoda.baselines.skip_views import PredictorForm
from tabsoda.em.answering import answers_of
from tabsoda.em.engine import Engine
from tabsoda.em.working_table import WorkingTable
from tabsoda.evaluation.coverage import Array
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

_RIDGE = 1.0
_DONORS = 5
# Probabilities below this differ by nothing that a survey could tell.
_LEAST_LOG = -8.0


def refitted_draw(
    engine: Engine, seen: CodedTable, number: int, rounds: int, *, answers: bool
) -> Array:
    """Complete a table once, shape (n_rows, n_columns)."""
    generator = numpy_generator(engine.model.seed, "refit", number)
    filled = engine.draw(seen, number)
    form = PredictorForm(seen, np.array([center(column) for column in seen.values.T]))
    for _ in range(rounds):
        for column in generator.permutation(np.flatnonzero(seen.states.missing.any(axis=0))):
            predictors = form.of(filled).without(column)
            if answers:
                predictors = np.column_stack(
                    [predictors, network_answer(engine, seen, filled, int(column))]
                )
            spread = np.maximum(predictors.std(axis=0), 1e-9)
            predictors = (predictors - predictors.mean(axis=0)) / spread
            rows = np.flatnonzero(seen.states.answered[:, column])
            if seen.columns[column].is_categorical:
                # Regressions of numbers draw their coefficients; these need other rows for it.
                rows = generator.choice(rows, rows.size)
            missing = seen.states.missing[:, column]
            filled[missing, column], _ = model_for(seen.columns[column], _RIDGE, _DONORS).draw(
                predictors[rows], seen.values[rows, column], predictors[missing], generator
            )
    return filled


def network_answer(engine: Engine, seen: CodedTable, filled: Array, column: int) -> Array:
    """Return what the network says of a question given all others, shape (n_rows, k)."""
    model, values = engine.model, filled.copy()
    values[:, column] = np.nan
    asked = CodedTable.from_values(seen.columns, values)
    data = WorkingTable.build(asked, model.codec, np.arange(len(values)), model.device)
    said = answers_of(model, data, torch.arange(len(values)))
    if not seen.columns[column].is_categorical:
        place = model.codec.layout.continuous_columns.tolist().index(column)
        return said.numbers[:, [place]].double().numpy()
    place = model.codec.categorical_columns.tolist().index(column)
    n_levels = seen.columns[column].n_levels
    logs = said.log_probabilities[:, place, :n_levels].double().clamp(min=_LEAST_LOG)
    if seen.columns[column].kind is ColumnKind.ORDINAL:
        return (logs.exp() @ torch.arange(n_levels).double())[:, None].numpy()
    return (logs[:, 1:] - logs[:, :1]).numpy()
