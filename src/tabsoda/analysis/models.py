"""Generalized linear models fitted to every draw, and pooled."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.estimates import notes_on_weights
from tabsoda.analysis.model_frame import model_frame, require_analysis_extra
from tabsoda.analysis.pooling import Analysis, pool
from tabsoda.analysis.replicates import ReplicateWeights
from tabsoda.analysis.weights import Weights, row_weights
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.analysis.pooled import PooledEstimates
    from tabsoda.imputations.imputations import Imputations

Array = NDArray[np.float64]
# report(done, total, what)
Report = Callable[[int, int, str], None]
# What patsy lets through of whatever a formula calls.
_OF_A_FORMULA = (NameError, AttributeError, TypeError, ValueError, SyntaxError)
FAMILIES = ("gaussian", "binomial", "poisson")
# Of a coefficient, per standard deviation of its term: beyond it the rows tell nothing of it. Those
# that rounding ends have a hundred thousand and more, and all others a few units at most.
_LARGEST_ERROR = 100.0


def pooled_model(
    result: Imputations,
    formula: str,
    *,
    family: str = "gaussian",
    weights: Any = None,
    report: Report | None = None,
) -> PooledEstimates:
    """Fit a generalized linear model to every draw and pool the coefficients.

    Parameters
    ----------
    result : Imputations
    formula : str
        Such as ``"income ~ age + C(region)"``. Nominals are categories by themselves; ordinals
        with numbers as levels are numbers unless in ``C()``. It is Python code in part: run
        formulas of people you trust only.
    family : {"gaussian", "binomial", "poisson"}
        With their usual links. A binomial outcome is a comparison (``I(smokes == 1)``) or 0 and 1.
    weights : str, array or ReplicateWeights, optional
        A column of the survey, or the weights themselves. Standard errors are then robust, as
        R's ``svyglm`` gives them, or come from the replicates.
    report : callable, optional
        Called as ``report(done, total, what)``.

    Notes
    -----
    Rows in which a question of the model was skipped are left out, and counted in the notes of
    the result.
    """
    require_analysis_extra()
    if family not in FAMILIES:
        raise InputError(
            "The family is not known", found=repr(family), expected=", ".join(FAMILIES)
        )
    found = row_weights(result, weights)
    used, analyses = [], []
    for draw in range(1, len(result) + 1):
        if report is not None:
            report(draw - 1, len(result), f"draw {draw} of {len(result)}")
        design = _design(result, formula, draw)
        used.append(len(design.rows))
        analyses.append(_fit(design, family, found))
    notes = (*_rows_note(used, result.table.shape[0]), *notes_on_weights(found))
    return pool(analyses, notes=notes)


@dataclass(frozen=True, eq=False)
class _Design:
    """Outcome and terms of one draw, for the rows without a blank.

    Attributes
    ----------
    draw : int
    outcome : ndarray of float64, shape (n_used,)
    terms : ndarray of float64, shape (n_used, k)
    names : tuple of str
    rows : ndarray of int64, shape (n_used,)
    """

    draw: int
    outcome: Array
    terms: Array
    names: tuple[str, ...]
    rows: NDArray[np.int64]


def _design(result: Imputations, formula: str, draw: int) -> _Design:
    import patsy

    if formula.count("~") != 1 or not all(side.strip() for side in formula.split("~")):
        raise InputError("The formula is no model", found=formula, expected="outcome ~ term + term")
    frame = model_frame(result, draw)
    try:
        used = [name for name in _names_in(formula) if name in frame.columns]
        # What is no number, such as the logarithm of 0, is told below.
        with np.errstate(divide="ignore", invalid="ignore"):
            outcome, terms = patsy.dmatrices(
                formula,
                # Patsy leaves out blank numbers, but compared with anything a blank is a "no".
                frame[frame[used].notna().all(axis=1)],
                # Formulas see numpy and the columns, and none of our own variables.
                eval_env=patsy.EvalEnvironment([{"np": np}]),
                return_type="dataframe",
            )
    except (patsy.PatsyError, *_OF_A_FORMULA) as error:
        raise InputError(
            "The formula cannot be used on this survey",
            found=str(error).splitlines()[0],
            next_step="Check the names of its columns; Q('a name') quotes unusual ones",
        ) from error
    design = _Design(
        draw,
        _outcome(outcome),
        terms.to_numpy(),
        # A level that is a whole number reads better without its point.
        tuple(re.sub(r"\[(T\.)?(-?\d+)\.0\]", r"[\1\2]", name) for name in terms.columns),
        terms.index.to_numpy().astype(np.int64),
    )
    _check_numbers(design)
    _check_rank(design)
    return design


def _names_in(formula: str) -> set[str]:
    """Return the names that a formula's terms are made of, quoted ones too.

    Examples
    --------
    >>> sorted(_names_in("I(SMOKES == 1) ~ np.log(AGE) + Q('a b'):SEX"))
    ['AGE', 'I', 'Q', 'SEX', 'SMOKES', 'a b', 'np']
    """
    import patsy

    described = patsy.ModelDesc.from_formula(formula)
    terms = (*described.lhs_termlist, *described.rhs_termlist)
    names: set[str] = set()
    for code in {factor.code for term in terms for factor in term.factors}:
        for node in ast.walk(ast.parse(code, mode="eval")):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
    return names


def _check_numbers(design: _Design) -> None:
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
                found=f"{wrong:,} values of {name} that are no finite numbers",
                expected="finite numbers; the logarithm of 0, for one, is none",
                next_step="Choose another form of the term, or leave it out",
            )


def _outcome(outcome: Any) -> Array:
    names = list(outcome.columns)
    if len(names) == 2 and names[1].endswith("[True]"):
        # A comparison has a column for no and one for yes.
        return np.asarray(outcome.iloc[:, 1], dtype=np.float64)
    if len(names) != 1:
        raise InputError(
            "The outcome has more than one column",
            found=", ".join(names[:4]),
            expected="a number or a comparison",
            next_step="Write which level is meant, such as I(smokes == 1) ~ age",
        )
    return np.asarray(outcome.iloc[:, 0], dtype=np.float64)


def _check_rank(design: _Design, rows: Any = slice(None)) -> None:
    """Raise where the terms, of rows that have a weight, cannot tell all coefficients."""
    n, k = design.terms[rows].shape
    if n <= k or np.linalg.matrix_rank(design.terms[rows]) < k:
        which = "without a blank" if isinstance(rows, slice) else "with a weight"
        raise InputError(
            f"The model cannot be fitted to draw {design.draw}",
            found=f"{n} rows {which}, {k} terms of which some determine others"
            if n > k
            else f"{n} rows {which} for {k} terms",
            next_step="Leave out terms, join rare levels, or leave out questions few were asked",
        )


def _fit(design: _Design, family: str, weights: Weights | None) -> Analysis:
    n, k = design.terms.shape
    if isinstance(weights, ReplicateWeights):
        estimates, covariance = weights.estimate(
            lambda w: _fitted(design, family, w[design.rows]).params
        )
        return Analysis(estimates, covariance, design.names, weights.df + 1 - k)
    if weights is None:
        fit = _fitted(design, family, None)
        return Analysis(fit.params, fit.cov_params(), design.names, float(n - k))
    # Over repeated samples, rows that the model leaves out are part of the sample, too.
    n_rows = len(weights)
    fit = _fitted(design, family, weights[design.rows], cov_type="HC0")
    covariance = n_rows / (n_rows - 1) * fit.cov_params()
    return Analysis(fit.params, covariance, design.names, float(n - k))


def _fitted(design: _Design, family: str, weights: Array | None, **options: Any) -> Any:
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    kinds = {
        "gaussian": sm.families.Gaussian,
        "binomial": sm.families.Binomial,
        "poisson": sm.families.Poisson,
    }
    _check_outcome(design, family)
    rows = slice(None) if weights is None else weights > 0
    if weights is not None:
        # Weights, and replicates of them, may leave nobody with one of the levels.
        _check_rank(design, rows)
    model = sm.GLM(
        design.outcome[rows],
        design.terms[rows],
        family=kinds[family](),
        var_weights=None if weights is None else weights[rows],
    )
    with warnings.catch_warnings(record=True) as told:
        # Separation and lack of convergence are told as an error, with the draw.
        warnings.simplefilter("always")
        fit = model.fit(tol=1e-12, maxiter=200, **options)
    term = None if family == "gaussian" else _separating_term(fit, design, rows, weights)
    separated = any(issubclass(one.category, PerfectSeparationWarning) for one in told)
    if term is not None or separated:
        named = "some term" if term is None else f"the term {term}"
        raise InputError(
            f"The model does not settle on coefficients in draw {design.draw}",
            found=f"{named} tells the outcome with hardly an error: all, or nearly all, with one of"
            " its levels or beyond one of its values have the same outcome",
            next_step="Join the level with another one, or leave the term out",
        )
    if not fit.converged or not np.isfinite(fit.params).all():
        raise InputError(
            f"The model does not settle on coefficients in draw {design.draw}",
            found="no convergence",
            next_step="Leave out terms, or join rare levels",
        )
    return fit


def _separating_term(fit: Any, design: _Design, rows: Any, weights: Array | None) -> str | None:
    """Return the term about whose coefficient the rows tell next to nothing, if there is one.

    Where a level always has the same outcome its coefficient runs away until rounding ends it,
    and the fit counts as converged. The variance tells: robust ones would hide it, so it is that
    of the model.
    """
    variances = np.diag(fit.normalized_cov_params)
    if weights is not None:
        # Weights that count people, rather than respondents, make it small.
        variances = variances * weights[rows].mean()
    spread = design.terms[rows].std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    errors = np.sqrt(np.where(variances >= 0, variances, np.inf)) * unit
    errors = np.where(np.isnan(errors), np.inf, errors)
    return design.names[int(errors.argmax())] if errors.max() > _LARGEST_ERROR else None


def _check_outcome(design: _Design, family: str) -> None:
    wrong = {
        "gaussian": np.zeros(0, dtype=bool),
        "binomial": ~np.isin(design.outcome, (0, 1)),
        "poisson": design.outcome < 0,
    }[family]
    if wrong.any():
        raise InputError(
            f"The outcome does not fit the family {family}",
            found=f"{design.outcome[wrong][0]:g} in draw {design.draw}",
            expected="0 and 1, or a comparison such as I(smokes == 1)"
            if family == "binomial"
            else "numbers of 0 or more",
        )


def _rows_note(used: list[int], n_rows: int) -> tuple[str, ...]:
    """Say how many rows the draws' models were fitted to, where not to all."""
    if min(used, default=n_rows) == n_rows:
        return ()
    shown = f"{min(used):,}" if min(used) == max(used) else f"{min(used):,} to {max(used):,}"
    return (
        f"Fitted to {shown} of {n_rows:,} rows: in the others one of its questions was skipped, or"
        " is left missing.",
    )
