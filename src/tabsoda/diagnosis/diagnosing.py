"""Hide answers of a survey before anything is trained, impute them, and compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda._version import __version__
from tabsoda.bench.held_out import ColumnErrors, ImputationMethod, hide_answers
from tabsoda.diagnosis.verdicts import judge, summarise_verdicts
from tabsoda.errors import InputError
from tabsoda.event_texts import to_dicts_with_text
from tabsoda.events import EventLog
from tabsoda.progress import Progress
from tabsoda.schema.column import ColumnKind
from tabsoda.table import CodedTable

MOST_ROWS = 5000
# The method that the others are compared with.
REFERENCE = "mode"


def diagnose(
    table: CodedTable,
    methods: Mapping[str, ImputationMethod],
    *,
    share: float = 0.1,
    most_rows: int = MOST_ROWS,
    seed: int = 0,
    progress: Progress | None = None,
    events: EventLog | None = None,
) -> dict[str, Any]:
    """Measure per question how well methods predict hidden answers.

    Each answered cell is hidden with the same probability. The questions that depend on a hidden
    gate are hidden with it; otherwise they would reveal its answer.

    Parameters
    ----------
    table : CodedTable
    methods : mapping of str to ImputationMethod
        By name; must include ``"mode"``, which comes first.
    share : float
        Share of the answered cells to hide.
    most_rows : int
        Maximum number of rows; a larger table is sampled.
    seed : int
    progress : callable, optional
    events : EventLog, optional
        Receives the decisions.

    Returns
    -------
    dict
        ``rows``, ``hidden``, ``methods`` (seconds of each), ``variables`` (per question the mean
        score of every method, also relative to the mode's, and a verdict) and ``summary``
        (sentences). The mode's probabilities are the shares of the answers.

    Examples
    --------
    >>> from tabsoda.bench.methods.registry import method
    >>> from tabsoda.datasets import make_survey
    >>> table = make_survey(300, n_columns=10).true_table
    >>> found = diagnose(table, {name: method(name) for name in ("mode", "boosting")})
    >>> found["rows"], [one["name"] for one in found["variables"]] == list(table.names)
    (300, True)
    """
    log = EventLog() if events is None else events
    _check(methods, share)
    held = hide_answers(
        table, share, most_rows=most_rows, seed=seed, purpose="diagnose", track="unresolved"
    )
    truth, n_hidden = held.truth, int(held.hidden.sum())
    if truth.shape[0] < table.shape[0]:
        log.add("rows_sampled", rows=truth.shape[0], of_rows=table.shape[0])
    log.add("answers_hidden", cells=n_hidden, of_cells=int(truth.states.answered.sum()))
    errors, seconds = held.run(methods, seed, progress)
    variables = [
        _variable(truth, position, {name: found[position] for name, found in errors.items()})
        for position in range(truth.shape[1])
    ]
    return {
        "tabsoda": __version__,
        "rows": truth.shape[0],
        "questions": truth.shape[1],
        "hidden": n_hidden,
        "share": share,
        "seed": seed,
        "methods": [{"name": name, "seconds": taken} for name, taken in seconds.items()],
        "variables": variables,
        "summary": summarise_verdicts(variables, list(methods)),
        "events": to_dicts_with_text(log),
    }


def losses(errors: ColumnErrors) -> NDArray[np.float64]:
    """Return the proper score of each hidden cell, shape (n_cells,).

    Accuracy is not a proper score: if nine in ten give the same answer, it cannot show whether a
    method identifies the tenth. Nominal: the Brier score, halved. Ordinal: the ranked probability
    score in levels. Numbers: the squared error in standard deviations. A method without
    probabilities is treated as certain of its estimate: its score is 1 if wrong, or the number of
    levels by which it is wrong.
    """
    column = errors.column
    if column.kind is ColumnKind.NOMINAL:
        return errors.brier if errors.brier.size else (errors.mode != 0).astype(np.float64)
    if column.kind is ColumnKind.ORDINAL:
        has_probabilities = errors.ranked.size > 0
        return errors.ranked * (column.n_levels - 1) if has_probabilities else np.abs(errors.median)
    return (errors.mode / errors.spread) ** 2


def _variable(truth: CodedTable, position: int, errors: dict[str, ColumnErrors]) -> dict[str, Any]:
    column = truth.columns[position]
    cells = errors[REFERENCE].mode.size
    entry: dict[str, Any] = {
        "name": column.name,
        "label": column.label,
        "kind": column.kind.value,
        "hidden": int(cells),
        "measure": {
            ColumnKind.NOMINAL: "Brier score",
            ColumnKind.ORDINAL: "ranked probability score",
            ColumnKind.CONTINUOUS: "error in standard deviations",
        }[column.kind],
        "methods": {},
    }
    per_cell = {name: losses(one) for name, one in errors.items()}
    root = column.kind is ColumnKind.CONTINUOUS
    means = {name: _mean(values, root) for name, values in per_cell.items()}
    for name, one in errors.items():
        error, reference = means[name], means[REFERENCE]
        entry["methods"][name] = {
            "error": error,
            "relative": error / reference if error is not None and reference else None,
            **({"accuracy": _mean(one.mode == 0)} if column.is_categorical else {}),
        }
    return entry | judge(per_cell, REFERENCE)


def _mean(values: NDArray[Any], root: bool = False) -> float | None:
    if not values.size:
        return None
    mean = float(np.mean(values))
    return round(mean**0.5 if root else mean, 5)


def _check(methods: Mapping[str, ImputationMethod], share: float) -> None:
    if not 0 < share < 1:
        raise InputError(
            "The share of answers to hide is out of range", found=str(share), expected="0 to 1"
        )
    if REFERENCE not in methods or len(methods) < 2:
        raise InputError(
            "There are not enough methods to compare",
            found=", ".join(methods) or "no methods",
            expected=f"'{REFERENCE}' and at least one more",
        )
