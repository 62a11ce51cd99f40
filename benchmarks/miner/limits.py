"""Why skips are missed: a missing gate, a respondent who seemed absent, or another cause."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from tabsoda.skips.miner import MinedSkips
from tabsoda.skips.predictors import CellCodes
from tabsoda.table import CodedTable

# Columns with fewer missed cells than this are counted as not predictable; the oracle is not asked.
FEWEST = 50
# What the oracle may take for skips: as pure as the miner's rules must be.
MAX_ASKED_SHARE = 0.05


def what_limits_recall(table: CodedTable, mined: MinedSkips, reference: np.ndarray) -> dict:
    """Sort the missed skip cells by reason; the counts add up to ``missed``.

    The oracle is gradient boosting over all earlier columns (answers, learned skips, blanks),
    predicted out of fold, cut where it is as pure as a rule must be. What it finds beyond the
    rules could in principle be predicted from earlier columns; the rest could not.
    """
    routed = table.with_states(mined.states)
    missed = reference & ~mined.states.skipped
    withheld = np.zeros_like(missed)
    gate_missing = np.zeros_like(missed)
    for rule in mined.rules:
        target = table.names.index(rule.target)
        withheld[:, target] |= rule.fires(routed)
        if_blank = tuple(
            tuple(replace(condition, or_blank=True) for condition in path) for path in rule.any_of
        )
        gate_missing[:, target] |= replace(rule, any_of=if_blank).fires(routed)
    withheld &= missed
    gate_missing &= missed & ~withheld
    rest = missed & ~withheld & ~gate_missing
    oracle_true, oracle_false = 0, 0
    codes = CellCodes(routed, max_bins=200)
    for target in np.flatnonzero(rest.sum(axis=0) >= FEWEST):
        codes.mark_skipped(int(target), mined.states.skipped[:, target])
    for target in np.flatnonzero(rest.sum(axis=0) >= FEWEST):
        found = oracle(codes, int(target), table, mined)
        oracle_true += int((found & rest[:, target]).sum())
        oracle_false += int((found & ~reference[:, target]).sum())
    return {
        "missed": int(missed.sum()),
        "gate_itself_missing": int(gate_missing.sum()),
        "respondent_seemed_absent": int(withheld.sum()),
        "an_oracle_would_find": oracle_true,
        "no_earlier_column_tells": int(rest.sum()) - oracle_true,
        "oracle_false_positives": oracle_false,
        "recall_if_gates_were_known": round(
            1 - (missed.sum() - gate_missing.sum()) / max(reference.sum(), 1), 5
        ),
        "columns_missed_most": [
            {"column": table.names[j], "missed": int(rest[:, j].sum())}
            for j in np.argsort(-rest.sum(axis=0), kind="stable")[:8]
            if rest[:, j].any()
        ],
    }


def oracle(codes: CellCodes, target: int, table: CodedTable, mined: MinedSkips) -> np.ndarray:
    """Return the unexplained blanks of a target that a flexible classifier would call skips."""
    rows = ~mined.states.skipped[:, target]
    blank = ~table.states.answered[rows, target]
    everything = np.ones(len(rows), dtype=bool)
    X = np.column_stack([codes.local(gate, everything)[rows] for gate in range(target)])
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
    share = cross_val_predict(model, X, blank, cv=2, method="predict_proba")[:, 1]
    order = np.argsort(-share, kind="stable")
    asked = np.cumsum(~blank[order]) / np.arange(1, len(order) + 1)
    pure = np.flatnonzero(asked <= MAX_ASKED_SHARE)
    found = np.zeros(len(rows), dtype=bool)
    if len(pure):
        found[np.flatnonzero(rows)[order[: pure[-1] + 1]]] = True
    return found & ~table.states.answered[:, target]
