"""Generalized linear models fitted to every draw, and pooled."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.design import Design, check_outcome, check_rank, model_design
from tabsoda.analysis.estimates import checked_df, notes_on_sample
from tabsoda.analysis.formula import check_formula, has_moving_knots, transforms_log
from tabsoda.analysis.linearisation import Sample
from tabsoda.analysis.model_frame import require_analysis_extra
from tabsoda.analysis.pooling import Analysis, pool
from tabsoda.analysis.product_terms import unknown_products
from tabsoda.analysis.replicates import ReplicateWeights
from tabsoda.analysis.rows import with_weights
from tabsoda.analysis.sample_design import DesignChoice, find_sample
from tabsoda.analysis.terms import TermLabel
from tabsoda.analysis.variables import column_names, find_variable
from tabsoda.analysis.where import selected_rows
from tabsoda.errors import InputError, InteractionWarning
from tabsoda.progress import Progress

if TYPE_CHECKING:
    from tabsoda.analysis.pooled import PooledEstimates
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
FAMILIES = ("gaussian", "binomial", "poisson")
# Name of a coefficient after exponentiation.
_RATIOS = {"gaussian": "ratio", "binomial": "odds ratio", "poisson": "rate ratio"}
# Standard error of a coefficient per standard deviation of its term above which it is not
# identified. With separation it is a hundred thousand or more, otherwise a few units at most.
_LARGEST_ERROR = 100.0


def pooled_model(
    result: Imputations,
    formula: str,
    *,
    family: str = "gaussian",
    weights: Any = None,
    where: Any = None,
    design: DesignChoice = "described",
    exponentiate: bool = False,
    progress: Progress | None = None,
) -> PooledEstimates:
    """Fit a generalized linear model to every draw and pool the coefficients.

    Parameters
    ----------
    result : Imputations
    formula : str
        Such as ``"income ~ age + C(region)"``. Nominals are always categorical; ordinals with
        numbers as levels are numbers unless in ``C()``. It may also contain arithmetic and
        comparisons (in ``I()``), logarithms, splines and similar functions; anything else is
        refused, so that a formula cannot execute code.
    family : {"gaussian", "binomial", "poisson"}
        With their usual links. A binomial outcome is a comparison (``I(smokes == 1)``) or 0 and 1.
    weights : str, array or ReplicateWeights, optional
        A column of the survey, or the weights themselves, in place of those of the design.
        Respondents with a blank weight are left out.
    where : str or array of bool, optional
        A subset, such as ``"age >= 18 and sex == 2"``, or a mask of shape (n_rows,) or
        (n_draws, n_rows). Evaluated in every draw, because the answers may be imputed.
    design : SampleDesign, "described" or None
        Weights, strata and clusters; by default the columns with these roles in the description.
        Standard errors are then linearised, as in R's ``svyglm``, or come from replicate weights.
        None for a simple random sample.
    exponentiate : bool
        Show odds ratios (binomial), rate ratios (poisson) or, if the outcome is a logarithm,
        ratios (gaussian), with their intervals.
    progress : callable, optional
        Called as ``progress(done, total, what)``.

    Notes
    -----
    Rows in which a question of the model was skipped are left out, and counted in the ``counts``
    of the result.

    Warns
    -----
    InteractionWarning
        If the formula has a product or a power of imputed questions, such as ``age:sex``,
        ``I(age ** 2)`` or ``bs(age)``, that the draws were made without; the text is also in
        ``warnings`` of the result.
    """
    require_analysis_extra()
    if family not in FAMILIES:
        raise InputError("Unknown family", found=repr(family), expected=", ".join(FAMILIES))
    if exponentiate and family == "gaussian" and not transforms_log(formula):
        raise InputError(
            "The coefficients of this model are not log ratios",
            found=f"the family gaussian and the outcome {formula.split('~')[0].strip()}",
            expected="the family binomial or poisson, or an outcome log(...)",
            next_step="Leave out exponentiate",
        )
    names = check_formula(formula, column_names(result))
    sample = find_sample(result, weights, design)
    rows = with_weights(selected_rows(result, where), sample)
    rows = rows.answered([find_variable(result, name) for name in names])
    rows.check_not_empty("the model")
    analyses, labels = [], []
    for draw in range(1, len(result) + 1):
        if progress is not None:
            progress(draw - 1, len(result), f"draw {draw} of {len(result)}")
        model = model_design(result, formula, draw, names, rows.counted[draw - 1])
        labels.append(model.labels)
        analyses.append(_fit(model, family, sample))
    notes = notes_on_sample(sample)
    if has_moving_knots(formula):
        notes = (*notes, "Spline knots differ between draws: give knots, lower_bound, upper_bound.")
    pooled = pool(analyses, notes=notes)
    _check_references(labels)
    warning = unknown_products(result, formula, rows.chosen_by)
    if warning is not None:
        warnings.warn(warning, InteractionWarning, stacklevel=2)
    return replace(
        pooled,
        warnings=() if warning is None else (warning,),
        labels=labels[0],
        counts=rows.counts(),
        kind=_RATIOS[family] if exponentiate else "estimate",
    )


def _check_references(labels: list[tuple[TermLabel, ...]]) -> None:
    """Raise if terms of the same name have different reference levels in different draws."""
    for draw, others in enumerate(labels[1:], 2):
        for first, other in zip(labels[0], others, strict=True):
            if first != other:
                raise InputError(
                    f"Draw {draw} has a different reference level from the first draw",
                    found=f"{other}; {first} in draw 1",
                    next_step="Merge rare levels, or choose a wider subset",
                )


def _fit(design: Design, family: str, sample: Sample | ReplicateWeights | None) -> Analysis:
    check_rank(design)
    check_outcome(design, family)
    n, k = design.terms.shape
    if isinstance(sample, ReplicateWeights):
        estimates, covariance = sample.estimate(
            lambda w: _fitted(design, family, w[design.rows]).params
        )
        return Analysis(estimates, covariance, design.names, sample.df + 1 - k)
    if sample is None:
        fit = _fitted(design, family, None)
        return Analysis(fit.params, fit.cov_params(), design.names, float(n - k))
    weights = sample.weights[design.rows]
    fit = _fitted(design, family, weights)
    # With the usual links, the score of a row is its residual times its terms. Rows that the model
    # leaves out are still part of the sample.
    pulls = np.zeros((sample.weights.size, k))
    residuals = weights * (design.outcome - fit.predict(design.terms))
    pulls[design.rows] = residuals[:, None] * design.terms @ fit.normalized_cov_params
    counted = np.zeros(sample.weights.size, dtype=bool)
    counted[design.rows] = True
    covariance = sample.covariance(pulls, counted)
    df = checked_df(sample.df(counted) + 1 - k, "the model")
    return Analysis(fit.params, covariance, design.names, df)


def _fitted(design: Design, family: str, weights: Array | None) -> Any:
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    kinds = {
        "gaussian": sm.families.Gaussian,
        "binomial": sm.families.Binomial,
        "poisson": sm.families.Poisson,
    }
    rows = slice(None) if weights is None else weights > 0
    if weights is not None:
        # With weights and replicates, a level may have no respondents left.
        check_rank(design, rows)
    model = sm.GLM(
        design.outcome[rows],
        design.terms[rows],
        family=kinds[family](),
        var_weights=None if weights is None else weights[rows],
    )
    with warnings.catch_warnings(record=True) as caught:
        # Separation and lack of convergence are errors that name the draw.
        warnings.simplefilter("always")
        fit = model.fit(tol=1e-12, maxiter=200)
    term = None if family == "gaussian" else _separating_term(fit, design, rows, weights)
    separated = any(issubclass(one.category, PerfectSeparationWarning) for one in caught)
    if term is not None or separated:
        named = "some term" if term is None else f"the term {term}"
        raise InputError(
            f"The model does not converge in draw {design.draw}",
            found=f"{named} predicts the outcome almost perfectly: all or nearly all respondents"
            " with one of its levels, or beyond one of its values, have the same outcome",
            next_step="Merge the level with another one, or leave out the term",
        )
    if not fit.converged or not np.isfinite(fit.params).all():
        raise InputError(
            f"The model does not converge in draw {design.draw}",
            next_step="Leave out terms, or merge rare levels",
        )
    return fit


def _separating_term(fit: Any, design: Design, rows: Any, weights: Array | None) -> str | None:
    """Return a term whose coefficient is not identified, if there is one.

    If a level always has the same outcome, its coefficient grows until rounding stops it, and the
    fit counts as converged. The model-based variance shows this; a robust variance would hide it.
    """
    variances = np.diag(fit.normalized_cov_params)
    if weights is not None:
        # Weights that sum to the population make the variance small, so they are rescaled.
        variances = variances * weights[rows].mean()
    spread = design.terms[rows].std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    errors = np.sqrt(np.where(variances >= 0, variances, np.inf)) * unit
    errors = np.where(np.isnan(errors), np.inf, errors)
    return design.names[int(errors.argmax())] if errors.max() > _LARGEST_ERROR else None
