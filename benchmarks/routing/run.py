"""What following the rules costs, against the fixed mask, on a survey with its mined rules.

    python benchmarks/routing/run.py [--survey NAME] [--rows N] [--draws M] [--steps N]

Writes results.json next to this file: numbers only, no data. The surveys are looked for in
``../shared/surveys`` next to the checkout, or in TABSODA_SURVEYS. Two runs: the file as it is, and
with a tenth of the gates' answers hidden together with what depends on them.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from tabsoda._internal.files import write_json
from tabsoda.imputed_cells import ImputedCells
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.settings import PaperSettings
from tabsoda.reading import read_survey
from tabsoda.routing.following import GateFollowingImputer
from tabsoda.routing.route_model import RouteModels
from tabsoda.routing.routes import gate_routes, sorted_descendants
from tabsoda.skips.checking import check
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.rule_set import RuleSet
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

HERE = Path(__file__).resolve().parent
_HIDDEN_SHARE = 0.1


def surveys_folder() -> Path:
    default = HERE.parents[2] / "shared" / "surveys"
    return Path(os.environ.get("TABSODA_SURVEYS", default))


def hide_gates(table: CodedTable, rules: RuleSet) -> CodedTable:
    """Lose answers of gates, and with each whatever depends on it."""
    generator = np.random.default_rng(0)
    below = sorted_descendants(rules, table)
    hidden = np.zeros(table.shape, dtype=bool)
    for position in gate_routes(rules, table):
        rows = generator.random(table.shape[0]) < _HIDDEN_SHARE
        hidden[np.ix_(rows, [position, *below[position]])] = True
    return table.with_states(table.states.hide(hidden & table.states.answered))


def completed(table: CodedTable, cells: ImputedCells, imputed: Any) -> CodedTable:
    """Return a draw as a reader of its file sees it: only skips known from codes are marked."""
    values = table.values.copy()
    values[cells.rows, cells.positions] = imputed
    answered, states = ~np.isnan(values), table.states
    new = CellStates.from_masks(answered, states.skipped, states.names, states.reasons)
    return CodedTable(table.columns, values, new)


def measure(table: CodedTable, rules: RuleSet, draws: int, steps: int) -> dict[str, Any]:
    marked = table.with_states(rules.apply(table))
    seconds: dict[str, float] = {}

    def timed(name: str, work: Any) -> Any:
        start = time.perf_counter()
        result = work()
        seconds[name] = round(time.perf_counter() - start, 1)
        return result

    settings = PaperSettings.preset("small").replace(training={"max_steps": steps})
    engine = timed("fit_engine", lambda: PaperEngine.fit(marked, settings, seed=1, device="cpu"))
    models = timed("fit_routes", lambda: RouteModels.fit(marked, rules))
    timed("impute_keep", lambda: engine.impute(marked, draws))
    follower = GateFollowingImputer(engine, rules, models)
    cells, record = timed("impute_follow", lambda: follower.impute(marked, draws))
    before = check(table, rules)
    violations, unexplained = [], []
    for imputed in cells.draws:
        whole = completed(table, cells, imputed)
        found = check(whole, rules)
        violations.append(found.n_answered_although_skipped)
        unexplained.append(found.totals["unexplained"] + found.totals["declined"])
    facts = record.to_dict()
    return {
        "missing": int(marked.states.missing.sum()),
        "incomplete_rows": int(marked.states.missing.any(axis=1).sum()),
        "seconds": seconds,
        "impute_follow_over_keep": round(seconds["impute_follow"] / seconds["impute_keep"], 2),
        "violations_observed": before.n_answered_although_skipped,
        "violations_in_draws": violations,
        "unexplained_in_draws": unexplained,
        "left_missing": record.n_left_missing,
        "left_missing_by_column": facts["left_missing"],
        **{key: facts[key] for key in ("gates", "followers", "withheld", "skipped")},
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--survey", default="nsfg2006_2010_male")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    chosen = parser.parse_args()
    folder = surveys_folder() / chosen.survey
    table = read_survey(folder / "values.parquet", folder / "schema.json").table
    table = table.rows(np.arange(min(chosen.rows, table.shape[0])))
    mined = SkipMiner().mine(table)
    rules = RuleSet.from_mined(mined, table.columns)
    result = {
        "survey": chosen.survey,
        "rows": table.shape[0],
        "variables": table.shape[1],
        "rules": len(rules),
        "gates": len(gate_routes(rules, table)),
        "draws": chosen.draws,
        "training_steps": chosen.steps,
        "as_it_is": measure(table, rules, chosen.draws, chosen.steps),
        "gates_hidden": measure(hide_gates(table, rules), rules, chosen.draws, chosen.steps),
    }
    write_json(HERE / "results.json", result)


if __name__ == "__main__":
    main()
