"""``tabsoda pool``: models, means, totals, ratios, quantiles, shares and tables, pooled."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, progress, show_warning
from tabsoda.cli.design_options import DesignOptions, ignored_design
from tabsoda.errors import InputError, InteractionWarning

_DESCRIBED = DesignOptions()


def pool(
    result: Path,
    /,
    *,
    formula: str | None = None,
    mean: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    median: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    quantile: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    share: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    total: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    ratio: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    table: Annotated[tuple[str, str] | None, Parameter(negative="")] = None,
    where: str | None = None,
    by: str | None = None,
    family: Literal["gaussian", "binomial", "poisson"] = "gaussian",
    exponentiate: Annotated[bool, Parameter(negative="")] = False,
    design: DesignOptions = _DESCRIBED,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Analyse every imputation and pool the results by Rubin's rules.

    Give one of --formula (a regression), --mean, --median, --quantile, --share (of every answer),
    --total, --ratio and --table (row percentages). Skips are blank: respondents who were not asked
    a question are left out; N is the number of respondents used.

    Columns with the role weight, stratum or cluster in the description are used as such; the
    output says so.

    The fmi is the fraction of missing information: how much of the information about an estimate
    is lost because answers are missing.

    If a model has an interaction or a curve that the draws were made without, a warning names it
    and the option of tabsoda impute that adds it.

    Parameters
    ----------
    result
        The output folder of tabsoda impute.
    formula
        Outcome ~ terms, such as "income ~ age + C(region)". Nominal questions are always
        categorical; ordinal questions with numeric answers are numbers unless you write
        C(question). Write a binary outcome as a comparison: "I(smokes == 1) ~ age". A formula may
        also contain arithmetic, comparisons, log, exp, sqrt, bs (splines) and similar functions.
    mean
        Questions to estimate the mean of.
    median
        Questions to estimate the median of.
    quantile
        Questions and quantiles to estimate, such as AGE:0.9 or AGE:0.25 AGE:0.75.
    share
        Questions to estimate the share of every answer of.
    total
        Questions to estimate the total of; weights must add up to the population.
    ratio
        Ratios of two totals, such as SPENT:MEMBERS.
    table
        Two questions, the rows and the columns of a cross table in row percentages.
    where
        Only respondents who meet a condition, such as "AGE >= 18 and SEX == 2". It is evaluated
        in every draw, because the answers may be imputed.
    by
        A column: estimate everything within each of its groups. Groups are formed in every draw.
    family
        gaussian for numbers, binomial for yes or no, poisson for counts.
    exponentiate
        Show odds ratios (binomial) or rate ratios (poisson).
    as_json
        Write the result as JSON.
    """
    from tabsoda.analysis.linearisation import Sample
    from tabsoda.analysis.results_text import results_text
    from tabsoda.analysis.sample_design import find_sample
    from tabsoda.results.result_folder import load_result

    wanted = _wanted(
        formula,
        table,
        mean=mean,
        median=median,
        quantile=quantile,
        share=share,
        total=total,
        ratio=ratio,
    )
    if formula is None and (exponentiate or family != "gaussian"):
        raise InputError(
            "The options --family and --exponentiate only apply to models",
            next_step="Leave them out, or give a --formula",
        )
    with progress("Reading") as update:
        update(0, 1, "")
        found = load_result(result)
    sampling = design.of(found)
    sample = find_sample(found, design=sampling)
    options: dict[str, Any] = {"design": sampling, "where": where}
    with progress("Estimating") as update, warnings.catch_warnings():
        # Shown below, after the progress bar.
        warnings.simplefilter("ignore", InteractionWarning)
        if formula is not None:
            options |= {"family": family, "exponentiate": exponentiate, "progress": update}
        parts = [_estimated(found, by, function, names, options) for function, names in wanted]
    for text in dict.fromkeys(text for part in parts for text in getattr(part, "warnings", ())):
        show_warning(text)
    request: dict[str, Any] = {"weights": sampling.weights, "where": where, "by": by}
    if formula is not None:
        request = {"formula": formula, "family": family, **request}
    if as_json:
        shown = [part.to_dict() for part in parts]
        request["design"] = sample.facts if isinstance(sample, Sample) else None
        emit_json(request | (shown[0] if formula is not None else {"results": shown}))
        return
    console = output()
    lines = [*_request_lines(request), results_text(parts, console.width)]
    if design.no_design:
        lines += textwrap.wrap(ignored_design(found) or "", console.width)
    text = "\n".join(lines)
    console.print(text, markup=False, no_wrap=True, crop=False)


