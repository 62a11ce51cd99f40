"""``tabsoda pool``: models, means, quantiles, shares and tables over all draws, pooled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, progress
from tabsoda.errors import InputError


def pool(
    result: Path,
    /,
    *,
    formula: str | None = None,
    mean: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    median: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    quantile: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    share: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    table: Annotated[tuple[str, str] | None, Parameter(negative="")] = None,
    where: str | None = None,
    by: str | None = None,
    family: Literal["gaussian", "binomial", "poisson"] = "gaussian",
    exponentiate: Annotated[bool, Parameter(negative="")] = False,
    weights: Annotated[str | None, Parameter(name=["--weights", "--weight"])] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Analyse every imputation and pool the results by Rubin's rules.

    Give one of --formula (a regression), --mean, --median, --quantile, --share (of every answer)
    and --table (row percentages). Skips are blank: respondents who were not asked a question are
    left out, and N says how many are used.

    The fmi is the fraction of missing information: how much of what the data could tell about an
    estimate is lost with the missing answers.

    Parameters
    ----------
    result
        The output folder of tabsoda impute.
    formula
        Outcome ~ terms, such as "income ~ age + C(region)". Nominal questions are categories by
        themselves; ordinals whose answers are numbers are numbers unless you write C(question). An
        outcome of two answers is written as a comparison: "I(smokes == 1) ~ age". Besides columns
        a formula may hold arithmetic, comparisons, log, exp, sqrt, bs (splines) and the like.
    mean
        Questions whose means are wanted.
    median
        Questions whose medians are wanted.
    quantile
        Questions with the quantile that is wanted, such as AGE:0.9 or AGE:0.25 AGE:0.75.
    share
        Questions whose answers' shares are wanted.
    table
        Two questions, rows and columns of a cross table in per cent of its rows.
    where
        Only respondents who meet a condition, such as "AGE >= 18 and SEX == 2". Decided in every
        draw, since answers may be imputed.
    by
        A column: everything is estimated in each of its groups, formed anew in every draw.
    family
        gaussian for numbers, binomial for yes or no, poisson for counts.
    exponentiate
        Show odds ratios (binomial) or rate ratios (poisson).
    weights
        A column with the weights of the respondents; standard errors are then robust. Respondents
        with a blank weight are left out.
    as_json
        Write the result as JSON.
    """
    from tabsoda.analysis.results_text import results_text
    from tabsoda.results.result_folder import load_result

    wanted = _wanted(formula, mean, median, quantile, share, table)
    if formula is None and (exponentiate or family != "gaussian"):
        raise InputError(
            "--family and --exponentiate are for models",
            next_step="Leave them out, or give a --formula",
        )
    with progress("Reading") as report:
        report(0, 1, "")
        found = load_result(result)
    options: dict[str, Any] = {"weights": weights, "where": where}
    with progress("Estimating") as report:
        if formula is not None:
            options |= {"family": family, "exponentiate": exponentiate, "progress": report}
        parts = [_estimated(found, by, function, names, options) for function, names in wanted]
    asked = {"weights": weights, "where": where, "by": by}
    if formula is not None:
        asked = {"formula": formula, "family": family, **asked}
    if as_json:
        shown = [part.to_dict() for part in parts]
        emit_json(asked | (shown[0] if formula is not None else {"results": shown}))
        return
    console = output()
    lines = [*_asked_lines(asked), results_text(parts, console.width)]
    if weights is None and found.weights is not None and found.weights.width:
        lines.append(
            f"Unweighted; use the survey's weights with --weights {found.weights.columns[0]}"
        )
    text = "\n".join(lines)
    console.print(text, markup=False, no_wrap=True, crop=False)


def _wanted(
    formula: str | None,
    mean: tuple[str, ...],
    median: tuple[str, ...],
    quantile: tuple[str, ...],
    share: tuple[str, ...],
    table: tuple[str, str] | None,
) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return the functions to call, each with the arguments it is called with."""
    from tabsoda.analysis import (
        pooled_mean,
        pooled_median,
        pooled_model,
        pooled_proportions,
        pooled_quantile,
        pooled_table,
    )

    choices: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
        "--formula": [(pooled_model, (formula,))] if formula is not None else [],
        "--mean": [(pooled_mean, (name,)) for name in mean],
        "--median": [(pooled_median, (name,)) for name in median],
        "--quantile": [(pooled_quantile, one) for one in _quantiles(quantile).items()],
        "--share": [(pooled_proportions, (name,)) for name in share],
        "--table": [(pooled_table, table)] if table is not None else [],
    }
    given = [name for name, wanted in choices.items() if wanted]
    if len(given) != 1:
        raise InputError(
            "Exactly one kind of estimate is made at a time",
            found=" and ".join(given) or "nothing to estimate",
            expected='--formula "KILOS ~ AGE", --mean AGE, --median AGE, --quantile AGE:0.9,'
            " --share SEX or --table SEX SMOKES",
        )
    return choices[given[0]]


def _quantiles(texts: tuple[str, ...]) -> dict[str, list[float]]:
    """Read texts such as AGE:0.9; quantiles of one question belong together.

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
                "The quantile is not understood",
                found=text,
                expected="a question, a colon and a number between 0 and 1, such as AGE:0.9",
                next_step="Correct the text after --quantile; for the median use --median AGE",
            )
        wanted.setdefault(name, []).append(share)
    return wanted


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


def _asked_lines(asked: dict[str, str | None]) -> list[str]:
    """Repeat above the table what was asked for."""
    lines = [f"{asked['formula']} ({asked['family']})"] if "formula" in asked else []
    if asked["where"] is not None:
        lines.append(f"Where {asked['where']}")
    return lines
