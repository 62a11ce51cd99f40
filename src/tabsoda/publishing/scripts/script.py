"""Writes the script of a request in one language."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tabsoda.errors import InputError
from tabsoda.publishing.scripts.plan import make_plan

if TYPE_CHECKING:
    from tabsoda.analysis.request import EstimateRequest
    from tabsoda.results.imputations import Imputations

LANGUAGES = ("r", "stata", "python")
# The export that each language reads, and the ending of its files.
EXPORTS = {"r": "r", "stata": "stata", "python": "parquet"}
SUFFIXES = {"r": ".R", "stata": ".do", "python": ".py"}


def analysis_script(result: Imputations, request: EstimateRequest, language: str) -> str:
    """Return code that makes the same estimates from the files of an export.

    Parameters
    ----------
    result : Imputations
    request : EstimateRequest
    language : {"r", "stata", "python"}
        The code reads the files of ``export(result, to)`` in its own folder, with ``to`` from
        ``EXPORTS``. R needs the packages mice and, with a design, survey; Python needs pandas,
        pyarrow, scipy and, for models, statsmodels.

    Returns
    -------
    str
        A comment at the top says where the numbers differ from those of ``tabsoda pool``.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from tabsoda import read_survey
    >>> from tabsoda.analysis.request import EstimateRequest
    >>> from tabsoda.results import Imputations, ImputedCells
    >>> survey = read_survey(
    ...     pl.DataFrame({"age": [20.0, None, 60.0]}), [{"name": "age", "type": "continuous"}]
    ... )
    >>> cells = ImputedCells(np.array([1]), np.array([0]), np.array([[30.0], [40.0]]),
    ...                      np.array([35.0]), np.array([35.0]))
    >>> result = Imputations(survey.table, cells, survey)
    >>> code = analysis_script(result, EstimateRequest("mean", ("age",)), "stata")
    >>> print(code.splitlines()[-1])
    mi estimate, esampvaryok: mean age if used_
    """
    if language not in LANGUAGES:
        raise InputError("Unknown language", found=repr(language), expected=", ".join(LANGUAGES))
    if request.quantile_rule is not None:
        raise InputError(
            "Scripts estimate quantiles by the default rule only",
            found=f"--quantile-rule {request.quantile_rule}",
            next_step="Leave it out; in R, svyquantile(..., qrule = ) has the same rules",
        )
    plan = make_plan(result, request, EXPORTS[language])
    module = import_module(f"tabsoda.publishing.scripts.{language}_code")
    text: str = module.write(plan)
    return text
