"""Try whether products that the screen does not find can be kept in other ways.

    python benchmarks/coverage/weak_products.py RECORDS FIRST LAST
    python benchmarks/coverage/weak_products.py RECORDS --table

The samples have other numbers than those of ``interactions.py``. The regressions of "fast" alone
draw, from random donors as a start. After the screen, the twelve most promising products of
questions that are themselves related to the answer are tested given the products found. "Some
draws": each regression has a product with its posterior probability, from a prior probability of
.1 and a normal prior whose standard deviation is three standard errors. "All draws": products
beyond two standard errors. ``--table`` writes ``weak_products.json``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import interactions
import numpy as np
from interaction_methods import METHODS, N_DRAWS, Array, Method, analysed_terms, random_donors
from interaction_populations import NAMES, Population
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.engine.interactions import forced_questions
from tabsoda.engine.presets import quality_settings
from tabsoda.engine.regressions import chained_regressions
from tabsoda.engine.regressions.chain import Chain, Regression, _related
from tabsoda.engine.regressions.question_regression import (
    LevelRegression,
    fit_levels,
    fit_number,
)
from tabsoda.engine.regressions.relations import answer_places
from tabsoda.engine.regressions.score_tests import (
    fit_scores,
    product_statistics,
    score_statistics,
)
from tabsoda.engine.regressions.screen import Screen
from tabsoda.engine.regressions.terms import Terms, multiply
from tabsoda.table import CodedTable

RESULT = Path(__file__).with_name("weak_products.json")
FIRST_NUMBER = 5000
CANDIDATES = 12
PRIOR, PRIOR_SPREAD = 0.1, 3.0
LEAST_PROBABILITY = 0.02


def in_some_draws(statistics: Array, n_tests: int) -> Array:
    """Return posterior probabilities of products, given squared standard scores."""
    variance = PRIOR_SPREAD**2
    exponent = np.minimum(statistics / 2 * variance / (1 + variance), 300)
    factor = np.exp(exponent) / np.sqrt(1 + variance) / n_tests
    return PRIOR * factor / (1 - PRIOR + PRIOR * factor)


def in_all_draws(statistics: Array, n_tests: int) -> Array:
    """Return 1 for products beyond two standard errors, else 0."""
    return (statistics > 4).astype(np.float64)


class WeakChain(Chain):
    """A chain whose regressions also have products that the screen did not find."""

    def find_relations(self, positions: Any, barred: Any, generator: Any) -> None:
        """Find relations, then weak products."""
        super().find_relations(positions, barred, generator)
        self.weak: dict[int, Array] = {}
        for p in positions:
            if self.incomplete[p] and self.table.states.answered[:, p].sum() >= 100:
                self._add_weak(p, barred)
        self.models = {}
        FOUND.append(sum(float(one.sum()) for one in self.weak.values()))

    def _add_weak(self, p: int, barred: NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(self.table.states.answered[:, p])
        matrix, answers = self.matrix[rows], self.table.values[rows, p]
        terms, column = self.terms[p], self.table.columns[p]
        questions = np.unique(self.design.column_of[terms.places]).tolist()
        blocks = {q: answer_places(self.design, q) for q in questions if not barred[p, q]}
        related = _related(matrix, answers, blocks, column)
        blocks = {q: own for q, own in blocks.items() if q in related}
        curved = {q for q in blocks if self.design.is_scale(q)}
        known = ~self.table.states.missing[np.ix_(rows, self.design.column_of)]
        screen = Screen(column, answers, matrix, known, blocks, curved, related)
        if not blocks or not screen._allowed[0].size:
            return
        predictors = terms.of(matrix)
        scores = fit_scores(column, predictors, answers)
        first, second = screen._allowed
        quick = product_statistics(scores, screen._bounded, screen._bounded)[first, second]
        best = np.argsort(-quick, kind="stable")[:CANDIDATES]
        pairs = np.column_stack([screen._places[first[best]], screen._places[second[best]]])
        products = np.column_stack([pairs, np.full(best.size, -1)])
        new = [tuple(one) not in set(map(tuple, terms.products)) for one in products]
        products = products[new]
        if not len(products):
            return
        columns, known = multiply(matrix, products), screen._known(products)
        statistics = score_statistics(scores, predictors, columns, known).max(axis=1)
        probabilities = RULE[0](statistics, scores.residuals.shape[1])
        kept = probabilities > LEAST_PROBABILITY
        if kept.any():
            self.weak[p] = probabilities[kept]
            self.terms[p] = Terms(terms.places, np.concatenate([terms.products, products[kept]]))

    def _fit(self, p: int, generator: np.random.Generator) -> Regression:
        weak = getattr(self, "weak", {}).get(p)
        if weak is None:
            return super()._fit(p, generator)
        rows, size = self._answered_rows[p], self.terms[p].size
        kept = np.ones(size, dtype=bool)
        kept[size - weak.size :] = generator.random(weak.size) < weak
        asked = self.terms[p].of(self.matrix, rows)[:, kept]
        answers, column = self.table.values[rows, p], self.table.columns[p]
        if not column.is_categorical:
            number = fit_number(asked, answers, None, generator, self.row_share)
            slopes = np.zeros(size + 1)
            slopes[np.append(kept, True)] = number.slopes
            return replace(number, slopes=slopes)
        near = self.models.get(p)
        if isinstance(near, LevelRegression):
            near = replace(near, slopes=near.slopes[kept])
        levels = fit_levels(column, asked, answers, None, generator, near, self.row_share)
        of_levels = np.zeros((size, levels.slopes.shape[1]))
        of_levels[kept] = levels.slopes
        return replace(levels, slopes=of_levels)


RULE: list[Any] = [None]
FOUND: list[float] = []


@contextmanager
def weak_chain(rule: Any) -> Iterator[None]:
    """Let regressions be fitted with another rule for weak products."""
    usual = chained_regressions.Chain
    RULE[0] = rule
    chained_regressions.Chain = WeakChain  # type: ignore[misc]
    try:
        yield
    finally:
        chained_regressions.Chain = usual  # type: ignore[misc]


def draw(seen: CodedTable, seed: int, forced: Any = (), interactions: bool = True) -> list[Array]:
    """Draw from the regressions alone."""
    generator, states = numpy_generator(seed, "hot deck"), seen.states
    filled = random_donors(seen, generator)
    chosen = quality_settings("fast", *seen.shape).regressions
    d = seen.shape[1]
    chained = chained_regressions.ChainedRegressions.fit(
        seen, filled, list(range(d)), np.zeros((d, d), dtype=bool), n_sets=chosen.sets,
        rounds=chosen.rounds, max_questions=chosen.max_questions, seed=seed, first_rounds=3,
        row_share=chosen.row_share, interactions=interactions, forced=forced,
    )  # fmt: skip
    draws = []
    for number in range(1, N_DRAWS + 1):
        noise = [generator.random(seen.shape) for _ in range(chosen.sweeps)]
        drawn = chained.redraw(filled, states.missing, states.skipped, number, noise)
        draws.append(np.where(states.skipped, np.nan, drawn))
    return draws


def with_rule(rule: Any) -> Method:
    """Return a method whose regressions keep weak products by a rule."""

    def impute(seen: CodedTable, seed: int, people: Population) -> list[Array]:
        with weak_chain(rule):
            return draw(seen, seed)

    return impute


def with_named_terms(seen: CodedTable, seed: int, people: Population) -> list[Array]:
    """Draw with the products and curves of the analyses."""
    return draw(seen, seed, forced_questions(analysed_terms(people), seen.columns))


TRIED: dict[str, Method] = {
    "screened products": lambda seen, seed, people: draw(seen, seed),
    "some draws": with_rule(in_some_draws),
    "all draws": with_rule(in_all_draws),
    "terms named": with_named_terms,
    "straight lines": lambda seen, seed, people: draw(seen, seed, interactions=False),
}


def main() -> None:
    records, surveys = Path(sys.argv[1]), Path(os.environ.get("TABSODA_SURVEYS", "surveys"))
    lines = records.read_text().splitlines() if records.exists() else []
    found = [json.loads(line) for line in lines]
    if sys.argv[2] == "--table":
        rows = interactions.summary(found, surveys)
        for row in rows:
            own = [
                one["weak_products"]
                for one in found
                if (one["method"], one["population"]) == (row["method"], row["population"])
            ]
            row["weak_products"] = round(float(np.mean(own)), 2)
        RESULT.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        return
    METHODS.update(TRIED)
    done = {(one["population"], one["number"], one["method"]) for one in found}
    for number in range(FIRST_NUMBER + int(sys.argv[2]), FIRST_NUMBER + int(sys.argv[3])):
        for name in NAMES:
            for method in ("complete data", *TRIED):
                if (name, number, method) in done:
                    continue
                FOUND.clear()
                case = (name, "mar", 1000, 0.3, number, method)
                record = interactions.replicate(*case, surveys)
                record["weak_products"] = sum(FOUND)
                with records.open("a") as file:
                    file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
