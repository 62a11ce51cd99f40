"""Quantiles in Stata, which has no estimator for them with a design: Woodruff's method."""

from __future__ import annotations

from tabsoda.publishing.scripts.plan import Part, Plan


def quantile_lines(plan: Plan, part: Part, chosen: str) -> list[str]:
    """Return the lines that estimate quantiles and their intervals.

    Parameters
    ----------
    plan : Plan
    part : Part
    chosen : str
        The condition of the respondents used.
    """
    name = plan.written(part.names[0])
    weight = "1"
    if plan.design is not None and plan.design.weights is not None:
        weight = plan.written(plan.design.weights)
    call = "mean below_" if plan.design is None else f"svy, subpop(if {chosen}): mean below_"
    subset = f" if {chosen}" if plan.design is None else ""
    return [
        "* All draws together: every draw has the same mass.",
        "capture drop mass_",
        f"quietly egen double mass_ = total(cond({chosen}, {weight}, 0)), by(_mi_m)",
        f"quietly replace mass_ = cond({chosen} & _mi_m > 0, {weight} / mass_, 0)",
        *(line for share in part.quantiles for line in _one(name, share, call, subset)),
    ]


def _one(name: str, share: float, call: str, subset: str) -> list[str]:
    percent = 100 * share
    return [
        f"_pctile {name} [aweight = mass_] if mass_ > 0, percentiles({percent:.12g})",
        "local point = r(r1)",
        "quietly summarize mass_, meanonly",
        "local all = r(sum)",
        f"quietly summarize mass_ if {name} < `point', meanonly",
        "local low = r(sum) / `all'",
        f"quietly summarize mass_ if {name} == `point', meanonly",
        "local at = r(sum) / `all'",
        "capture drop below_",
        f"mi passive: generate double below_ = ({name} < `point')"
        f" + cond(`at' > 0, ({share} - `low') / `at', 0) * ({name} == `point')",
        f"quietly mi estimate, esampvaryok: {call}{subset}",
        "matrix found = r(table)",
        f"local wide = invttail(found[7, 1], 0.025) * found[2, 1] / ({share} * (1 - {share}))",
        f"local from = 100 * invlogit(logit({share}) - `wide')",
        f"local to = 100 * invlogit(logit({share}) + `wide')",
        f"_pctile {name} [aweight = mass_] if mass_ > 0, percentiles(`from' `to')",
        f'display "{name}, {share} quantile: " `point\' ", Woodruff interval " r(r1) " to " r(r2)',
    ]
