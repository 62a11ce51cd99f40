"""``tabsoda pool``: models, means, totals, ratios, quantiles, shares and tables, pooled."""

from __future__ import annotations

import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, emit_text, output, progress, show_warning
from tabsoda.cli.design_options import DesignOptions, ignored_design
from tabsoda.cli.outputs import write_together
from tabsoda.cli.pool_picture import check_picture
from tabsoda.cli.rule_text import paragraph
from tabsoda.errors import InputError, InteractionWarning

if TYPE_CHECKING:
    from tabsoda.analysis.request import EstimateRequest
    from tabsoda.results.imputations import Imputations

_DESCRIBED = DesignOptions()


def pool(
    result: Path,
    /,
    *,
    formula: str | None = None,
    mean: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    median: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    quantile: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    quantile_rule: str | None = None,
    share: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    total: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    ratio: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    table: Annotated[tuple[str, str] | None, Parameter(negative="")] = None,
    where: str | None = None,
    by: str | None = None,
    family: Literal["gaussian", "binomial", "poisson"] = "gaussian",
    exponentiate: Annotated[bool, Parameter(negative="")] = False,
    design: DesignOptions = _DESCRIBED,
    form: Annotated[
        Literal["text", "tsv", "md", "html", "tex"], Parameter(name="--format")
    ] = "text",
    picture: Annotated[Path | None, Parameter(name=["--picture", "-o"])] = None,
    code: Literal["r", "stata", "python"] | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
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
    quantile_rule
        Compute medians and quantiles as R's svyquantile and mitools do: math, school, shahvaish
        or hf1 to hf9.
    share
        Questions for which to estimate the share of every answer.
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
    form
        How to write the table: as text, as TSV for a spreadsheet, as Markdown, HTML or LaTeX.
    picture
        Also draw the estimates and their intervals to this file, such as estimates.svg.
    code
        Do not estimate, but print code for another program that gives the same numbers from the
        files of tabsoda export: --to r, --to stata, or --to parquet for Python.
    as_json
        Write the result as JSON.
    force
        Overwrite the picture.
    """
    from tabsoda.analysis.linearisation import Sample
    from tabsoda.analysis.request import EstimateRequest
    from tabsoda.analysis.results_text import results_text
    from tabsoda.analysis.sample_design import find_sample
    from tabsoda.results.result_folder import load_result

    kind, of = _asked(
        formula=() if formula is None else (formula,),
        mean=mean,
        median=median,
        quantile=quantile,
        share=share,
        total=total,
        ratio=ratio,
        table=table or (),
    )
    asked = EstimateRequest(
        kind, of, family, exponentiate, where, by, design.request(), quantile_rule
    )
    check_picture(picture, force=force)
    with progress("Reading") as update:
        update(0, 1, "")
        found = load_result(result)
    if code is not None:
        _print_code(found, asked, code)
        return
    sampling = design.of(found)
    sample = find_sample(found, design=sampling)
    with progress("Estimating") as update, warnings.catch_warnings():
        # Shown below, after the progress bar.
        warnings.simplefilter("ignore", InteractionWarning)
        parts = asked.estimate(found, update)
    for text in dict.fromkeys(text for part in parts for text in getattr(part, "warnings", ())):
        show_warning(text)
    if picture is not None:
        _draw(asked, parts, picture)
    request: dict[str, Any] = {"weights": sampling.weights, "where": where, "by": by}
    if formula is not None:
        request = {"formula": formula, "family": family, **request}
    if as_json:
        shown = [part.to_dict() for part in parts]
        request["design"] = sample.facts if isinstance(sample, Sample) else None
        emit_json(request | (shown[0] if formula is not None else {"results": shown}))
        return
    if form != "text":
        _print_table(asked, parts, form)
        return
    console = output()
    lines = [*_request_lines(request, console.width), results_text(parts, console.width)]
    if design.no_design:
        lines += textwrap.wrap(ignored_design(found) or "", console.width)
    text = "\n".join(lines)
    console.print(text, markup=False, no_wrap=True, crop=False)


def _asked(**options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the only option that was given, and what stands after it."""
    given = [name for name, of in options.items() if of]
    if len(given) != 1:
        raise InputError(
            "Only one kind of estimate can be made at a time",
            found=" and ".join(f"--{name}" for name in given) or "nothing to estimate",
            expected='--formula "KILOS ~ AGE", --mean AGE, --median AGE, --quantile AGE:0.9,'
            " --share SEX, --total AGE, --ratio KILOS:AGE or --table SEX SMOKES",
        )
    return given[0], options[given[0]]


def _print_code(found: Imputations, asked: EstimateRequest, language: str) -> None:
    from tabsoda.publishing.scripts import analysis_script

    emit_text(analysis_script(found, asked, language))


def _print_table(asked: EstimateRequest, parts: list[Any], form: str) -> None:
    from tabsoda.publishing.tables import result_table, table_text

    emit_text(table_text(result_table(asked, parts), form))


def _draw(asked: EstimateRequest, parts: list[Any], picture: Path) -> None:
    from tabsoda.publishing.figures import draw_estimates

    drawn = str(draw_estimates(asked, parts))
    write_together({picture: lambda path: path.write_text(drawn, encoding="utf-8")})


def _request_lines(request: dict[str, Any], width: int) -> list[str]:
    """Return the lines above the table that repeat the request, wrapped.

    Examples
    --------
    >>> _request_lines({"formula": "y ~ a + b", "family": "gaussian", "where": "a > 1"}, 15)
    ['y ~ a + b', '  (gaussian)', 'Where a > 1']
    """
    lines = [f"{request['formula']} ({request['family']})"] if "formula" in request else []
    if request["where"] is not None:
        lines.append(f"Where {request['where']}")
    return [part for line in lines for part in paragraph(line, width).splitlines()]
