"""How many mined rules name the questionnaire's own gate, before and after a change of the miner.

    python benchmarks/miner/true_gates.py [--before PATH] [--surveys NAME ...] [--variants]

``--before`` is a checkout of an earlier version, whose ``src`` is measured first. ``--variants``
measures the settings that were not taken on the public surveys, and nothing else. Writes
true_gates.json next to this file: numbers and names of columns, no data. The gates of the public
surveys are in true_gates.toml; the surveys are looked for as in run.py. Made-up questionnaires,
whose gates are planted, are measured too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
from record import machine

HERE = Path(__file__).resolve().parent
SURVEYS = (
    "nhanes2015_16",
    "nhts2022_person",
    "nyts2019_products",
    "nsfg2006_2010_male",
    "nsduh2023_youth",
    "nlsy97_religion_panel",
)
# Made up: split forms at three rates of item nonresponse, and the survey of the package.
MADE = ("split_forms_0", "split_forms_0.2", "split_forms_3", "embedded")
VARIANTS: dict[str, dict[str, float]] = {
    "exception_cost = 2": {"exception_cost": 2.0},
    "exception_cost = 10": {"exception_cost": 10.0},
    "answer_tolerance = 0.02": {"answer_tolerance": 0.02},
}
# Mining takes seconds, so the shortest of a few runs is what it costs.
REPEATS = 3


Truth = dict[str, dict[str, Any]]


def gates_of(entries: dict[str, list[dict[str, list[str]]]]) -> Truth:
    """Return for each follower its gates, with theirs, and how they are known."""
    direct: dict[str, set[str]] = {}
    known: dict[str, str] = {}
    for how, groups in entries.items():
        for group in groups:
            for follower in group["followers"]:
                direct[follower] = set(group["gates"]) - {follower}
                known[follower] = how
    closed = {}
    for follower in direct:
        found: set[str] = set()
        waiting = set(direct[follower])
        while waiting:
            gate = waiting.pop()
            found.add(gate)
            waiting |= direct.get(gate, set()) - found
        closed[follower] = {"gates": found, "known": known[follower]}
    return closed


def judged(rules: list[dict[str, Any]], truth: Truth) -> dict[str, Any]:
    """Count the rules all of whose columns are gates of their target."""
    counts = {"gate_in_file": [0, 0], "hidden_gate": [0, 0]}
    wrong = []
    unjudged = []
    for rule in rules:
        if rule["target"] not in truth:
            unjudged.append(rule["target"])
            continue
        known = truth[rule["target"]]
        named = {condition["gate"] for path in rule["when"] for condition in path}
        right = named <= known["gates"]
        side = "hidden_gate" if known["known"] == "hidden" else "gate_in_file"
        counts[side][0] += right
        counts[side][1] += 1
        if not right:
            wrong.append(f"{rule['target']}: {', '.join(sorted(named))}")
    return {
        "true": counts["gate_in_file"][0],
        "judged": counts["gate_in_file"][1],
        "true_of_hidden": counts["hidden_gate"][0],
        "hidden": counts["hidden_gate"][1],
        "unjudged": len(unjudged),
        "wrong": wrong,
    }


def public(name: str) -> tuple[Any, Any, Truth]:
    """Return the table of a public survey, its skip mask and its gates."""
    from tabsoda.reading import read_survey

    folder = Path(os.environ.get("TABSODA_SURVEYS", HERE.parents[2] / "shared" / "surveys")) / name
    table = read_survey(folder / "values.parquet", folder / "schema.json").table
    reference = pl.read_parquet(folder / "skip.parquet").select(table.names).to_numpy()
    return table, reference, gates_of(tomllib.loads((HERE / "true_gates.toml").read_text())[name])


def made(name: str) -> tuple[Any, Any, Truth]:
    """Return a made-up table, its skip mask and its gates; other columns have none."""
    from split_forms import split_forms

    from tabsoda.datasets import make_survey

    if name == "embedded":
        survey = make_survey(10_000, 100, seed=2)
        table, reference = survey.table, survey.true_table.states.skipped
        planted = {rule.target: list(rule.gates) for rule in survey.rules}
    else:
        form = split_forms(4000, seed=0, nonresponse=float(name.rpartition("_")[2]) / 100)
        table, reference = form.table, form.mask
        planted = {target: list(gates) for target, gates in form.gates.items()}
    groups = [{"gates": gates, "followers": [target]} for target, gates in planted.items()]
    rest = [column for column in table.names if column not in planted]
    groups.append({"gates": [], "followers": rest})
    return table, reference, gates_of({"planted": groups})


def measure(name: str, changes: dict[str, float] | None = None) -> dict[str, Any]:
    """Mine one survey with the installed version, with some settings changed."""
    from tabsoda.bench.metrics.skip_metrics import skip_metrics
    from tabsoda.skips.miner import SkipMiner
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.skips.settings import MinerSettings

    settings = MinerSettings().replace(purity=changes or {})

    table, reference, truth = made(name) if name in MADE else public(name)
    seconds = []
    for _ in range(REPEATS):
        started = time.process_time()
        mined = SkipMiner(settings).mine(table)
        seconds.append(time.process_time() - started)
    rules = RuleSet.from_mined(mined, table.columns).table()
    cells = skip_metrics(mined.states.skipped, reference, ~table.states.answered)["all_cells"]
    return {
        "survey": name,
        "rules": len(rules),
        "with_rivals": sum(bool(rule.get("rivals")) for rule in rules),
        **judged(rules, truth),
        "precision": round(cells["precision"], 5),
        "recall": round(cells["recall"], 5),
        "cpu_seconds": round(min(seconds), 2),
    }


def run_with(source: Path, name: str) -> dict[str, Any]:
    """Measure a survey with the version of a checkout, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(source / "src")}
    command = [sys.executable, __file__, "--one", "--surveys", name]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(output.stdout)


