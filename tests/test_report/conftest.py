"""A small result with hostile labels, made without a model."""

import numpy as np
import pytest

from tabsoda.events import EventLog
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, Evidence, RuleStatus, SkipRule
from tabsoda.table import CodedTable

SCRIPT = "<script>document.title='owned'</script>"
IMAGE = "<img src=x onerror=\"document.title='owned'\">"


def draw_from_answers(table, n_draws, seed=0):
    """Impute every missing cell by an answer of somebody else."""
    rng = np.random.default_rng(seed)
    rows, positions = np.nonzero(table.states.missing)
    draws = np.empty((n_draws, rows.size))
    for position in range(table.shape[1]):
        cells = positions == position
        answers = table.values[table.states.answered[:, position], position]
        draws[:, cells] = rng.choice(answers, size=(n_draws, int(cells.sum())))
    point = draws[0].copy() if n_draws else np.zeros(rows.size)
    return ImputedCells(rows, positions, draws, point, point.copy())


@pytest.fixture(scope="session")
def hostile():
    """Return a result whose names, labels, levels and events hold markup and formulas."""
    columns = (
        Column(f"gate{SCRIPT}", ColumnKind.NOMINAL, (1, 2), label=IMAGE, level_labels={1: SCRIPT}),
        Column("=cmd()", ColumnKind.ORDINAL, ("a", IMAGE, "c"), label='"><b>bold</b>'),
        Column("age", ColumnKind.CONTINUOUS, label="</style></title>{{ 7 * 7 }}\u202eback"),
    )
    rng = np.random.default_rng(1)
    values = np.column_stack(
        [rng.integers(0, 2, 400), rng.integers(0, 3, 400), rng.normal(40, 10, 400)]
    ).astype(float)
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 1] = values[:, 0] == 1
    values[(rng.random(values.shape) < 0.2) | skipped] = np.nan
    table = CodedTable.from_values(columns, values, skipped)
    events = EventLog()
    events.add(IMAGE, column=columns[0].name, note=SCRIPT)
    history = [{"round": 1, "loss": 1.0, "losses": [2.0, 1.0], "change": 0.5}]
    return Imputations(table, draw_from_answers(table, 5), history=history, events=events)


@pytest.fixture(scope="session")
def hostile_rules(hostile):
    """Return a rule on the hostile columns, with a note that is markup, too."""
    gate, target = hostile.table.columns[:2]
    evidence = Evidence(150, 3, 20, 227, 0.05, 0.1, 0.1, 1e-9, 1e-9, 0.8)
    rule = SkipRule(
        "r001", target.name, ((Condition(gate.name, (2,)),),), evidence, note=IMAGE, by=SCRIPT,
        status=RuleStatus.APPROVED,
    )  # fmt: skip
    return RuleSet((rule,), hostile.table.columns)


@pytest.fixture(scope="session")
def draw():
    """Return the function that imputes by answers of others."""
    return draw_from_answers
