"""Products found question by question, put together: which question responds to which.

An interaction of x and z in y also shows in the regressions of x and of z. Only one of the three
is taken as the response. Its regression has the product; x and z are not regressed on it, but
drawn by how well they fit it (substantive-model-compatible imputation, Bartlett et al. 2015). So
the response's regression and those of its sources are one joint distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabsoda.engine.regressions.design import Design
from tabsoda.engine.regressions.terms import Places, Terms, group_products

# Evidence for another response that is not this many times as strong leaves the later question the
# response: questionnaires ask for causes first.
_ALIKE = 3.0
# A question that more responses decide on is regressed on the weaker ones, as on other questions.
_MOST_RESPONSES = 3


@dataclass(frozen=True)
class Relation:
    """A response and the questions whose product it depends on.

    Attributes
    ----------
    response : int
        Position of the question.
    sources : tuple of int
        Positions of two or three questions, in order; the same twice is a curve.
    products : tuple of tuple of int
        Products as columns of the design, three places each, -1 where a product is of two.
    statistic : float
        The largest score statistic.
    """

    response: int
    sources: tuple[int, ...]
    products: tuple[tuple[int, ...], ...]
    statistic: float

    @property
    def questions(self) -> tuple[int, tuple[int, ...]]:
        """Response and sources, by which relations of several screens are compared."""
        return self.response, self.sources


def directed(relations: list[Relation], incomplete: frozenset[int]) -> list[Relation]:
    """Keep one response per set of questions, so that no two questions are drawn by each other.

    The response is the last question among those with about the strongest evidence.
    """
    groups: dict[frozenset[int], list[Relation]] = {}
    for one in relations:
        groups.setdefault(frozenset((one.response, *one.sources)), []).append(one)
    strength = {key: max(one.statistic for one in group) for key, group in groups.items()}
    drawn_by: set[tuple[int, int]] = set()
    kept = []

    def rank(key: frozenset[int]) -> tuple[bool, float, list[int]]:
        complete = not any(one.response in incomplete for one in groups[key])
        return complete, -strength[key], sorted(key)

    for key in sorted(groups, key=rank):

        def preference(one: Relation, strongest: float = strength[key]) -> tuple[bool, float]:
            weak = _ALIKE * one.statistic < strongest
            return weak, -one.statistic if weak else -one.response

        for one in sorted(groups[key], key=preference):
            if not any((one.response, source) in drawn_by for source in one.sources):
                drawn_by |= {(source, one.response) for source in one.sources}
                kept.append(one)
                break
    return kept


@dataclass
class Factors:
    """The relations accepted so far, and which questions are drawn by which responses.

    Attributes
    ----------
    forced : tuple of tuple of int
        Questions whose products are in every regression but their own.
    incomplete : frozenset of int
        Questions of which enough answers are missing that it matters how they are drawn.
    barred : ndarray of bool, shape (d, d), or None
        True at (question, predictor) if the question must not be regressed on that predictor.
    accepted : list of Relation
    drawn_by : dict of int to set of int
        Per question, the responses that it is drawn by instead of being regressed on them.
    """

    forced: tuple[tuple[int, ...], ...] = ()
    incomplete: frozenset[int] = frozenset()
    barred: NDArray[np.bool_] | None = None
    accepted: list[Relation] = field(default_factory=list)
    drawn_by: dict[int, set[int]] = field(default_factory=dict)

    def update(self, found: list[Relation]) -> bool:
        """Take the relations of a screen; return whether anything has changed.

        If u affects a response y that is curved in x, then the regression of u on y and x is
        curved in x too. So a relation that shares a source with a stronger response is accepted
        only if it is found again once its response is drawn by, not regressed on, the stronger one.
        """
        before = {one.questions for one in self.accepted}
        ranked = sorted(
            directed(found, self.incomplete), key=lambda one: (-one.statistic, one.questions)
        )
        self.accepted, changed = [], False
        for place, one in enumerate(ranked):
            drawn = self.incomplete & set(one.sources)
            rivals = {
                other.response
                for other in ranked[:place]
                if other.response not in (one.response, *one.sources)
                and drawn & set(other.sources)
                and one.response not in self.drawn_by.get(other.response, ())
            }
            new = rivals - self.drawn_by.get(one.response, set())
            if new and self._draw_by(one.response, new):
                changed = True
                continue
            self.accepted.append(one)
            for source in drawn:
                self._draw_by(source, {one.response})
        return changed or before != {one.questions for one in self.accepted}

    def _draw_by(self, question: int, responses: set[int]) -> bool:
        """Let a question be drawn by responses, unless that makes them too many."""
        wanted = self.drawn_by.get(question, set()) | responses
        if len(wanted) > _MOST_RESPONSES:
            return False
        self.drawn_by[question] = wanted
        return True

    def terms(self, predictors: dict[int, Places], design: Design) -> dict[int, Terms]:
        """Return the terms of every regression.

        Parameters
        ----------
        predictors : dict of int to ndarray of int64
            Per question, the columns of the design it is regressed on without relations.
        design : Design
        """
        given = self.given_terms(predictors, design)
        found = {}
        for p, terms in given.items():
            own = [one for one in self.accepted if one.response == p]
            sources = [design.places(q) for one in own for q in one.sources]
            places = np.unique(np.concatenate([terms.places, *sources]))
            products = {product for one in own for product in one.products}
            products |= set(map(tuple, terms.products.tolist()))
            rows = np.array(sorted(products), dtype=np.int64).reshape(-1, 3)
            found[p] = Terms(places.astype(np.int64), rows)
        return found

    def given_terms(self, predictors: dict[int, Places], design: Design) -> dict[int, Terms]:
        """Return the terms of every regression without relations that were found."""
        blocks = {q: answer_places(design, q) for group in self.forced for q in group}
        given = {}
        for p, places in predictors.items():
            apart = self.drawn_by.get(p, set())
            groups = [
                group
                for group in self.forced
                if not {p, *apart} & set(group)
                and (self.barred is None or not self.barred[p, list(group)].any())
            ]
            sources = [design.places(q) for group in groups for q in group]
            places = np.unique(np.concatenate([places, *sources])).astype(np.int64)
            places = places[~np.isin(design.column_of[places], sorted(apart))]
            products = [group_products(blocks, group) for group in groups]
            given[p] = Terms.plain(places)
            if products:
                given[p] = Terms(places, np.unique(np.concatenate(products), axis=0))
        return given

    def responses(self, terms: dict[int, Terms], design: Design) -> dict[int, tuple[int, ...]]:
        """Return, per question, the responses by which it is drawn: those regressed on it."""
        regressed_on = {p: set(design.column_of[own.places].tolist()) for p, own in terms.items()}
        return {
            q: tuple(r for r in sorted(of) if q in regressed_on.get(r, ()))
            for q, of in self.drawn_by.items()
        }


def answer_places(design: Design, question: int) -> NDArray[np.intp]:
    """Return the columns of a question without the indicator of its skip."""
    own = design.places(question)
    return own[:-1] if design.has_skips[question] else own
