"""Mine a survey's variable subsets and compare the masks with the codebook's."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from tabsoda._internal.files import write_json
from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.contract import without_skips
from tabsoda.bench.metrics.skip_metrics import skip_metrics
from tabsoda.bench.studies.store import read_json
from tabsoda.progress import Progress
from tabsoda.reading.raw import RawTable
from tabsoda.reproduce.sources import Source
from tabsoda.skips.miner import SCREENS, SkipMiner
from tabsoda.skips.rules import count_conditions
from tabsoda.skips.settings import MinerSettings
from tabsoda.table import CodedTable


def miner_scores(
    source: Source,
    raw: RawTable,
    file: Path,
    *,
    partial: bool = False,
    rows: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Score both screens of the miner on each subset; results in the file are not computed again.

    Parameters
    ----------
    source : Source
    raw : RawTable
        The survey's file.
    file : Path
        JSON with the results so far; written after each.
    partial : bool
        Accept a file with few variables.
    rows : int, optional
        At most this many respondents.
    seed : int
    progress : callable, optional

    Returns
    -------
    list of dict
        ``variables``, ``screen``, ``mined`` (questions with a rule), ``rules`` (conditions, as the
        paper counts them: one may skip several questions), and the metrics over all cells. A file
        with fewer variables than a subset gives that subset once.
    """
    kept = {one["key"]: one for one in read_json(file)["runs"]} if file.exists() else {}
    results: dict[str, dict[str, Any]] = {}
    for done, (size, preset) in enumerate(source.miner_presets.items()):
        if progress is not None:
            progress(done, len(source.miner_presets), f"mining {size} variables")
        table = _drawn(source.build(raw, size, partial=partial).table, rows, seed)
        if any(one["variables"] == table.shape[1] for one in results.values()):
            break
        for screen in reversed(SCREENS):
            key = f"{_fingerprint(table)} {screen} {preset}"
            results[key] = kept.get(key) or {"key": key, **_score(table, screen, preset)}
            write_json(file, {"runs": list(results.values())})
    if progress is not None:
        progress(len(source.miner_presets), len(source.miner_presets), "mining")
    return list(results.values())


def _score(table: CodedTable, screen: str, preset: str) -> dict[str, Any]:
    blank = without_skips(table)
    mined = SkipMiner(MinerSettings.preset(preset), screen=screen).mine(blank)
    metrics = skip_metrics(mined.states.skipped, table.states.skipped, ~table.states.answered)
    return {
        "rows": table.shape[0],
        "variables": table.shape[1],
        "screen": screen,
        "mined": len(mined.targets),
        "rules": count_conditions(mined.rules),
        "rules_by_target": len(mined.rules),
        "all_cells": metrics["all_cells"],
    }


def _drawn(table: CodedTable, rows: int | None, seed: int) -> CodedTable:
    """Draw the same respondents as for the imputation study."""
    if rows is None or rows >= table.shape[0]:
        return table
    chosen = numpy_generator(seed, "sample rows").choice(table.shape[0], rows, replace=False)
    return table.rows(np.sort(chosen))


def _fingerprint(table: CodedTable) -> str:
    digest = hashlib.sha256(
        repr([(c.name, c.kind.value, c.levels) for c in table.columns]).encode()
    )
    digest.update(np.ascontiguousarray(table.values).tobytes())
    digest.update(np.ascontiguousarray(table.states.states).tobytes())
    return digest.hexdigest()[:16]
