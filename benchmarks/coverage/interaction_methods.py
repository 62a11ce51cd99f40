"""The methods under comparison in the study of interactions."""

from __future__ import annotations

import csv
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from interaction_populations import Population
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.methods.miceforest_adapter import MiceForest
from tabsoda.bench.methods.r_mice import _read, _write
from tabsoda.bench.metrics.coverage import Array
from tabsoda.engine.interactions import forced_questions
from tabsoda.engine.presets import quality_settings
from tabsoda.engine.regressions.fit import RegressionFit
from tabsoda.engine.training_table import TrainingTable
from tabsoda.engines import fit_engine, settings_for
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

N_DRAWS = 10
SCRIPT = Path(__file__).with_name("mice_variants.R")
Method = Callable[[CodedTable, int, Population], list[Array]]


def ours(quality: str, named: bool = False, **changes: dict[str, Any]) -> Method:
    """Draw from the default engine; trees enter point estimates alone, so none are fitted.

    ``named``: the products and curves of the analyses are given as ``interactions``.
    """

    def impute(seen: CodedTable, seed: int, people: Population) -> list[Array]:
        settings = settings_for(quality, *seen.shape, {"trees": {"effort": "none"}, **changes})
        terms = analysed_terms(people) if named else True
        engine = fit_engine(seen, settings, interactions=terms, seed=seed, device="cpu")
        draws = [engine.draw(seen, number) for number in range(1, N_DRAWS + 1)]
        return [np.where(seen.states.skipped, np.nan, one) for one in draws]

    return impute


def regressions_alone(named: bool = False, interactions: bool = True) -> Method:
    """Draw from the regressions of "fast", which start from random donors instead of the network.

    A third of the time of :func:`ours`; ``named`` as there.
    """

    def impute(seen: CodedTable, seed: int, people: Population) -> list[Array]:
        settings = quality_settings("fast", *seen.shape)
        settings = settings.replace(regressions={"interactions": interactions})
        events, generator = EventLog(), numpy_generator(seed, "random donors")
        training = TrainingTable.build(seen, settings.training.held_out_share, seed, events)

        def complete(rows: NDArray[np.int64]) -> Array:
            return random_donors(training.shown.rows(rows), generator)

        fit = RegressionFit.start(training, settings.regressions, seed, complete, events)
        terms = forced_questions(analysed_terms(people), seen.columns) if named else ()
        chained = fit.for_draws(forced=terms)
        missing, skipped = seen.states.missing, seen.states.skipped
        start, draws = random_donors(seen, generator), []
        for number in range(1, N_DRAWS + 1):
            noise = [generator.random(seen.shape) for _ in range(settings.regressions.sweeps)]
            drawn = chained.redraw(start, missing, skipped, number, noise)
            draws.append(np.where(skipped, np.nan, drawn))
        return draws

    return impute


def random_donors(table: CodedTable, generator: np.random.Generator) -> Array:
    """Return a table with an answer of some respondent in every missing cell."""
    filled, states = table.values.copy(), table.states
    for place in range(table.shape[1]):
        donors = table.values[states.answered[:, place], place]
        missing = states.missing[:, place]
        filled[missing, place] = generator.choice(donors, missing.sum())
    return filled


def analysed_terms(people: Population) -> list[tuple[str, ...]]:
    """Return the products and curves of the analyses."""
    terms = (term for model in people.models for term in model.terms)
    questions = (tuple(one.partition("=")[0] for one in term.split(":")) for term in terms)
    return sorted({one for one in questions if len(one) > 1})


def miceforest(seen: CodedTable, seed: int, people: Population) -> list[Array]:
    """Draw by miceforest with its defaults, if it is installed."""
    levels = np.array([column.is_categorical for column in seen.columns])
    drawn = MiceForest(N_DRAWS).draws(seen, seed, SkipView.LEVEL)
    drawn = [np.where(seen.states.answered, seen.values, one) for one in drawn]
    # A skip is a level below the others.
    return [np.where(seen.states.skipped | ((one < 0) & levels), np.nan, one) for one in drawn]


def mice(variant: str) -> Method:
    """Draw by R's mice, version as installed, five iterations."""

    def impute(seen: CodedTable, seed: int, people: Population) -> list[Array]:
        shift = np.array([1.0 if column.is_categorical else 0.0 for column in seen.columns])
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            _write(seen, folder)
            _write_terms(people, folder)
            command = ["Rscript", "--vanilla", str(SCRIPT), place, str(N_DRAWS), "5", variant]
            subprocess.run([*command, str(seed + 1)], check=True, capture_output=True)
            paths = [folder / f"draw_{number}.csv" for number in range(1, N_DRAWS + 1)]
            drawn = [_read(path)[:, : shift.size] - shift for path in paths]
        # Skips are a level of their own, or a blank that mice fills.
        return [
            np.where(seen.states.skipped, np.nan, np.where((one < 0) & (shift > 0), np.nan, one))
            for one in drawn
        ]

    return impute


def _write_terms(people: Population, folder: Path) -> None:
    """Write the products of every model, as its outcome and as its predictors have them."""
    rows = set()
    for model in people.models:
        for term in model.terms:
            factors = [factor.partition("=")[0] for factor in term.split(":")]
            if len(factors) < 2:
                continue
            named = [f"q{people.names.index(factor)}" for factor in factors]
            outcome = f"q{people.names.index(model.outcome)}"
            rows.add((outcome, ":".join(named)))
            if len(set(named)) == len(named):
                for own in named:
                    rows.add((own, ":".join([outcome, *(n for n in named if n != own)])))
    with (folder / "terms.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("column", "term"), *sorted(rows)])


METHODS: dict[str, Method] = {
    "products": regressions_alone(),
    "products, terms named": regressions_alone(named=True),
    "straight lines": regressions_alone(interactions=False),
    "balanced": ours("balanced"),
    "fast": ours("fast"),
    "fast, terms named": ours("fast", named=True),
    "balanced, straight lines": ours("balanced", regressions={"interactions": False}),
    "fast, straight lines": ours("fast", regressions={"interactions": False}),
    "mice": mice("default"),
    "mice, cart": mice("cart"),
    "mice, true products": mice("products"),
    "miceforest": miceforest,
}
