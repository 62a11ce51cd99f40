"""Time the regressions and draws with products and curves against straight lines.

    python benchmarks/engine/interaction_time.py SURVEYS RESULT [--before SOURCE] [--sizes 0 1 2 3]

Respondents of one survey, with replacement where they are too few; 20 % of the answers are hidden.
The sets of the quality "balanced" for that size, then twenty draws in the blocks of rows of the
engine; three draws (of 100,000 rows one) are measured. Seconds of CPU in one thread, and the
largest memory beyond that of the table; every measurement is a process of its own, and those of a
size follow each other. SOURCE is the folder ``src`` of an earlier version, whose straight lines are
measured beside. Sizes that are not asked for are kept in RESULT.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tabsoda.datasets.survey_folder import load_survey_folder
from tabsoda.engine.presets import quality_settings
from tabsoda.engine.regressions.chained_regressions import FEWEST_ANSWERS, ChainedRegressions
from tabsoda.table import CodedTable

SURVEY = "nsfg2006_2010_male"
SIZES = ((300, 40), (4000, 40), (10_403, 219), (100_000, 40))
DRAWS = 20


def hide(whole: CodedTable, n_rows: int, n_columns: int, rng: np.random.Generator) -> CodedTable:
    """Return some rows and columns with 20 % of the answers hidden."""
    columns = np.sort(rng.permutation(len(whole.columns))[:n_columns])
    table = whole.select([whole.names[place] for place in columns])
    rows = np.sort(rng.permutation(whole.shape[0])[:n_rows])
    if n_rows > whole.shape[0]:
        rows = np.sort(rng.integers(whole.shape[0], size=n_rows))
    table = table.rows(rows)
    hidden = table.states.answered & (rng.random(table.shape) < 0.2)
    return table.with_states(table.states.hide(hidden))


def measure(table: CodedTable, interactions: bool) -> dict[str, float]:
    """Return the seconds of the fit and of the draws, and the number of relations."""
    rng = np.random.default_rng(1)
    states, filled = table.states, table.values.copy()
    usable = []
    for place, column in enumerate(table.columns):
        answers = table.values[states.answered[:, place], place]
        if answers.size:
            missing = states.missing[:, place]
            filled[missing, place] = rng.choice(answers, missing.sum())
        few = not column.is_categorical or column.n_levels <= 40
        if answers.size >= FEWEST_ANSWERS and np.unique(answers).size > 1 and few:
            usable.append(place)
    settings = quality_settings("balanced", *table.shape)
    chosen, block = settings.regressions, settings.draws.block_rows
    barred = np.zeros((table.shape[1], table.shape[1]), dtype=bool)
    rows = np.arange(table.shape[0])
    if rows.size > chosen.max_rows:
        rows = np.sort(rng.choice(rows, chosen.max_rows, replace=False))
    at_rest = memory("VmRSS", forget_peak=True)
    start = time.process_time()
    chained = ChainedRegressions.fit(
        table.rows(rows), filled[rows], usable, barred, n_sets=chosen.sets, rounds=chosen.rounds,
        seed=1, max_questions=chosen.max_questions, first_rounds=3, row_share=chosen.row_share,
        interactions=interactions,
    )  # fmt: skip
    fitted = time.process_time()
    missing, skipped = states.missing.copy(), states.skipped
    missing[:, np.setdiff1d(np.arange(table.shape[1]), usable)] = False
    measured = 3 if table.shape[0] < 100_000 else 1
    for number in range(1, measured + 1):
        for first in range(0, table.shape[0], block):
            part = slice(first, first + block)
            noise = [rng.random(missing[part].shape) for _ in range(chosen.sweeps)]
            chained.redraw(filled[part], missing[part], skipped[part], number, noise)
    drawn = (time.process_time() - fitted) / measured * DRAWS
    return {
        "fit": round(fitted - start, 1),
        "draws": round(drawn, 1),
        "relations": len(chained.relations),
        "megabytes": round(memory("VmHWM") - at_rest),
    }


def memory(kind: str, forget_peak: bool = False) -> float:
    """Return the present (VmRSS) or largest (VmHWM) memory of this process in MiB, on Linux."""
    if forget_peak:
        # What was freed goes back to the system, so that it does not hide what is needed next.
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    [found] = [line.split()[1] for line in lines if line.startswith(f"{kind}:")]
    return float(found) / 1024


def in_a_process(
    surveys: str, size: tuple[int, int], interactions: bool, source: str | None
) -> dict[str, float]:
    """Measure in a process of its own, with another version's source if one is given."""
    environment = dict(os.environ) | ({} if source is None else {"PYTHONPATH": source})
    arguments = [surveys, "-", "--one", str(size[0]), str(size[1]), str(int(interactions))]
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, check=True, capture_output=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare(surveys: str, size: tuple[int, int], before: str | None) -> dict[str, Any]:
    """Return what straight lines and products take at one size."""
    found: dict[str, Any] = {"rows": size[0], "columns": size[1]}
    if before is not None:
        found["straight_lines_before"] = in_a_process(surveys, size, False, before)
    found["straight_lines"] = in_a_process(surveys, size, False, None)
    found["with_products"] = in_a_process(surveys, size, True, None)
    own = found["with_products"]
    for name in ("straight_lines_before", "straight_lines"):
        if name in found:
            seconds = found[name]["fit"] + found[name]["draws"]
            found[f"over_{name}"] = round((own["fit"] + own["draws"]) / seconds, 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("surveys")
    parser.add_argument("result")
    parser.add_argument("--before")
    parser.add_argument("--sizes", type=int, nargs="+", default=range(len(SIZES)))
    parser.add_argument("--one", type=int, nargs=3)
    options = parser.parse_args()
    if options.one:
        n_rows, n_columns, interactions = options.one
        whole = load_survey_folder(Path(options.surveys) / SURVEY).table
        table = hide(whole, n_rows, n_columns, np.random.default_rng(0))
        print(json.dumps(measure(table, bool(interactions))))
        return
    path = Path(options.result)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    for place in options.sizes:
        new = compare(options.surveys, SIZES[place], options.before)
        print(new, flush=True)
        kept = [one for one in kept if (one["rows"], one["columns"]) != SIZES[place]] + [new]
        kept.sort(key=lambda one: (one["rows"], one["columns"]))
        path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
