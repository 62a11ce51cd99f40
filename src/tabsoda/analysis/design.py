"""The design matrix of a formula in one draw."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.formula import NUMERIC
from tabsoda.analysis.model_frame import model_frame
from tabsoda.analysis.terms import TermLabel, term_labels
from tabsoda.analysis.variables import written_levels
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
# Exceptions that functions in a formula may raise through patsy.
_OF_A_FORMULA = (NameError, AttributeError, TypeError, ValueError, SyntaxError, OverflowError)


@dataclass(frozen=True, eq=False)
class Design:
    """Outcome and terms of one draw, for the rows without a blank.

    Attributes
    ----------
    draw : int
    formula : str
    outcome : ndarray of float64, shape (n_used,)
    terms : ndarray of float64, shape (n_used, k)
    names : tuple of str
        Terms as patsy names them.
    labels : tuple of TermLabel
    rows : ndarray of int64, shape (n_used,)
    """

    draw: int
    formula: str
    outcome: Array
    terms: Array
    names: tuple[str, ...]
    labels: tuple[TermLabel, ...]
    rows: NDArray[np.int64]


def model_design(
    result: Imputations,
    formula: str,
    draw: int,
    used: tuple[str, ...],
    counted: NDArray[np.bool_],
) -> Design:
    """Return the design of a checked formula for the counted rows of a draw.

    Parameters
    ----------
    result : Imputations
    formula : str
    draw : int
        From 1.
    used : tuple of str
        The columns of the formula, see :func:`tabsoda.analysis.formula.check_formula`.
    counted : ndarray of bool, shape (n_rows,)
        Rows without a blank in those columns.
    """
    import patsy

    frame = model_frame(result, draw, used)[counted]
    for name in frame.columns:
        if hasattr(frame[name], "cat"):
            # A level that does not occur in the subset would be a term without data.
            frame[name] = frame[name].cat.remove_unused_categories()
    functions = {name: getattr(np, name) for name in NUMERIC}
    try:
        # Terms that are not numbers, such as the logarithm of 0, raise an error below.
        with np.errstate(all="ignore"):
            outcome, terms = patsy.dmatrices(
                formula,
                frame,
                # Formulas can use these functions and the columns, but not the variables here.
                eval_env=patsy.EvalEnvironment([{"np": np, **functions}]),
                NA_action=patsy.NAAction(NA_types=[]),
                return_type="dataframe",
            )
    except (patsy.PatsyError, *_OF_A_FORMULA) as error:
        raise InputError(
            "The formula cannot be used on this survey",
            found=str(error).splitlines()[0],
            next_step="Check the arguments of its functions",
        ) from error
    # Levels that are whole numbers are shown without a decimal point.
    names = tuple(re.sub(r"\[(T\.)?(-?\d+)\.0\]", r"[\1\2]", name) for name in terms.columns)
    factors = {
        factor.code: tuple(info.categories)
        for factor, info in terms.design_info.factor_infos.items()
        if info.type == "categorical"
    }
    known = {column.name: column for column in _described(result)}
    design = Design(
        draw,
        formula,
        _outcome(outcome, formula, known),
        terms.to_numpy(),
        names,
        term_labels(names, factors, known),
        terms.index.to_numpy().astype(np.int64),
    )
    _check_numbers(design)
    return design


def check_rank(design: Design, rows: Any = slice(None)) -> None:
    """Raise if the rows with a weight do not identify all coefficients."""
    n, k = design.terms[rows].shape
    if n <= k or np.linalg.matrix_rank(design.terms[rows]) < k:
        which = "without a blank" if isinstance(rows, slice) else "with a weight"
        raise InputError(
            f"The model cannot be fitted to draw {design.draw}",
            found=f"{n} rows {which}, {k} terms that are linearly dependent"
            if n > k
            else f"{n} rows {which} for {k} terms",
            next_step="Leave out terms, merge rare levels, or leave out rarely asked questions",
        )


def check_outcome(design: Design, family: str) -> None:
    """Raise if the outcome is constant or does not match the family."""
    named = design.formula.split("~")[0].strip()
    outcome = design.outcome
    wrong = {
        "gaussian": np.zeros(0, dtype=bool),
        "binomial": ~np.isin(outcome, (0, 1)),
        "poisson": outcome < 0,
    }[family]
    if wrong.any():
        raise InputError(
            f"The outcome {named} does not match the family {family}",
            found=f"{outcome[wrong][0]:g} in draw {design.draw}",
            expected=f"0 and 1, or a comparison such as I({named} == {np.max(outcome):g})"
            if family == "binomial"
            else "numbers of 0 or more",
        )
    if len(outcome) and (outcome == outcome[0]).all():
        raise InputError(
            f"The outcome {named} is constant in draw {design.draw}",
            found=f"{outcome[0]:g} for all {len(outcome):,} respondents",
            expected="an outcome that varies",
            next_step="Choose another outcome, or a wider subset",
        )


def _described(result: Imputations) -> tuple[Any, ...]:
    schema = () if result.survey is None else tuple(result.survey.schema)
    return (*schema, *result.table.columns)


def _outcome(outcome: Any, formula: str, known: dict[str, Any]) -> Array:
    names = list(outcome.columns)
    if len(names) == 2 and names[1].endswith("[True]"):
        # A comparison has a column for no and one for yes.
        return np.asarray(outcome.iloc[:, 1], dtype=np.float64)
    if len(names) != 1:
        named = formula.split("~")[0].strip()
        column = known.get(named)
        level = repr(column.levels[0]) if column is not None and column.levels else "1"
        raise InputError(
            f"The outcome {named} "
            + ("has more than one column" if column is None else "is categorical"),
            found=", ".join(names[:4]) if column is None else f"levels {written_levels(column)}",
            expected="a number or a comparison",
            next_step=f"Choose a level, such as I({named} == {level}) ~ ..., and the family"
            " binomial",
        )
    return np.asarray(outcome.iloc[:, 0], dtype=np.float64)


def _check_numbers(design: Design) -> None:
    if not design.names:
        raise InputError("The model has no term", expected="outcome ~ term, at least outcome ~ 1")
    for name, column in [
        ("the outcome", design.outcome),
        *zip(design.names, design.terms.T, strict=True),
    ]:
        wrong = int((~np.isfinite(column)).sum())
        if wrong:
            raise InputError(
                f"The model cannot be fitted to draw {design.draw}",
                found=f"{wrong:,} values of {name} that are not finite numbers",
                expected="finite numbers; the logarithm of 0, for example, is not finite",
                next_step="Transform the term differently, or leave it out",
            )
