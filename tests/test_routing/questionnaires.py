"""Small questionnaires with routing for the tests of this folder."""

import numpy as np
from hypothesis import strategies as st

from tabsoda.imputed_cells import ImputedCells
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.settings import PaperSettings
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.skips.forward import route
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import NAMED_REASONS, Condition, RuleStatus, SkipRule
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable

COLUMNS = (
    Column("a", ColumnKind.NOMINAL, (1, 2)),
    Column("b", ColumnKind.ORDINAL, (1, 2, 3, 4)),
    Column("c", ColumnKind.CONTINUOUS),
    Column("d", ColumnKind.NOMINAL, (1, 2, 3)),
    Column("e", ColumnKind.NOMINAL, (1, 2)),
    Column("f", ColumnKind.CONTINUOUS),
)
NAMES = tuple(column.name for column in COLUMNS)


def tiny_engine(table: CodedTable, steps: int = 20, seed: int = 1) -> PaperEngine:
    settings = PaperSettings.preset("small").replace(
        training={"max_steps": steps}, sampler={"steps": 8}, em={"rounds": 1}
    )
    return PaperEngine.fit(table, settings, seed=seed, device="cpu")


def random_table(n_rows: int, seed: int, blank: float = 0.3, refused: float = 0.0) -> CodedTable:
    """Answers without any routing, some of them blank and some refused."""
    generator = np.random.default_rng(seed)
    values = np.column_stack(
        [
            generator.normal(size=n_rows).round(1)
            if column.kind is ColumnKind.CONTINUOUS
            else generator.integers(column.n_levels, size=n_rows).astype(float)
            for column in COLUMNS
        ]
    )
    values[generator.random(values.shape) < blank] = np.nan
    values[:2] = 0.0
    table = CodedTable.from_values(COLUMNS, values)
    refusals = table.states.missing & (generator.random(values.shape) < refused)
    given = generator.choice([reason_code(reason) for reason in NAMED_REASONS], values.shape)
    return _with_reasons(table, np.where(refusals, given, table.states.reasons))


def _with_reasons(table: CodedTable, reasons: np.ndarray) -> CodedTable:
    states, reasons = table.states, reasons.astype(np.uint8)
    return table.with_states(
        CellStates.from_masks(states.answered, states.skipped, states.names, reasons)
    )


@st.composite
def conditions(draw: st.DrawFn, target: int) -> Condition:
    column = COLUMNS[draw(st.integers(0, target - 1))]
    states = {
        "or_skipped": draw(st.booleans()),
        "or_blank": draw(st.sampled_from([False] * 4 + [True])),
        "reasons": draw(st.sampled_from([(), (), *((reason,) for reason in NAMED_REASONS)])),
    }
    if column.is_categorical:
        levels = draw(
            # All of them: "when it was answered".
            st.sets(st.sampled_from(column.levels), min_size=1, max_size=len(column.levels))
        )
        return Condition(column.name, tuple(sorted(levels)), **states)
    above = draw(st.sampled_from([None, -0.5, 0.25, -1e9]))
    up_to = draw(st.sampled_from([None, 0.5, 1.0]))
    if above is None and up_to is None:
        up_to = 0.0
    return Condition(column.name, above=above, up_to=up_to, **states)


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleSet:
    """Any rules: cascades, several gates, several rules a target, rejected ones."""
    rules = []
    for number in range(draw(st.integers(1, 6))):
        target = draw(st.integers(1, len(COLUMNS) - 1))
        path = st.lists(conditions(target), min_size=1, max_size=2)
        any_of = tuple(tuple(p) for p in draw(st.lists(path, min_size=1, max_size=2)))
        status = draw(st.sampled_from([*[RuleStatus.APPROVED] * 4, RuleStatus.REJECTED]))
        rules.append(SkipRule(f"r{number}", NAMES[target], any_of, status=status))
    return RuleSet(tuple(rules), COLUMNS)


def completed(table: CodedTable, cells: ImputedCells, imputed: np.ndarray) -> CodedTable:
    """A completed table as a reader of its file sees it: what rules skip is blank again."""
    values = table.values.copy()
    values[cells.rows, cells.positions] = imputed
    whole = CodedTable.from_values(table.columns, values)
    imputed_cells = np.zeros(table.shape, dtype=bool)
    imputed_cells[cells.rows, cells.positions] = True
    refusals = table.states.missing & ~imputed_cells
    return _with_reasons(whole, np.where(refusals, table.states.reasons, whole.states.reasons))


def broken_cells(rules: RuleSet, table: CodedTable) -> set[tuple[str, int]]:
    """Which rules are answered against, and in which rows."""
    fired = route(rules, table).fired
    return {
        (rule.identifier, int(row))
        for rule in rules.active
        for row in np.flatnonzero(
            fired[rule.identifier] & table.states.answered[:, table.names.index(rule.target)]
        )
    }