def totals(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Add up the counts of all surveys."""
    names = ("rules", "with_rivals", "true", "judged", "true_of_hidden", "hidden", "unjudged")
    total = {name: sum(run[name] for run in runs) for name in names}
    total["share_true"] = round(total["true"] / max(total["judged"], 1), 3)
    total["cpu_seconds"] = round(sum(run["cpu_seconds"] for run in runs), 2)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--surveys", nargs="+", default=[*SURVEYS, *MADE])
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.surveys[0])))
        return
    path = HERE / "true_gates.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if options.variants:
        record["variants"] = {name: variant(changes) for name, changes in VARIANTS.items()}
    else:
        compare(options.before, options.surveys, record)
    record["machine"] = machine()
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def variant(changes: dict[str, float]) -> dict[str, Any]:
    """Measure the public surveys with some settings changed."""
    runs = [measure(name, changes) for name in SURVEYS]
    cells = {run["survey"]: [run["precision"], run["recall"]] for run in runs}
    return totals(runs) | {"precision_and_recall": cells}


def compare(before: Path | None, surveys: list[str], record: dict[str, Any]) -> None:
    """Measure this version, and an earlier one where it is given, and put both on record."""
    versions = {"after": HERE.parents[1]}
    if before is not None:
        versions = {"before": before.resolve()} | versions
    # The versions take turns, so that a busy machine slows both.
    runs: dict[str, list[dict[str, Any]]] = {version: [] for version in versions}
    for name in surveys:
        for version, source in versions.items():
            run = run_with(source, name)
            runs[version].append(run)
            print(
                f"{name:24s} {version:7s} true {run['true']:3d} of {run['judged']:3d} "
                f"({run['true_of_hidden']} of {run['hidden']} hidden) "
                f"rivals {run['with_rivals']:3d} "
                f"precision {run['precision']:.4f} recall {run['recall']:.4f} "
                f"{run['cpu_seconds']:.1f} s",
                flush=True,
            )
    for version, new in runs.items():
        known = {run["survey"]: run for run in record.get(version, {}).get("runs", [])}
        known |= {run["survey"]: run for run in new}
        measured = [known[name] for name in (*SURVEYS, *MADE) if name in known]
        real = [run for run in measured if run["survey"] not in MADE]
        invented = [run for run in measured if run["survey"] in MADE]
        record[version] = {"public": totals(real), "made": totals(invented), "runs": measured}


if __name__ == "__main__":
    main()
