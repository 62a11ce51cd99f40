"""Formulas taken apart: terms, each a product of factors, to be written in other languages."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tabsoda.analysis.where import named_column
from tabsoda.errors import InputError

# Functions that have another name in R or Stata are changed there.
FUNCTIONS = ("abs", "exp", "expm1", "log", "log10", "log1p", "log2", "maximum", "minimum", "sqrt")
OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
SIGNS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


@dataclass(frozen=True)
class Factor:
    """A factor of a term.

    Attributes
    ----------
    column : str or None
        The column, for ``X``, ``C(X)`` and ``C(X, Treatment(1))``; None for other expressions.
    is_wrapped : bool
        Whether it is in ``C()``.
    reference : str, int, float or None
        The reference level in ``Treatment()``.
    node : ast.expr
    """

    column: str | None
    is_wrapped: bool
    reference: str | int | float | None
    node: ast.expr

    @property
    def text(self) -> str:
        """The factor as it stands in the formula."""
        return ast.unparse(self.node)


@dataclass(frozen=True)
class Formula:
    """A formula taken apart.

    Attributes
    ----------
    outcome : Factor
    terms : tuple of tuple of Factor
        Without the intercept.
    has_intercept : bool
    """

    outcome: Factor
    terms: tuple[tuple[Factor, ...], ...]
    has_intercept: bool


def take_apart(formula: str, program: str) -> Formula:
    """Return the terms of a checked formula.

    Parameters
    ----------
    formula : str
    program : str
        For messages: the program whose code cannot contain a term.

    Examples
    --------
    >>> found = take_apart("log(INCOME) ~ AGE * C(SEX, Treatment(2))", "R")
    >>> [[factor.text for factor in term] for term in found.terms]
    [['AGE'], ['C(SEX, Treatment(2))'], ['AGE', 'C(SEX, Treatment(2))']]
    >>> found.terms[1][0].reference
    2
    """
    import patsy

    described = patsy.ModelDesc.from_formula(formula)
    outcome = described.lhs_termlist[0].factors[0].code
    terms = [term.factors for term in described.rhs_termlist]
    return Formula(
        _factor(outcome, program),
        tuple(tuple(_factor(factor.code, program) for factor in term) for term in terms if term),
        any(not term for term in terms),
    )


def _factor(code: str, program: str) -> Factor:
    node = ast.parse(code, mode="eval").body
    column = named_column(node)
    if column is not None:
        return Factor(column, False, None, node)
    if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "C"):
        return Factor(None, False, None, node)
    inside = named_column(node.args[0])
    rest = [*node.args[1:], *(one.value for one in node.keywords if one.arg == "contrast")]
    if inside is None or len(rest) + 1 < len(node.args) + len(node.keywords) or len(rest) > 1:
        raise cannot_be_written(node, program)
    return Factor(inside, True, _reference(rest[0], node, program) if rest else None, node)


def _reference(contrast: ast.expr, node: ast.expr, program: str) -> str | int | float | None:
    """Return the reference level of ``Treatment(level)``."""
    if isinstance(contrast, ast.Name) and contrast.id == "Treatment":
        return None
    if isinstance(contrast, ast.Call) and getattr(contrast.func, "id", "") == "Treatment":
        given = [*contrast.args, *(one.value for one in contrast.keywords)]
        if not given:
            return None
        try:
            value = ast.literal_eval(given[0])
        except ValueError:
            value = None
        if isinstance(value, str | int | float):
            return value
    raise cannot_be_written(node, program)


def cannot_be_written(node: ast.AST, program: str) -> InputError:
    """Return the error for a part of a formula that has no equal in a program."""
    return InputError(
        f"A term of the formula cannot be written in {program}",
        found=ast.unparse(node),
        expected="columns, C(), I(), arithmetic, comparisons, "
        + ", ".join(one for one in FUNCTIONS),
        next_step="Use the Python code, which takes every formula",
    )