def _wanted(
    formula: str | None, table: tuple[str, str] | None, **questions: tuple[str, ...]
) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return the functions to call, each with its arguments."""
    from tabsoda import analysis

    simple = {
        "mean": analysis.pooled_mean,
        "median": analysis.pooled_median,
        "share": analysis.pooled_proportions,
        "total": analysis.pooled_total,
    }
    choices: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
        "--formula": [(analysis.pooled_model, (formula,))] if formula is not None else [],
        **{
            f"--{option}": [(function, (name,)) for name in questions[option]]
            for option, function in simple.items()
        },
        "--quantile": [
            (analysis.pooled_quantile, one) for one in _quantiles(questions["quantile"]).items()
        ],
        "--ratio": [(analysis.pooled_ratio, _ratio(text)) for text in questions["ratio"]],
        "--table": [(analysis.pooled_table, table)] if table is not None else [],
    }
    given = [name for name, wanted in choices.items() if wanted]
    if len(given) != 1:
        raise InputError(
            "Only one kind of estimate can be made at a time",
            found=" and ".join(given) or "nothing to estimate",
            expected='--formula "KILOS ~ AGE", --mean AGE, --median AGE, --quantile AGE:0.9,'
            " --share SEX, --total AGE, --ratio KILOS:AGE or --table SEX SMOKES",
        )
    return choices[given[0]]


def _quantiles(texts: tuple[str, ...]) -> dict[str, list[float]]:
    """Parse texts such as AGE:0.9, grouped by question.

    Examples
    --------
    >>> _quantiles(("AGE:0.25", "KILOS:0.5", "AGE:0.75"))
    {'AGE': [0.25, 0.75], 'KILOS': [0.5]}
    """
    wanted: dict[str, list[float]] = {}
    for text in texts:
        name, _, number = text.rpartition(":")
        try:
            share = float(number)
        except ValueError:
            share = 0.0
        if not name or not 0 < share < 1:
            raise InputError(
                "The quantile cannot be read",
                found=text,
                expected="a question, a colon and a number between 0 and 1, such as AGE:0.9",
                next_step="Correct the text after --quantile; for the median use --median AGE",
            )
        wanted.setdefault(name, []).append(share)
    return wanted


def _ratio(text: str) -> tuple[str, str]:
    """Parse a text such as SPENT:MEMBERS.

    Examples
    --------
    >>> _ratio("SPENT:MEMBERS")
    ('SPENT', 'MEMBERS')
    """
    numerator, _, denominator = text.partition(":")
    if not numerator or not denominator:
        raise InputError(
            "The ratio cannot be read",
            found=text,
            expected="two questions with a colon between them, such as SPENT:MEMBERS",
        )
    return numerator, denominator


def _estimated(
    found: Any,
    by: str | None,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    from tabsoda.analysis import pooled_by

    if by is None:
        return function(found, *arguments, **options)
    return pooled_by(found, by, function, *arguments, **options)


def _request_lines(request: dict[str, str | None]) -> list[str]:
    """Return the lines above the table that repeat the request."""
    lines = [f"{request['formula']} ({request['family']})"] if "formula" in request else []
    if request["where"] is not None:
        lines.append(f"Where {request['where']}")
    return lines
