"""Random small surveys with skip codes, reasons and masks, for tests that compare commands."""

from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import strategies as st

from tabsoda.schema import Column, ColumnKind, Reason, Schema
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.table import CodedTable

COLUMNS = (
    Column("a", ColumnKind.NOMINAL, (1, 2, 3)),
    Column("b", ColumnKind.NOMINAL, (1, 2)),
    Column("c", ColumnKind.CONTINUOUS),
    Column("d", ColumnKind.ORDINAL, (1, 2, 3)),
    Column("e", ColumnKind.NOMINAL, (1, 2)),
)
SPECIAL = {-991: Reason.SKIP, -992: Reason.REFUSED, -993: Reason.DONT_KNOW, -994: Reason.OTHER}
_GIVEN = (Reason.REFUSED, Reason.DONT_KNOW, Reason.OTHER)


@st.composite
def coded_surveys(draw: st.DrawFn, n_rows: int = 400) -> CodedTable:
    """Chains of gates whose skips are partly coded, and codes that lie about them.

    b follows a, c follows b, d follows a reason of a, and e hangs on c being skipped. A share of
    the skips is known from codes; other codes call blanks skips that are none.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = np.column_stack(
        [
            rng.integers(c.n_levels, size=n_rows) if c.is_categorical else rng.normal(size=n_rows)
            for c in COLUMNS
        ]
    ).astype(float)
    reasons = np.zeros(values.shape, dtype=np.uint8)
    declined = rng.random(values.shape) < draw(st.sampled_from([0.0, 0.05, 0.3]))
    reasons[declined] = rng.choice([reason_code(r) for r in _GIVEN], declined.sum())
    by_reason = reason_code(draw(st.sampled_from(_GIVEN)))
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 1] = (values[:, 0] == 2) & ~declined[:, 0]
    skipped[:, 2] = skipped[:, 1] | ((values[:, 1] == 1) & ~declined[:, 1])
    skipped[:, 3] = (reasons[:, 0] == by_reason) & draw(st.booleans())
    skipped[:, 4] = skipped[:, 2] & draw(st.booleans())
    stray = rng.random(values.shape) < draw(st.sampled_from([0.0, 0.02]))
    skipped &= ~stray
    values[skipped | declined] = np.nan
    reasons[skipped] = 0
    values[rng.random(values.shape) < 0.02] = np.nan
    blank = np.isnan(values) & (reasons == 0)
    coded = rng.random(values.shape) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    wrong = np.zeros(values.shape, dtype=bool)
    wrong[:, draw(st.integers(0, 4))] = rng.random(n_rows) < draw(st.sampled_from([0.0, 0.2]))
    values[wrong], reasons[wrong] = np.nan, 0
    known = (coded & skipped & blank) | wrong
    states = CellStates.from_masks(
        ~np.isnan(values), known, tuple(c.name for c in COLUMNS), reasons
    )
    return CodedTable(COLUMNS, values, states)


def as_file(table: CodedTable) -> tuple[pl.DataFrame, Schema, np.ndarray]:
    """Return data with codes, their description, and a mask of the skips that no code marks.

    A code marks the skips of every other row, the mask those of the others.
    """
    code_of = {reason_code(reason): code for code, reason in SPECIAL.items()}
    masked = table.states.skipped & (np.arange(table.shape[0])[:, None] % 2 == 1)
    data = {}
    for position, column in enumerate(table.columns):
        cells = []
        for row in range(table.shape[0]):
            value, reason = table.values[row, position], int(table.states.reasons[row, position])
            if reason:
                cells.append(None if masked[row, position] else code_of.get(reason))
            else:
                cells.append(column.levels[int(value)] if column.is_categorical else float(value))
        data[column.name] = pl.Series(cells, dtype=pl.Float64)
    described = tuple(replace(column, special_codes=SPECIAL) for column in table.columns)
    return pl.DataFrame(data), Schema(described), masked
