"""The terms of a model as factor variables of Stata."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from tabsoda.analysis.where import named_column
from tabsoda.errors import InputError
from tabsoda.publishing.scripts.conditions import column_names
from tabsoda.publishing.scripts.formulas import (
    FUNCTIONS,
    OPERATORS,
    SIGNS,
    Factor,
    cannot_be_written,
    take_apart,
)
from tabsoda.publishing.scripts.plan import Plan, ScriptColumn
from tabsoda.schema.codes import plain

_COMMANDS = {"gaussian": "regress", "binomial": "logit", "poisson": "poisson"}
_OWN_NAMES = {"log": "ln", "log1p": "ln1p", "maximum": "max", "minimum": "min"}


def model_command(plan: Plan) -> tuple[list[str], str]:
    """Return the lines that compute terms, and the command that fits the model."""
    found = take_apart(plan.request.of[0], "Stata")
    writer = _Terms(plan)
    outcome = writer.outcome(found.outcome)
    shown = [frozenset(factor.text for factor in term) for term in found.terms]
    for term in found.terms:
        inner = [frozenset({factor.text}) for factor in term]
        if len(term) > 1 and not all(one in shown for one in inner):
            raise InputError(
                "A product of the formula cannot be written in Stata without its parts",
                found=":".join(factor.text for factor in term),
                next_step="Add the parts, or use the R or Python code",
            )
    if not found.has_intercept:
        raise InputError(
            "A formula without an intercept cannot be written in Stata",
            found=plan.request.of[0],
            next_step="Add the intercept, or use the R or Python code",
        )
    terms = [writer.term(term) for term in found.terms]
    command = " ".join([_COMMANDS[plan.request.family], outcome, *terms])
    return writer.lines, command


class _Terms:
    """Writes terms as factor variables; expressions become variables of their own."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.lines = plan, list[str]()
        self.made: dict[str, str] = {}

    def outcome(self, factor: Factor) -> str:
        if factor.column is not None and not factor.is_wrapped:
            return self.plan.written(factor.column)
        return self._variable(factor, "outcome_")

    def term(self, factors: tuple[Factor, ...]) -> str:
        return "#".join(self._factor(factor, alone=len(factors) == 1) for factor in factors)

    def _factor(self, factor: Factor, *, alone: bool) -> str:
        if factor.column is None:
            name = self._variable(factor, f"term{len(self.made) + 1}_")
            return name if alone else f"c.{name}"
        column = self.plan.columns[factor.column]
        if not (column.is_factor or factor.is_wrapped):
            return column.written if alone else f"c.{column.written}"
        if not column.has_numbers and not column.is_question and factor.reference is None:
            # In alphabetical order, as in the other languages.
            line = f"encode {column.written}, generate({column.written}_)"
            self.lines += [line] * (line not in self.lines)
            return f"i.{column.written}_"
        return f"{self._base(column, factor)}.{column.written}"

    def _base(self, column: ScriptColumn, factor: Factor) -> str:
        """Return ``i`` or, if the reference is not the smallest code, ``ib2``."""
        if not column.has_numbers and not column.is_question:
            raise InputError(
                "has texts, which are not terms of a model in Stata",
                column=column.name,
                next_step="Use the R or Python code, or encode it in Stata",
            )
        levels = self._used_levels(column)
        wrong = [one for one in levels if one < 0 or one != round(one)]
        if wrong:
            raise InputError(
                "cannot be a factor variable in Stata",
                column=column.name,
                found=f"the code {plain(wrong[0])}",
                expected="whole numbers of 0 or more",
                next_step="Use the R or Python code, or recode it in Stata",
            )
        # The first level of the description; by numbers where C() makes levels of numbers.
        first = levels[0] if column.is_factor else min(levels)
        if factor.reference is not None:
            known = column.column.levels
            place = [str(plain(one)) for one in known].index(str(plain(factor.reference)))
            first = self._numbers(column)[place]
        return "i" if first == min(levels) else f"ib{plain(first)}"

    def _numbers(self, column: ScriptColumn) -> list[float]:
        """Return the numbers of all levels in the exported file."""
        if not column.has_numbers:
            return [float(place) for place in range(1, column.column.n_levels + 1)]
        return [float(level) for level in self.plan.levels(column.name)]

    def _used_levels(self, column: ScriptColumn) -> list[float]:
        """Return the numbers of the levels that occur in the first draw, in their order."""
        if not column.column.is_categorical:
            return self._numbers(column)
        values = column.variable.coded(1)
        found = np.unique(values[~np.isnan(values)]).astype(int)
        numbers = self._numbers(column)
        return [numbers[place] for place in found]

    def _variable(self, factor: Factor, name: str) -> str:
        if factor.text not in self.made:
            self.made[factor.text] = name
            shown = _expression(factor.node, self.plan)
            names = ", ".join(self.plan.written(one) for one in _columns_in(factor.node))
            self.lines.append(f"mi passive: generate double {name} = {shown} if !missing({names})")
        return self.made[factor.text]


def _columns_in(node: ast.expr) -> list[str]:
    return [name for name in column_names(node) if name not in ("np", "I", *FUNCTIONS)]


def _expression(node: ast.expr, plan: Plan) -> str:
    """Write arithmetic, comparisons and functions of a formula."""
    name = named_column(node)
    if name is not None:
        return plan.written(name)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return f"{node.value}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_expression(node.operand, plan)}"
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _expression(node.left, plan), _expression(node.right, plan)
        return f"({left} {OPERATORS[type(node.op)]} {right})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign = SIGNS[type(node.ops[0])]
        left = _side(node.left, node.comparators[0], plan)
        right = _side(node.comparators[0], node.left, plan)
        return f"({left} {sign} {right})"
    function: Any = getattr(node, "func", None)
    called = getattr(function, "attr", getattr(function, "id", ""))
    if isinstance(node, ast.Call) and not node.keywords and called == "I":
        return _expression(node.args[0], plan)
    if isinstance(node, ast.Call) and not node.keywords and called in FUNCTIONS:
        inside = [_expression(one, plan) for one in node.args]
        if called == "log2":
            return f"(ln({inside[0]}) / ln(2))"
        if called == "expm1":
            return f"(exp({inside[0]}) - 1)"
        return f"{_OWN_NAMES.get(called, called)}({', '.join(inside)})"
    raise cannot_be_written(node, "Stata")


def _side(node: ast.expr, other: ast.expr, plan: Plan) -> str:
    """Write one side of a comparison; a text is the number of the other side's level."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = named_column(other)
        column = None if name is None else plan.columns[name]
        if column is None or not column.is_question or node.value not in column.column.levels:
            raise cannot_be_written(node, "Stata")
        return str(column.column.levels.index(node.value) + 1)
    return _expression(node, plan)
