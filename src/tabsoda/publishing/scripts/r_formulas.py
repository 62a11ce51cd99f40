"""Formulas and constants in the notation of R."""

from __future__ import annotations

import ast
from typing import Any

from tabsoda.analysis.where import named_column
from tabsoda.publishing.scripts.formulas import (
    FUNCTIONS,
    OPERATORS,
    SIGNS,
    Factor,
    cannot_be_written,
    take_apart,
)
from tabsoda.publishing.scripts.plan import Plan
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Code

_OWN_NAMES = {"maximum": "pmax", "minimum": "pmin"}


def text(value: str) -> str:
    r"""Quote a text for R.

    Examples
    --------
    >>> text('say "a\\b"')
    '"say \\"a\\\\b\\""'
    """
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


def code(value: Code) -> str:
    """Write a code as a number or a text."""
    return text(value) if isinstance(value, str) else str(plain(value))


def r_formula(plan: Plan) -> str:
    """Return the formula of a request in R's notation."""
    found = take_apart(plan.request.of[0], "R")
    outcome = _expression(found.outcome.node, plan)
    if found.outcome.column is None:
        outcome = f"as.numeric({outcome})"
    terms = [":".join(_factor(factor, plan) for factor in term) for term in found.terms]
    return f"{outcome} ~ " + " + ".join([*(["0"] * (not found.has_intercept)), *terms] or ["1"])


def _factor(factor: Factor, plan: Plan) -> str:
    if factor.column is None:
        return _expression(factor.node, plan)
    column = plan.columns[factor.column]
    base = column.written if column.is_factor or not factor.is_wrapped else None
    base = base or f"factor({column.written})"
    if factor.reference is None:
        return base
    return f"relevel({base}, ref = {text(str(plain(factor.reference)))})"


def _expression(node: ast.expr, plan: Plan) -> str:
    """Write arithmetic, comparisons and functions of a formula."""
    name = named_column(node)
    if name is not None:
        return plan.written(name)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return code(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_expression(node.operand, plan)}"
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _expression(node.left, plan), _expression(node.right, plan)
        return f"({left} {OPERATORS[type(node.op)]} {right})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _expression(node.left, plan), _expression(node.comparators[0], plan)
        return f"({left} {SIGNS[type(node.ops[0])]} {right})"
    function: Any = getattr(node, "func", None)
    called = getattr(function, "attr", getattr(function, "id", ""))
    if isinstance(node, ast.Call) and (called in FUNCTIONS or called == "I") and not node.keywords:
        inside = ", ".join(_expression(one, plan) for one in node.args)
        return f"{_OWN_NAMES.get(called, called)}({inside})"
    raise cannot_be_written(node, "R")
