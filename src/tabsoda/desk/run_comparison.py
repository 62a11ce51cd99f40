"""Two runs side by side: how they were made, and what differs in their completed tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.special import erf

from tabsoda.report.suppression import plain
from tabsoda.results.imputations import Imputations
from tabsoda.schema.column import Column

Array = NDArray[np.float64]
_MOST_QUESTIONS = 500


def compare_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare the manifests of two runs: options, seeds, versions, files and counts.

    Parameters
    ----------
    first, second : mapping
        Manifests, see :func:`tabsoda.results.result_folder.load_manifest`.

    Returns
    -------
    list of dict
        ``what``, ``first``, ``second`` and ``differs``; hashes are shortened.

    Examples
    --------
    >>> one = {"tabsoda": "1", "options": {"seed": 1, "settings": {"layers": 2}}}
    >>> other = {"tabsoda": "1", "options": {"seed": 2, "settings": {"layers": 2}}}
    >>> [row["what"] for row in compare_settings(one, other) if row["differs"]]
    ['seed']
    """
    sides = [_facts(manifest) for manifest in (first, second)]
    names = dict.fromkeys([*sides[0], *sides[1]])
    rows = []
    for name in names:
        values = [side.get(name) for side in sides]
        shown = [_shown(name, value) for value in values]
        differs = values[0] != values[1]
        rows.append({"what": name, "first": shown[0], "second": shown[1], "differs": differs})
    return rows


def compare_answers(first: Imputations, second: Imputations, suppress_below: int = 0) -> Any:
    """Compare the completed tables of two runs, question by question.

    Parameters
    ----------
    first, second : Imputations
        Of the same survey, or of surveys with questions of the same names.
    suppress_below : int
        Answers given by fewer respondents than this are not compared.

    Returns
    -------
    dict
        ``questions``: for each question that was imputed, its mean or the share of the answer
        that differs most, in both runs, with the standard deviation between draws; ``size`` is
        the difference in standard deviations of the answers (means) or the largest difference of
        shares, and ``noise`` what two runs with other random numbers differ by; for shares, what
        the largest of their differences is then. The most different come first. ``only_first``
        and ``only_second`` list other questions.
    """
    shared = [name for name in first.table.names if name in second.table.names]
    rows = []
    for name in shared:
        one, other = (_Question(result, name) for result in (first, second))
        if one.column.levels != other.column.levels or not (one.is_imputed or other.is_imputed):
            continue
        rows += [row] if (row := _compared(one, other, suppress_below)) else []
    rows.sort(key=lambda row: -(row["size"] or 0.0))
    found = {
        "questions": rows[:_MOST_QUESTIONS],
        "left_out": max(len(rows) - _MOST_QUESTIONS, 0),
        "only_first": [name for name in first.table.names if name not in second.table.names],
        "only_second": [name for name in second.table.names if name not in first.table.names],
    }
    return plain(found)


def _facts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run was made with, one value per name."""
    facts: dict[str, Any] = {"TabSODA": manifest.get("tabsoda"), "Python": manifest.get("python")}
    facts |= _flat(manifest.get("options", {}))
    for what, one in manifest.get("inputs", {}).items():
        facts[f"file: {what}"] = one.get("file")
        facts[f"hash: {what}"] = one.get("sha256")
    facts |= {f"library: {name}": one for name, one in manifest.get("libraries", {}).items()}
    facts |= {f"cells: {name}": one for name, one in manifest.get("counts", {}).items()}
    return facts


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name.replace("_", " ")] = value
    return flat


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "–"
    text = "yes" if value is True else "no" if value is False else str(value)
    text = f"{value:,}" if isinstance(value, int) and name.startswith("cells") else text
    return text[:12] if name.startswith("hash") else text[:200]


class _Question:
    """One question's completed answers, draw by draw."""

    def __init__(self, result: Imputations, name: str) -> None:
        self.position = result.table.names.index(name)
        self.column: Column = result.table.columns[self.position]
        cells = result.cells.positions == self.position
        self.is_imputed = bool(cells.any())
        values = result.table.values[:, self.position]
        self.observed = values[~np.isnan(values)]
        draws = result.cells.draws if len(result) else result.cells.mode[None]
        self.drawn: Array = draws[:, cells]

    def means(self) -> Array:
        """Return the mean of every completed table, shape (n_draws,)."""
        known = ~np.isnan(self.drawn)
        total = self.observed.sum() + np.where(known, self.drawn, 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(self.observed.size + known.sum(axis=1), 1))

    def shares(self) -> Array:
        """Return the shares of the levels in every completed table, shape (n_draws, n_levels)."""
        k = self.column.n_levels
        base = np.bincount(self.observed.astype(np.intp), minlength=k)
        counts = np.array(
            [base + np.bincount(d[~np.isnan(d)].astype(np.intp), minlength=k) for d in self.drawn]
        )
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def _compared(one: _Question, other: _Question, suppress_below: int) -> dict[str, Any] | None:
    row: dict[str, Any] = {
        "name": one.column.name,
        "label": one.column.label,
        "kind": "mean" if not one.column.is_categorical else "share",
        "level": "",
    }
    if not one.column.is_categorical:
        means = one.means(), other.means()
        sides = means
        unit = float(one.observed.std()) if one.observed.size > 1 else 0.0
        noise = float(_noise(*means))
    else:
        shares = one.shares(), other.shares()
        counts = np.bincount(one.observed.astype(np.intp), minlength=one.column.n_levels)
        shown = counts >= suppress_below
        if not shown.any():
            return None
        apart = np.abs(shares[0].mean(axis=0) - shares[1].mean(axis=0))
        place = int(np.where(shown, apart, -1.0).argmax())
        sides, unit = (shares[0][:, place], shares[1][:, place]), 1.0
        noise = expected_largest(_noise(*shares)[shown])
        row["level"] = one.column.describe_level(one.column.levels[place])
    first, second = (side.mean() for side in sides)
    spreads = [float(side.std(ddof=1)) if side.size > 1 else 0.0 for side in sides]
    return row | {
        "first": float(first),
        "second": float(second),
        "first_spread": spreads[0],
        "second_spread": spreads[1],
        "size": float(abs(first - second) / unit) if unit else 0.0,
        "noise": noise / unit if unit else 0.0,
    }


def _noise(*sides: Array) -> Array:
    """Return the standard deviation of the difference between two averages over draws."""
    variances = [side.var(axis=0, ddof=1) / len(side) for side in sides if len(side) > 1]
    return (
        np.asarray(np.sqrt(np.sum(variances, axis=0)))
        if variances
        else np.zeros(sides[0].shape[1:])
    )


def expected_largest(spreads: Array) -> float:
    """Return the root mean square of the largest of several random differences.

    The differences of shares add up to zero, so that the one with the smallest spread follows from
    the others, which are taken as independent and normal.

    Parameters
    ----------
    spreads : ndarray, shape (n_levels,)
        Their standard deviations.

    Examples
    --------
    >>> round(expected_largest(np.array([0.1, 0.1])), 4)
    0.1
    >>> round(expected_largest(np.full(6, 0.1)), 4)
    0.1665
    """
    free = np.sort(spreads)[1:] if spreads.size > 1 else spreads
    free = free[free > 0]
    if not free.size:
        return 0.0
    t = np.linspace(0.0, 8.0 * free.max(), 2001)
    below = erf(t[:, None] / (free * np.sqrt(2.0))).prod(axis=1)
    return float(np.sqrt(trapezoid(2.0 * t * (1.0 - below), t)))
