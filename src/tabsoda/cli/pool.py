"""``tabsoda pool``: fit a model to every draw, and pool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, progress


def pool(
    result: Path,
    /,
    *,
    formula: str,
    family: Literal["gaussian", "binomial", "poisson"] = "gaussian",
    weights: str | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Fit a regression to every imputation and pool the coefficients by Rubin's rules.

    Nominal questions are categories by themselves; ordinals whose answers are numbers are numbers
    unless you write C(question). Skips are blank: whoever was not asked is left out.

    The fmi is the fraction of missing information: how much of what the data could tell about a
    coefficient is lost with the missing answers.

    Parameters
    ----------
    result
        The output folder of tabsoda impute.
    formula
        Outcome ~ terms, such as "income ~ age + C(region)". An outcome of two answers is written
        as a comparison: "I(smokes == 1) ~ age". Formulas are code: use none you do not trust.
    family
        gaussian for numbers, binomial for yes or no, poisson for counts.
    weights
        A column with the weights of the respondents; standard errors are then robust.
    as_json
        Write the result as JSON.
    """
    from tabsoda.analysis import pooled_model
    from tabsoda.analysis.model_frame import require_analysis_extra
    from tabsoda.analysis.text import pooled_text
    from tabsoda.imputations.result_folder import load_result

    require_analysis_extra()
    with progress("Reading") as told:
        told(0, 1, "")
        found = load_result(result)
    with progress("Fitting") as told:
        pooled = pooled_model(found, formula, family=family, weights=weights, report=told)
    if as_json:
        emit_json({"formula": formula, "family": family, "weights": weights, **pooled.to_dict()})
        return
    console = output()
    console.print(f"{formula} ({family})", markup=False, soft_wrap=True)
    console.print(pooled_text(pooled, console.width), markup=False, no_wrap=True, crop=False)
