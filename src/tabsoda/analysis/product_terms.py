"""Products and curves of a model that the draws were made without."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable
from functools import reduce
from itertools import combinations, product
from typing import TYPE_CHECKING

from tabsoda.analysis.variables import column_names, find_variable
from tabsoda.analysis.where import named_column
from tabsoda.event_texts.template import product_text
from tabsoda.schema.column import ColumnKind

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# Names whose product a part of a formula contains, each as often as it occurs, in order.
Term = tuple[str, ...]

_SPLINES = ("bs", "cc", "cr")
# Functions of patsy that only shift and scale.
_LINEAR = ("I", "center", "scale", "standardize")
_PRODUCTS = (ast.Mult, ast.BitAnd, ast.BitOr)
# Draws have products of at most this many questions, and powers up to the same number.
_MOST_QUESTIONS = 3


def unknown_products(
    result: Imputations, formula: str, chosen_by: tuple[str, ...] = ()
) -> str | None:
    """Return a warning about the terms of a formula that the draws were made without.

    Parameters
    ----------
    result : Imputations
    formula : str
        Checked before.
    chosen_by : tuple of str
        Columns of a subset or of groups. A model within them has the product of each of its terms
        with these columns.

    Returns
    -------
    str or None
        None if there is no such term, if nothing in it is imputed, or if draws do not come from
        regressions.
    """
    outcomes, terms = _formula_terms(formula, column_names(result))
    products = [term for term in terms if len(term) > 1]
    inside = [name for name in chosen_by if name not in outcomes]
    within = [
        tuple(sorted((*term, name)))
        for term in terms
        for name in inside
        if name not in term and len(term) < _MOST_QUESTIONS
    ]
    return _unknown(result, outcomes, products, [*within, *_pairs(inside)], chosen_by)


def unknown_in_subset(
    result: Imputations, outcomes: tuple[str, ...], chosen_by: tuple[str, ...]
) -> str | None:
    """Return a warning about a mean, share or quantile in a subset by several columns.

    A subset by one column needs only the effect of that column, which draws always have. One by
    two, such as women above 60, needs their product.

    Parameters
    ----------
    result : Imputations
    outcomes : tuple of str
        What is estimated.
    chosen_by : tuple of str
        Columns of the subset and of groups.
    """
    inside = [name for name in chosen_by if name not in outcomes]
    return _unknown(result, outcomes, [], _pairs(inside), chosen_by)


def _pairs(names: list[str]) -> list[Term]:
    return [tuple(sorted(pair)) for pair in combinations(names, 2)]


def _unknown(
    result: Imputations,
    outcomes: tuple[str, ...],
    products: list[Term],
    within: list[Term],
    chosen_by: tuple[str, ...],
) -> str | None:
    """Return the warning about products of a formula and those that a subset implies."""
    settings = result.settings
    # Of the paper's engine, and of draws from the network alone, nobody chose the terms.
    if "em" in settings or settings.get("draws", {}).get("method") != "refitted":
        return None
    wanted = dict.fromkeys(_without_levels(result, term) for term in (*products, *within))
    unknown = [
        term
        for term in wanted
        if len(term) > 1
        and any(find_variable(result, name).is_imputed for name in (*outcomes, *term))
        and not _is_known(result, outcomes, term)
    ]
    if not unknown:
        return None
    text = _warning(result, outcomes, unknown)
    named = {_without_levels(result, term) for term in products}
    if all(term in named for term in unknown):
        return text
    columns = _listed(chosen_by)
    return (
        f"Estimates within a subset or groups by {columns} depend on interactions with {columns}."
        f" {text}"
    )


def formula_products(formula: str, columns: Collection[str]) -> tuple[tuple[str, ...], list[Term]]:
    """Return the columns of the outcome, and the products and powers on the right-hand side.

    Parameters
    ----------
    formula : str
    columns : collection of str
        The known names; others are those of contrasts.

    Examples
    --------
    >>> formula_products("log(y) ~ a * b + I(a ** 2) + bs(c, df=4) + C(d, Sum)", set("abcdy"))
    (('y',), [('a', 'b'), ('a', 'a'), ('c', 'c')])
    """
    outcomes, terms = _formula_terms(formula, columns)
    return outcomes, [term for term in terms if len(term) > 1]


def _formula_terms(formula: str, columns: Collection[str]) -> tuple[tuple[str, ...], list[Term]]:
    """Return the columns of the outcome, and all terms of the right-hand side."""
    import patsy

    known = set(columns)

    described = patsy.ModelDesc.from_formula(formula)
    found: dict[Term, None] = {}
    for term in described.rhs_termlist:
        factors = [sorted(_products(ast.parse(one.code, mode="eval").body)) for one in term.factors]
        for parts in product(*factors):
            names = [name for part in parts for name in part if name in known]
            found[tuple(sorted(names))] = None
    codes = [one.code for term in described.lhs_termlist for one in term.factors]
    outcomes = [name for code in codes for name in _names(ast.parse(code, mode="eval").body)]
    outcomes = [name for name in dict.fromkeys(outcomes) if name in known]
    return tuple(outcomes), [term for term in found if term]


def _products(node: ast.expr) -> set[Term]:
    """Return the products of columns in an expression, as if it were multiplied out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _PRODUCTS):
        return _multiplied([_products(node.left), _products(node.right)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = node.right.value if isinstance(node.right, ast.Constant) else 1
        # Roots and inverses are functions like a logarithm.
        times = power if isinstance(power, int) and power > 1 else 1
        return _multiplied([_products(node.left)] * min(times, _MOST_QUESTIONS))
    if isinstance(node, ast.BinOp):
        return _products(node.left) | _products(node.right)
    if isinstance(node, ast.UnaryOp):
        return _products(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        if node.func.id in _LINEAR:
            return _products(node.args[0])
        if node.func.id in _SPLINES:
            return _multiplied([_products(node.args[0])] * 2)
    # A function or a comparison: of its columns, but not a product of them.
    return {(name,) for name in _names(node)} or {()}


def _multiplied(factors: list[set[Term]]) -> set[Term]:
    """Multiply sums of products; higher powers of a name than draws have are cut."""

    def times(one: Term, other: Term) -> Term:
        counts = Counter(one + other)
        return tuple(
            sorted(name for name in counts for _ in range(min(counts[name], _MOST_QUESTIONS)))
        )

    return reduce(
        lambda left, right: {times(one, other) for one, other in product(left, right)}, factors
    )


def _names(node: ast.AST) -> list[str]:
    """Return the columns in an expression."""
    name = named_column(node) if isinstance(node, ast.expr) else None
    if name is not None:
        return [name]
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.Call):
        children = [*node.args, *(keyword.value for keyword in node.keywords)]
    return [found for child in children for found in _names(child)]


def _without_levels(result: Imputations, term: Term) -> Term:
    """Return a term in which questions without a curve occur once, and others three times at most.

    The square of an indicator is the indicator.
    """
    kept: list[str] = []
    for name, times in Counter(term).items():
        column = find_variable(result, name).column
        has_curve = column.kind is not ColumnKind.NOMINAL and column.n_levels != 2
        kept += [name] * (min(times, _MOST_QUESTIONS) if has_curve else 1)
    while len(kept) > max(_MOST_QUESTIONS, len(set(kept))):
        kept.remove(Counter(kept).most_common(1)[0][0])
    return tuple(sorted(kept))


def _is_known(result: Imputations, outcomes: tuple[str, ...], term: Term) -> bool:
    """Return whether draws have a term: requested, or found among the same questions.

    An interaction of three questions shows in the regression of each; draws have it once.
    """
    wanted = Counter(term)
    for requested in _questions(result, "interaction_requested"):
        if wanted <= Counter(requested[1:]) and not set(outcomes) & set(requested):
            return True
    for response, *sources in _questions(result, "interaction_in_draws"):
        if response in outcomes and wanted <= Counter(sources):
            return True
        if any({response, *sources} == {outcome, *term} for outcome in outcomes):
            return True
    return False


def _questions(result: Imputations, kind: str) -> list[list[str]]:
    """Return response and questions of the terms of one kind; the response may be empty."""
    return [
        [str(event.column or ""), *map(str, event.counts["questions"])]
        for event in result.events
        if event.kind == kind
    ]


def _warning(result: Imputations, outcomes: tuple[str, ...], terms: list[Term]) -> str:
    """Write the warning: which terms, what follows, and the option that adds them."""
    shown = _listed([product_text(term) for term in terms])
    text = (
        f"The draws were made without {shown} in the regression of {_listed(outcomes)}, neither"
        " found in the answers nor requested. If there is such an effect, its estimate is biased"
        " towards 0."
    )
    questions = set(result.table.names)
    able = [term for term in terms if set(term) <= questions and len(term) <= _MOST_QUESTIONS]
    # A product of three questions includes those of two.
    able = [term for term in able if not any(Counter(term) < Counter(more) for more in able)]
    if able:
        asked = [":".join(term) for term in able]
        options = " ".join(f"--interaction {text}" for text in asked)
        text += f" To include it, impute again with interactions={asked!r} ({options})."
    others = sorted({name for term in terms for name in term} - questions)
    if others:
        text += f" Draws do not depend on {_listed(others)}: not a question."
    return text


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
