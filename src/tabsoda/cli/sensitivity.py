"""``tabsoda sensitivity``: how much a finding depends on why answers are missing."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, output, progress, show_warning
from tabsoda.cli.design_options import DesignOptions
from tabsoda.cli.outputs import write_together
from tabsoda.cli.pool_picture import check_picture
from tabsoda.cli.rule_text import paragraph
from tabsoda.cli.shared_options import WHOLE, AsJson

if TYPE_CHECKING:
    from tabsoda.analysis import Sensitivity

_DESCRIBED = DesignOptions()


def sensitivity(
    result: Path,
    /,
    *,
    shift: Annotated[tuple[str, ...], Parameter(negative="")],
    formula: str | None = None,
    mean: str | None = None,
    share: str | None = None,
    term: str | None = None,
    null: float = 0.0,
    where: str | None = None,
    family: Literal["gaussian", "binomial", "poisson"] = "gaussian",
    exponentiate: Annotated[bool, Parameter(negative="")] = False,
    design: DesignOptions = _DESCRIBED,
    within_range: Annotated[bool, Parameter(negative="")] = False,
    seed: Annotated[int, WHOLE, Parameter(validator=Number(gte=0))] = 0,
    save: Annotated[
        bool, Parameter(name="--save", negative="--no-save", show_default=False)
    ] = True,
    picture: Annotated[Path | None, Parameter(name=["--picture", "-o"])] = None,
    as_json: AsJson = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Shift imputed answers, pool again, and find the shift at which the finding changes.

    Imputation assumes that those who did not answer resemble those who did, given their other
    answers. Shift the imputed answers by a range that you find plausible, and see whether the
    finding holds. Give one of --formula, --mean and --share.

    Parameters
    ----------
    result
        The output folder of tabsoda impute.
    shift
        A question and a range, such as INCOME=-1..1. Numbers are shifted in standard deviations of
        the observed answers ("INCOME=-500..500 units": in units, "INCOME=-30..30 percent": in per
        cent of the answer), ordinals in levels, the odds of a level in logarithms:
        "SMOKES[1]=-1..1". By reason: INCOME:refused=-1..1 (refused, dont_know, blank, other). By
        group: "INCOME where SEX == 2=-1..1". With a step: INCOME=-1..1:0.5. Several --shift are
        combined; the tipping point is that of the first.
    formula
        Outcome ~ terms, as in tabsoda pool.
    mean
        A question: the finding is about its mean.
    share
        A question and an answer, such as SMOKES:1: the finding is about its share.
    term
        The term that the finding is about. [default: the first that is not an intercept]
    null
        The finding is whether the interval lies above this value, below it, or includes it; on the
        scale of the model, 0 for no effect.
    where
        Only respondents who meet a condition, such as "AGE >= 18 and SEX == 2".
    family
        gaussian for numbers, binomial for yes or no, poisson for counts.
    exponentiate
        Show odds ratios (binomial) or rate ratios (poisson).
    within_range
        Keep shifted numbers within the range of the observed ones.
    seed
        Seed of the random numbers that decide which categorical answers change.
    save
        Keep the analysis in sensitivity.json of the folder, for tabsoda report. [default: yes]
    picture
        Also draw the estimates to this file, such as sensitivity.svg.
    force
        Overwrite the picture.
    """
    from tabsoda.analysis import sensitivity as analyse
    from tabsoda.analysis.finding import draw_rules, finding_estimate
    from tabsoda.analysis.saved_sensitivity import ANALYSES, load_analyses
    from tabsoda.analysis.sensitivity_text import sensitivity_text
    from tabsoda.results.result_folder import load_result

    check_picture(picture, force=force)
    with progress("Reading") as update:
        update(0, 1, "")
        found = load_result(result)
        rules = draw_rules(result)
        if save:
            # Raises before the work if the file there is not one of ours.
            load_analyses(result)
    asked = {
        **{"formula": formula, "mean": mean, "share": share, "family": family, "where": where},
        **{"exponentiate": exponentiate, "null": null, "within_range": within_range},
        "design": asdict(design),
    }
    options: dict[str, Any] = {"where": where, "design": design.of(found)}
    estimate, chosen = finding_estimate(formula, mean, share, options)
    if formula is not None:
        options |= {"family": family, "exponentiate": exponentiate}
    with progress("Shifting") as update:
        outcome = analyse(
            found,
            estimate,
            shift,
            term=chosen or term,
            null=null,
            seed=seed,
            within_range=within_range,
            rules=rules,
            progress=update,
            **(options if formula is not None else {}),
        )
    for text in outcome.warnings:
        show_warning(text)
    saved = save and _saved(result, outcome, asked)
    if picture is not None:
        drawn = outcome.picture()
        write_together({picture: lambda path: path.write_text(drawn, encoding="utf-8")})
    if as_json:
        emit_json({**outcome.to_dict(), "formula": formula, "mean": mean, "share": share})
        return
    console = output()
    lines = [] if formula is None else [paragraph(f"{formula} ({family})", console.width)]
    lines += [paragraph(f"Where {where}", console.width)] * (where is not None)
    lines.append(sensitivity_text(outcome, console.width))
    if formula is None and null == 0 and not outcome.tipping:
        hint = (
            "The finding is whether the estimate lies above or below 0; --null compares it with"
            " another value."
        )
        lines.append(paragraph(hint, console.width))
    lines += [f"Picture: {picture}"] * (picture is not None)
    lines += [f"Kept in {ANALYSES} of the folder, for tabsoda report."] * saved
    console.print("\n".join(lines), markup=False, soft_wrap=True)


def _saved(folder: Path, outcome: Sensitivity, asked: dict[str, Any]) -> bool:
    """Keep an analysis in the folder of its result; return whether that was possible."""
    from tabsoda.analysis.saved_sensitivity import save_analysis

    if not os.access(folder, os.W_OK):
        show_warning(f"The folder '{folder}' cannot be written to: the analysis is not kept there.")
        return False
    save_analysis(folder, outcome, asked)
    return True
