"""Violations, accuracy and time with and without edits, on real surveys.

    python benchmarks/edits/edits_on_surveys.py RESULT.json [SURVEY ...] [--quality fast]

A sample of rows; the columns of the edits and the questions around them. A fifth of the answers in
the columns of the edits, and a tenth of the others, are hidden. One fit is imputed twice, with the
edits of the description and without them. Only rows whose observed answers violate no edit before
hiding are counted, because edits cannot help the others. Errors are those of hidden cells in the
columns of the edits, in standard deviations of the answers. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from tabsoda import TabSODAImputer
from tabsoda.datasets.survey_folder import load_survey_folder, surveys_folder
from tabsoda.edits.edit_set import EditSet
from tabsoda.schema import Edit, Schema
from tabsoda.survey import Survey

# Edits by meaning: parts of a household, ages before the age now, counts of a part and a whole.
EDITS = {
    "nhts2022_person": (
        "numadlt + ppt517 + youngchild == hhsize",
        "drvrcnt <= hhsize",
        "wrkcount <= hhsize",
    ),
    "nhanes2015_16": (
        "DMDHHSZA + DMDHHSZB + DMDHHSZE <= DMDHHSIZ",
        "BPD035 <= RIDAGEYR",
        "DID040 <= RIDAGEYR",
        "SMD030 <= RIDAGEYR",
        "SMQ930 <= RIDAGEYR",
    ),
    "nsfg2006_2010_male": (
        "FPAGE <= AGE_R",
        "CWPNUMKD <= BIOKIDS",
        "OTPRGN <= TOTPRG",
        "NCALL <= BIOKIDS",
        "CONFREQ <= SEXFREQ",
    ),
    "nsduh2023_youth": ("IRALCFM <= IRALCFY", "IRMJFM <= IRMJFY"),
}
COLUMNS = 40
DRAWS = 5
HIDDEN_IN_EDITS, HIDDEN_ELSEWHERE = 0.2, 0.1


def chosen_columns(survey: Survey, names: set[str]) -> tuple[str, ...]:
    """Return the columns of the edits, and the questions nearest to them, 40 in all."""
    places = [survey.table.names.index(name) for name in names]
    distance = [min(abs(at - place) for place in places) for at in range(survey.table.shape[1])]
    nearest = sorted(range(len(distance)), key=lambda at: (distance[at], at))[:COLUMNS]
    return tuple(survey.table.names[at] for at in sorted(nearest))


def prepared(name: str, n_rows: int, seed: int) -> tuple[Survey, Survey, EditSet]:
    """Return a survey with hidden answers, the whole one, and its edits."""
    whole = load_survey_folder(surveys_folder() / name)
    rules = tuple(Edit(rule) for rule in EDITS[name])
    edits = EditSet.of(replace(whole.schema, edits=rules), whole.table)
    columns = chosen_columns(whole, set(edits.involved))
    generator = np.random.default_rng(seed)
    clean = ~edits.violated(edits.named(whole.table.values)).any(axis=1)
    answered = whole.states.answered[:, [whole.table.names.index(n) for n in edits.involved]]
    usable = np.flatnonzero(clean & (answered.sum(axis=1) >= 2))
    rows = np.sort(generator.permutation(usable)[:n_rows])
    table = whole.table.select(columns).rows(rows)
    schema = Schema(tuple(whole.schema[n] for n in columns), rules)
    whole = Survey.of_array(table)
    share = np.where(np.isin(columns, edits.involved), HIDDEN_IN_EDITS, HIDDEN_ELSEWHERE)
    hidden = table.states.answered & (generator.random(table.shape) < share)
    seen = Survey.of_array(table.with_states(table.states.hide(hidden)))
    return replace(seen, schema=schema), whole, EditSet.of(schema, table)


def errors(values: np.ndarray, truth: np.ndarray, hidden: np.ndarray, spread: np.ndarray) -> float:
    """Return the mean absolute error of hidden cells in standard deviations."""
    return float(np.nanmean((np.abs(values - truth) / spread)[hidden]))


def measured(name: str, n_rows: int, quality: str, seed: int) -> dict[str, object]:
    seen, whole, edits = prepared(name, n_rows, seed)
    start = time.process_time()
    imputer = TabSODAImputer(quality=quality, random_state=seed).fit(seen)
    fit = time.process_time() - start
    places = [edits.place[n] for n in edits.involved]
    truth, spread = whole.table.values[:, places], np.nanstd(whole.table.values[:, places], axis=0)
    hidden = (whole.states.answered & ~seen.states.answered)[:, places]
    found: dict[str, object] = {
        "survey": name,
        "rows": int(seen.table.shape[0]),
        "columns": int(seen.table.shape[1]),
        "quality": quality,
        "seed": seed,
        "edits": list(EDITS[name]),
        "hidden_cells": int(hidden.sum()),
        "cpu_fit": round(fit, 2),
    }
    for way, own in (
        ("without", EditSet.of(Schema(seen.table.columns), seen.table)),
        ("with", edits),
    ):
        imputer.edits_ = own
        if own:
            imputer.edits_ = EditSet.of(seen.schema, seen.table)
        start = time.process_time()
        result = imputer.impute_survey(seen, DRAWS)
        cpu = time.process_time() - start
        draws = [result.values(number) for number in range(1, DRAWS + 1)]
        violated = [edits.violated(edits.named(one)).sum() for one in draws]
        points = {kind: result.point_values(kind) for kind in ("mode", "median")}
        found[way] = {
            "violations_per_draw": float(np.mean(violated)),
            "violations_in_point_mode": int(edits.violated(edits.named(points["mode"])).sum()),
            "violations_in_point_median": int(edits.violated(edits.named(points["median"])).sum()),
            "error_of_draws": round(
                float(np.mean([errors(one[:, places], truth, hidden, spread) for one in draws])), 4
            ),
            "error_of_means": round(errors(points["mode"][:, places], truth, hidden, spread), 4),
            "error_of_medians": round(
                errors(points["median"][:, places], truth, hidden, spread), 4
            ),
            "cpu_impute": round(cpu, 2),
            "unsatisfied": 0 if result.edits is None else sum(result.edits.unsatisfied.values()),
        }
    cpu = {way: fit + found[way]["cpu_impute"] for way in ("without", "with")}  # type: ignore[index]
    found["cpu_ratio"] = round(cpu["with"] / cpu["without"], 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("result", type=Path)
    parser.add_argument("surveys", nargs="*", default=list(EDITS))
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--quality", default="balanced")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    found = []
    if options.result.is_file():
        # Runs of other surveys are kept, so that they can be made one at a time.
        found = json.loads(options.result.read_text(encoding="utf-8"))
    for name in options.surveys:
        for seed in range(1, options.seeds + 1):
            new = measured(name, options.rows, options.quality, seed)
            keys = ("survey", "quality", "seed")
            found = [one for one in found if any(one[key] != new[key] for key in keys)]
            found.append(new)
            print(json.dumps(new, indent=1), flush=True)
            options.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
