"""How often the screen finds the products that are there, with few and with many answers missing.

    python benchmarks/coverage/screen_power.py benchmarks/coverage/screen_power.json [SAMPLES]

Samples of 1,000 rows of the populations of ``interactions.py``. 30 % of the answers of the
incomplete questions are hidden (MAR), as in that study, or 6 % (MCAR): about what a screen could
find that lost hardly any answers. A term counts as found if a relation has its questions. ``z`` is
the estimate over its standard error in the complete sample, on average. TABSODA_SURVEYS names the
folder of the surveys.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from interaction_methods import random_donors
from interaction_populations import NAMES, Population, interaction_population
from interactions import NO_EFFECT

from tabsoda._internal.randomness import numpy_generator
from tabsoda.engine.presets import quality_settings
from tabsoda.engine.regressions.fit import RegressionFit
from tabsoda.engine.training_table import TrainingTable
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

SEED = 23
ROWS = 1000
SHARES = {"30 % MAR": ("mar", 0.3), "6 % MCAR": ("mcar", 0.06)}


def main() -> None:
    n_samples = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    surveys = Path(os.environ["TABSODA_SURVEYS"])
    result: dict[str, Any] = {"rows": ROWS, "samples": n_samples, "terms": []}
    for name in NAMES:
        people = interaction_population(name, surveys)
        terms = products_of(people)
        if not terms:
            continue
        found = {term: dict.fromkeys(SHARES, 0) for term in terms}
        strength: dict[str, list[float]] = {term: [] for term in terms}
        for number in range(n_samples):
            values = people.sample(ROWS, numpy_generator(SEED, name, number))
            for term, (_, estimate, variance, _) in people.analyses(values).items():
                if term in terms:
                    strength[term].append(abs(estimate) / variance**0.5)
            for label, (mechanism, share) in SHARES.items():
                relations = relations_in(people, values, mechanism, share, number)
                for term, questions in terms.items():
                    found[term][label] += questions in relations
        for term in terms:
            entry = {
                "population": name,
                "term": term,
                "z": round(float(np.mean(strength[term])), 2),
            }
            entry |= {label: round(n / n_samples, 2) for label, n in found[term].items()}
            result["terms"].append(entry)
            print(entry, flush=True)
        Path(sys.argv[1]).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def products_of(people: Population) -> dict[str, frozenset[str]]:
    """Return the questions of every product and curve of the analyses, by estimate."""
    return {
        name: frozenset([model.outcome, *(factor.partition("=")[0] for factor in term.split(":"))])
        for model in people.models
        for term in model.terms
        if ":" in term and (name := f"{model.outcome} ~ {term}") not in NO_EFFECT
    }


def relations_in(
    people: Population, values: np.ndarray, mechanism: str, share: float, number: int
) -> set[frozenset[str]]:
    """Return the sets of questions of the relations that are found in a sample."""
    generator = numpy_generator(SEED, people.name, mechanism, number)
    hidden = people.hide(values, mechanism, share, generator)
    seen = CodedTable.from_values(
        people.columns, np.where(hidden, np.nan, values), np.isnan(values)
    )
    settings, events = quality_settings("fast", *seen.shape), EventLog()
    training = TrainingTable.build(seen, settings.training.held_out_share, number, events)

    def complete(rows: np.ndarray) -> np.ndarray:
        return random_donors(training.shown.rows(rows), generator)

    fit = RegressionFit.start(training, settings.regressions, number, complete, events)
    chained = fit.for_draws()
    return {
        frozenset(people.names[place] for place in (one.response, *one.sources))
        for one in chained.relations
    }


if __name__ == "__main__":
    main()
