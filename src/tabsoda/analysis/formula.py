"""Model formulas, parsed and checked so that a formula cannot execute arbitrary code.

Patsy evaluates the terms of a formula as Python. Every term is checked first: it may contain
columns, constants, arithmetic, comparisons and the functions listed below.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection
from typing import Any, NoReturn

from tabsoda.analysis.variables import unknown_column
from tabsoda.analysis.where import named_column
from tabsoda.errors import InputError

# Functions of numpy, with or without "np." before them.
NUMERIC = ("abs", "exp", "expm1", "log", "log10", "log1p", "log2", "maximum", "minimum", "sqrt")
CONTRASTS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")
_SPLINE = ("df", "knots", "lower_bound", "upper_bound", "constraints")
_SCALING = ("center", "rescale", "ddof")
# For each function the number of arguments without a name, and the names of the others.
_CALLS: dict[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(NUMERIC, (1, ())),
    "maximum": (2, ()),
    "minimum": (2, ()),
    "C": (3, ("contrast", "levels")),
    "I": (1, ()),
    "Q": (1, ()),
    "bs": (4, ("degree", "include_intercept", *_SPLINE)),
    "cc": (2, _SPLINE),
    "cr": (2, _SPLINE),
    "center": (1, ()),
    "scale": (1, _SCALING),
    "standardize": (1, _SCALING),
    "Diff": (0, ()),
    "Helmert": (0, ()),
    "Poly": (0, ("scores",)),
    "Sum": (1, ("omit",)),
    "Treatment": (1, ("reference",)),
}
_LARGEST_POWER = 20
# Columns of a spline, its degree and similar numbers.
_LARGEST_SIZE = 100
_LONGEST = 10_000
_MOST_TERMS = 1_000
_ADVICE = {
    "poly": "Write AGE + I(AGE ** 2): orthogonal polynomials differ between draws, so that their"
    " coefficients cannot be pooled"
}
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
    _check_size(formula)
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
        try:
            _Checker(code, columns, names).check(tree)
        except RecursionError as error:
            raise InputError(
                "The formula is nested too deeply", found=repr(code[:80]), expected="shorter terms"
            ) from error
    return tuple(names)


def _check_size(formula: str) -> None:
    """Raise if a formula is too long, or stands for more terms than anybody can read."""
    if len(formula) > _LONGEST:
        raise InputError(
            "The formula is too long",
            found=f"{len(formula):,} characters",
            expected=f"at most {_LONGEST:,}",
        )
    from patsy import PatsyError
    from patsy.parse_formula import parse_formula

    try:
        n_terms = _count_terms(parse_formula(formula))
    except (PatsyError, ValueError, RecursionError):
        # The caller parses again and says what is wrong.
        return
    if n_terms > _MOST_TERMS:
        raise InputError(
            "The formula expands to too many terms",
            found=f"more than {_MOST_TERMS:,} products",
            expected=f"at most {_MOST_TERMS:,} terms",
            next_step="Write the products that you need, such as AGE:SEX",
        )


def _count_terms(node: Any) -> int:
    """Return an upper bound for the terms of a parsed formula, without forming them.

    Examples
    --------
    >>> from patsy.parse_formula import parse_formula
    >>> [_count_terms(parse_formula(f"y ~ {text}")) for text in ("a + b", "a * b", "(a + b) ** 2")]
    [3, 4, 4]
    """
    if node.type == "PYTHON_EXPR" or not node.args:
        return 1
    if node.type == "**":
        terms, power = _count_terms(node.args[0]), str(node.args[1].token.extra)
        highest = min(terms, int(power) if power.isdecimal() else 1)
        return sum(_products(terms, size) for size in range(1, highest + 1))
    parts = [min(_count_terms(argument), _MOST_TERMS + 1) for argument in node.args]
    if node.type in (":", "*", "/") and len(parts) == 2:
        return parts[0] * parts[1] + (sum(parts) if node.type != ":" else 0)
    return sum(parts)


def _products(terms: int, size: int) -> int:
    """Return the number of products of some of the terms, at most one more than is allowed."""
    return min(math.comb(terms, size), _MOST_TERMS + 1)


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


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _named(keywords: tuple[str, ...]) -> str:
    return f", and by name {', '.join(keywords)}" if keywords else ""


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
                self._check_power(node.left, node.right)
            for side in (node.left, node.right):
                # A text or a list times a number is a long text or list.
                if isinstance(side, ast.List | ast.Tuple) or _is_text(side):
                    self._refuse(node, "Calculate with numbers and columns")
                self.check(side)
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

    def _check_power(self, base: ast.expr, power: ast.expr) -> None:
        number = power.operand if isinstance(power, ast.UnaryOp) else power
        value = number.value if isinstance(number, ast.Constant) else None
        if not isinstance(value, int | float) or value > _LARGEST_POWER:
            self._refuse(power, f"A power is a number up to {_LARGEST_POWER}")
        # Powers of powers of whole numbers have billions of digits; those of columns do not.
        has_column = any(named_column(n) for n in ast.walk(base) if isinstance(n, ast.expr))
        if not has_column and not isinstance(base, ast.Constant):
            self._refuse(base, "Write the number itself")

    def _check_call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute):
            root = function.value
            known = isinstance(root, ast.Name) and root.id == "np" and function.attr in NUMERIC
        else:
            known = isinstance(function, ast.Name) and function.id in _CALLS
        name = getattr(function, "attr", getattr(function, "id", ""))
        # Q with a text is a column and was recognised before.
        if not known or name == "Q":
            self._refuse(node, _ADVICE.get(name))
        most, keywords = _CALLS[name]
        if len(node.args) > most or any(one.arg not in keywords for one in node.keywords):
            self._refuse(node, f"{name} takes {most} values" + _named(keywords))
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.check(argument)
        if name in ("bs", "cc", "cr"):
            self._check_sizes(node)

    def _check_sizes(self, node: ast.Call) -> None:
        """Refuse splines with so many columns that they take all memory."""
        sizes = [one.value for one in node.keywords if one.arg in ("df", "degree")]
        for size in (*node.args[1:], *sizes):
            if isinstance(size, ast.List | ast.Tuple):
                continue
            value = size.value if isinstance(size, ast.Constant) else _LARGEST_SIZE + 1
            if value is not None and not (type(value) is int and 0 <= value <= _LARGEST_SIZE):
                self._refuse(size, f"df and degree are whole numbers up to {_LARGEST_SIZE}")

    def _refuse(self, node: ast.AST, advice: str | None = None) -> NoReturn:
        part = ast.get_source_segment(self.code, node) or self.code
        raise InputError(
            "The formula contains something that is not allowed",
            found=repr(part[:80]),
            expected="columns, numbers, + - * / **, comparisons, and "
            + ", ".join(sorted(_CALLS, key=str.lower)),
            next_step=advice,
        )
