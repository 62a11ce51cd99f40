"""Model formulas, parsed and checked so that a formula cannot execute arbitrary code.

Patsy evaluates the terms of a formula as Python. Every term is checked first: it may contain
columns, constants, arithmetic, comparisons and the functions listed below.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from typing import NoReturn

from tabsoda.analysis.variables import unknown_column
from tabsoda.analysis.where import named_column
from tabsoda.errors import InputError

# Functions of numpy, with or without "np." before them.
NUMERIC = ("abs", "exp", "expm1", "log", "log10", "log1p", "log2", "maximum", "minimum", "sqrt")
CONTRASTS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")
_PATSY = ("C", "I", "Q", "bs", "cc", "center", "cr", "scale", "standardize", *CONTRASTS)
_LARGEST_POWER = 20
_OPERATORS = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.BitAnd,
    ast.BitOr,
)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def check_formula(formula: str, columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns in a formula; raise if it contains anything that is not allowed.

    Parameters
    ----------
    formula : str
    columns : collection of str
        The known names.

    Examples
    --------
    >>> check_formula("I(SMOKES == 1) ~ log(AGE) + Q('a b'):AGE", {"SMOKES", "AGE", "a b"})
    ('SMOKES', 'AGE', 'a b')
    """
    import patsy

    if formula.count("~") != 1 or not all(side.strip() for side in formula.split("~")):
        raise InputError(
            "The formula is not a model", found=formula, expected="outcome ~ term + term"
        )
    try:
        # Parses the formula without evaluating it.
        described = patsy.ModelDesc.from_formula(formula)
        terms = (*described.lhs_termlist, *described.rhs_termlist)
        codes = list(dict.fromkeys(factor.code for term in terms for factor in term.factors))
        trees = [ast.parse(code, mode="eval").body for code in codes]
    except (patsy.PatsyError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(
            "The formula cannot be read",
            found=str(error).splitlines()[0] if str(error) else formula[:80],
            expected="outcome ~ term + term",
            next_step="Write Q('a name') for columns whose names are not plain words",
        ) from error
    names: dict[str, None] = {}
    for tree, code in zip(trees, codes, strict=True):
        _Checker(code, columns, names).check(tree)
    return tuple(names)


def has_moving_knots(formula: str) -> bool:
    """Return whether a spline's knots depend on the data, and so differ between draws.

    Examples
    --------
    >>> has_moving_knots("y ~ bs(x, df=4)"), has_moving_knots("y ~ bs(x, knots=[30, 50])")
    (True, False)
    """
    return any("knots" not in part for part in re.findall(r"\b(?:bs|cr|cc)\(([^)]*)", formula))


def transforms_log(formula: str) -> bool:
    """Return whether the outcome of a formula is a logarithm (coefficients are log ratios).

    Examples
    --------
    >>> transforms_log("np.log(income) ~ age"), transforms_log("income ~ log(age)")
    (True, False)
    """
    return re.match(r"\s*(np\.)?log\(", formula) is not None


class _Checker:
    """Visits one term of a formula and collects its columns."""

    def __init__(self, code: str, columns: Collection[str], names: dict[str, None]) -> None:
        self.code, self.columns, self.names = code, columns, names

    def check(self, node: ast.expr) -> None:
        name = named_column(node)
        if name is not None:
            self._check_name(name)
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, int | float | str | None):
                self._refuse(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            if isinstance(node.op, ast.Pow):
                self._check_power(node.right)
            self.check(node.left)
            self.check(node.right)
        elif isinstance(node, ast.UnaryOp):
            self.check(node.operand)
        elif isinstance(node, ast.Compare) and all(isinstance(o, _COMPARISONS) for o in node.ops):
            for side in (node.left, *node.comparators):
                self.check(side)
        elif isinstance(node, ast.List | ast.Tuple):
            for element in node.elts:
                self.check(element)
        elif isinstance(node, ast.Call):
            self._check_call(node)
        else:
            self._refuse(node)

    def _check_name(self, name: str) -> None:
        if name in self.columns:
            self.names[name] = None
        elif name not in CONTRASTS:
            raise unknown_column(name, self.columns, "the formula")

    def _check_power(self, power: ast.expr) -> None:
        number = power.operand if isinstance(power, ast.UnaryOp) else power
        value = number.value if isinstance(number, ast.Constant) else None
        if not isinstance(value, int | float) or value > _LARGEST_POWER:
            self._refuse(power, f"A power is a number up to {_LARGEST_POWER}")

    def _check_call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute):
            root = function.value
            known = isinstance(root, ast.Name) and root.id == "np" and function.attr in NUMERIC
        else:
            known = isinstance(function, ast.Name) and function.id in (*_PATSY, *NUMERIC)
        if not known or (isinstance(function, ast.Name) and function.id == "Q"):
            self._refuse(node)
        for argument in node.args:
            self.check(argument)
        for keyword in node.keywords:
            if keyword.arg is None:
                self._refuse(node)
            self.check(keyword.value)

    def _refuse(self, node: ast.AST, advice: str | None = None) -> NoReturn:
        part = ast.get_source_segment(self.code, node) or self.code
        raise InputError(
            "The formula contains something that is not allowed",
            found=repr(part[:80]),
            expected="columns, numbers, + - * / **, comparisons, and "
            + ", ".join(sorted({*_PATSY, *NUMERIC}, key=str.lower)),
            next_step=advice,
        )
