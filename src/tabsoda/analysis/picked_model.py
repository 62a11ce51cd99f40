"""A model from picked columns: the formula that somebody would otherwise type."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tabsoda.analysis.variables import Variable, find_variable, written_levels
from tabsoda.errors import InputError
from tabsoda.schema.codes import CodeBook, plain
from tabsoda.schema.column import Code, ColumnKind

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# How a column enters a model.
FORMS = ("number", "levels", "curve", "log")
_MOST_TERMS = 60


def picked_formula(
    result: Imputations,
    outcome: str,
    terms: Sequence[Mapping[str, Any]],
    *,
    answer: Code | None = None,
    products: Sequence[Sequence[str]] = (),
    log_outcome: bool = False,
) -> str:
    """Return the formula of a model whose columns were picked.

    Parameters
    ----------
    result : Imputations
    outcome : str
        A column.
    terms : sequence of mapping
        ``column``, and ``form``: number, levels, curve (the number and its square) or log; the
        default is number where answers are ordered numbers, otherwise levels.
    answer : Code, optional
        The answer whose probability is modelled, for a categorical outcome.
    products : sequence of pairs of str
        Columns among the terms whose product is added.
    log_outcome : bool

    Examples
    --------
    >>> import numpy as np
    >>> from tabsoda import CodedTable, Column, Imputations
    >>> from tabsoda.results import ImputedCells
    >>> age = Column("AGE", ColumnKind.CONTINUOUS)
    >>> sex = Column("my sex", ColumnKind.NOMINAL, (1, 2))
    >>> none = np.zeros(0, dtype=int)
    >>> cells = ImputedCells(none, none, np.zeros((2, 0)), np.zeros(0), np.zeros(0))
    >>> result = Imputations(CodedTable.from_values((age, sex), np.zeros((3, 2))), cells)
    >>> picked_formula(result, "my sex", [{"column": "AGE", "form": "curve"}], answer=2)
    "I(Q('my sex') == 2) ~ AGE + I(AGE ** 2)"
    """
    if not 0 < len(terms) <= _MOST_TERMS:
        raise InputError(
            "A model needs terms", found=f"{len(terms)} picked", expected=f"1 to {_MOST_TERMS}"
        )
    texts: dict[str, str] = {}
    for term in terms:
        variable = find_variable(result, str(term.get("column")), "the model")
        texts[variable.column.name] = _term(variable, term.get("form"))
    joined = list(texts.values())
    for pair in products:
        if len(pair) != 2 or not set(pair) <= set(texts) or pair[0] == pair[1]:
            raise InputError(
                "A product needs two different terms of the model", found=" and ".join(pair)
            )
        first, second = (_factor(name, texts[name]) for name in pair)
        joined.append(f"{first}:{second}")
    left = _outcome(find_variable(result, outcome, "the model"), answer, log_outcome)
    return f"{left} ~ {' + '.join(joined)}"


def quoted(name: str) -> str:
    """Return a name as a formula writes it.

    Examples
    --------
    >>> quoted("AGE"), quoted("my age"), quoted("class")
    ('AGE', "Q('my age')", "Q('class')")
    """
    is_plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
    return name if is_plain else f"Q({name!r})"


def _term(variable: Variable, form: Any) -> str:
    name = quoted(variable.column.name)
    ordered = variable.has_numbers() and variable.column.kind is not ColumnKind.NOMINAL
    chosen = form or ("number" if ordered else "levels")
    if chosen not in FORMS:
        raise InputError("Unknown form of a term", found=repr(form), expected=", ".join(FORMS))
    if chosen == "levels":
        return f"C({name})" if variable.has_numbers() else name
    if not ordered:
        raise InputError(
            "has answers that are not ordered numbers",
            column=variable.column.name,
            found=written_levels(variable.column),
            expected="levels as its form in the model",
        )
    return {"number": name, "curve": f"{name} + I({name} ** 2)", "log": f"log({name})"}[chosen]


def _factor(name: str, term: str) -> str:
    """Return the part of a term that enters a product: a curve enters with its number."""
    return quoted(name) if term.startswith(f"{quoted(name)} + ") else term


def _outcome(variable: Variable, answer: Code | None, log_outcome: bool) -> str:
    column, name = variable.column, quoted(variable.column.name)
    if answer is None:
        return f"log({name})" if log_outcome else name
    level = CodeBook(column.levels).find(answer)
    if level is None:
        raise InputError(
            "does not have the answer picked for the model",
            column=column.name,
            found=repr(answer),
            expected=f"one of {written_levels(column)}",
        )
    return f"I({name} == {plain(level)!r})"
