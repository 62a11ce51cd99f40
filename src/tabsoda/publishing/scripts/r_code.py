"""Scripts for R: mice reads the tables, survey estimates, Rubin's rules are in the script."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from tabsoda.analysis.text import printable
from tabsoda.publishing.scripts.conditions import ConditionWriter
from tabsoda.publishing.scripts.plan import Part, Plan, ScriptColumn
from tabsoda.publishing.scripts.r_formulas import code, r_formula, text
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Code

_FAMILIES = {"gaussian": "gaussian()", "binomial": "binomial()", "poisson": "poisson()"}


def write(plan: Plan) -> str:
    """Return the script."""
    lines = [*(f"# {line}" for line in plan.head()), 'source("read.R")']
    if plan.design is not None:
        lines += ["library(survey)", f'options(survey.lonely.psu = "{plan.design.lonely}")']
    lines += ["", *_preparation(plan), "", files(__package__).joinpath("parts/rubin.R").read_text()]
    lines += _mean_function(plan)
    if any(part.kind == "quantile" for part in plan.parts):
        lines += ["", files(__package__).joinpath("parts/woodruff.R").read_text().rstrip()]
    lines += ["", "answer <- NULL"]
    for part in plan.parts:
        lines += ["", f"# {part.title}", *_estimate(plan, part)]
    if plan.request.exponentiate:
        ratios = 'exp(answer[c("estimate", "low", "high")])'
        lines += ["", f'answer[c("exp_estimate", "exp_low", "exp_high")] <- {ratios}']
    return "\n".join([*lines, "", "print(answer, digits = 4, row.names = FALSE)", ""])


def _vector(values: Sequence[Code]) -> str:
    return f"c({', '.join(code(value) for value in values)})"


def _preparation(plan: Plan) -> list[str]:
    """Return the lines that turn labels back into codes, and select respondents."""
    lines = ["# Answers by their codes in the survey, as numbers where all codes are numbers."]
    if any(one.is_question and one.column.is_categorical for one in plan.columns.values()):
        lines.append(
            "codes <- function(v) levels$code[levels$variable == v][as.integer(long[[v]])]"
        )
    for one in plan.columns.values():
        lines += _column(one)
    lines += ["# In which draws and rows a respondent belongs to the subset and has all answers."]
    lines += ["draws <- split(long, long$.imp)[-1]"]
    conditions = [] if plan.request.where is None else [_Conditions(plan).write(plan.request.where)]
    design = plan.design
    weights = None if design is None else design.weights
    lines.append("draws <- lapply(draws, function(d) {")
    if weights is not None:
        name = plan.written(weights)
        lines.append(f"  d <- d[!is.na(d${name}), ]")
        conditions.append(f"{name} != 0")
    lines.append(f"  d$weight_ <- {'1' if weights is None else f'd${plan.written(weights)}'}")
    if design is not None and isinstance(design.population, float):
        lines.append(f"  d$population_ <- {plain(design.population)}")
    chosen = " & ".join(_in_brackets(conditions)) or "TRUE"
    return [*lines, f"  d$selected_ <- with(d, {chosen}) %in% TRUE", "  d", "})"]


def _in_brackets(conditions: Sequence[str]) -> list[str]:
    return [f"({one})" for one in conditions] if len(conditions) > 1 else list(conditions)


def _column(one: ScriptColumn) -> list[str]:
    """Return the lines that prepare a column."""
    at = f"long${one.written}"
    if not one.is_question:
        return [f"{at}[{at} %in% {_vector(one.blanks)}] <- NA"] if one.blanks else []
    if not one.column.is_categorical:
        return []
    found = f"codes({text(one.written)})"
    if one.has_numbers:
        labels = [one.column.describe_level(level) for level in one.column.levels]
        return [f"{at} <- as.numeric({found})  # {_comment(', '.join(labels))}"]
    return [f"{at} <- factor({found}, {_vector([str(level) for level in one.column.levels])})"]


def _comment(labels: str) -> str:
    line = printable(labels)
    return line if len(line) <= 100 else line[:99] + "…"


class _Conditions(ConditionWriter):
    """Blanks are NA in R, and NA follows the same three-valued logic."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.result)
        self.plan = plan

    def column(self, name: str) -> str:
        return self.plan.written(name)

    def position(self, name: str) -> str:
        return f"as.integer({self.plan.written(name)})"

    def level(self, name: str, sign: str, level: Code) -> str:
        return f"{self.plan.written(name)} {sign} {text(str(level))}"

    def blank(self, name: str, *, negated: bool) -> str:
        return f"{'!' * negated}is.na({self.plan.written(name)})"

    def compared(self, left: str, sign: str, right: str, names: Sequence[str]) -> str:
        return f"{left} {sign} {right}"

    def joined(self, parts: Sequence[str], *, every: bool) -> str:
        return (" & " if every else " | ").join(f"({part})" for part in parts)


def _design(plan: Plan) -> str:
    """Return the call of svydesign for the table ``d``."""
    design = plan.design
    if design is None:
        return ""
    clusters = "1" if design.clusters is None else plan.written(design.clusters)
    parts = [f"ids = ~{clusters}"]
    if design.strata is not None:
        parts.append(f"strata = ~{plan.written(design.strata)}")
    parts.append("weights = ~weight_")
    if design.population is not None:
        is_column = isinstance(design.population, str)
        parts.append(f"fpc = ~{plan.written(design.population) if is_column else 'population_'}")
    parts += ["nest = TRUE"] * design.nest
    return f"svydesign({', '.join(parts)}, data = d)"


def _mean_function(plan: Plan) -> list[str]:
    """Return the function for the means of some columns, which most estimates are made of."""
    lines = ["# Means of the columns of z over the chosen rows of a table, with their covariance."]
    if plan.design is None:
        return [
            *lines,
            "means_of <- function(d, chosen, z) {",
            "  z <- z[chosen, , drop = FALSE]",
            "  list(estimates = colMeans(z), covariance = cov(z) / nrow(z), df = nrow(z) - 1,",
            "       n = nrow(z))",
            "}",
        ]
    return [
        *lines,
        "means_of <- function(d, chosen, z) {",
        '  d <- cbind(d, setNames(data.frame(z), paste0("z", seq_len(ncol(z)))))',
        f"  s <- {_design(plan)}[chosen, ]",
        '  found <- svymean(reformulate(paste0("z", seq_len(ncol(z)))), s)',
        "  list(estimates = setNames(coef(found), colnames(z)), covariance = vcov(found),",
        "       df = degf(s), n = sum(chosen))",
        "}",
    ]


def _estimate(plan: Plan, part: Part) -> list[str]:
    """Return the lines that add an estimate to the answer, in every group."""
    names = [plan.written(name) for name in (*part.names, *plan.groups)]
    answered = " & ".join(f"!is.na(d${name})" for name in names)
    lines = [f"answered <- function(d) d$selected_ & {answered}", *_one(plan, part)]
    shares = ", shares = TRUE" if part.kind == "share" else ""
    if part.kind == "quantile":
        shared = f"c({', '.join(str(share) for share in part.quantiles)})"
        call = f"woodruff({text(plan.written(part.names[0]))}, {shared}, inside)"
    else:
        call = f"pooled(lapply(draws, function(d) one(d, inside(d))){shares})"
    if not plan.groups:
        return [*lines, "inside <- answered", f"answer <- rbind(answer, {call})"]
    return [
        *lines,
        f"groups <- expand.grid({_group_levels(plan)}, stringsAsFactors = FALSE)",
        "for (i in seq_len(nrow(groups))) {",
        "  inside <- function(d) {",
        "    member <- answered(d)",
        "    for (v in names(groups))",
        "      if (!is.na(groups[i, v])) member <- member & d[[v]] == groups[i, v]",
        "    member",
        "  }",
        '  level <- sapply(groups[i, , drop = FALSE], function(v) if (is.na(v)) "all" else v)',
        '  label <- paste(names(groups), "=", level, collapse = ", ")',
        f"  found <- tryCatch({call}, error = function(e) NULL)",
        '  if (is.null(found)) cat("Not estimated:", label, "\\n")',
        "  else answer <- rbind(answer, cbind(group = label, found))",
        "}",
    ]


def _group_levels(plan: Plan) -> str:
    """Return the levels of the groups; NA stands for the line of a table for all rows."""
    parts = []
    for name in reversed(plan.groups):
        levels = [code(_level(plan.columns[name], level)) for level in plan.levels(name)]
        if plan.with_total and name == plan.groups[-1]:
            levels.append("NA")
        parts.append(f"{plan.written(name)} = c({', '.join(levels)})")
    return ", ".join(parts)


def _level(column: ScriptColumn, level: Code) -> Code:
    return level if column.has_numbers else str(level)


def _one(plan: Plan, part: Part) -> list[str]:
    """Return the function ``one``, which estimates from one table."""
    if part.kind == "quantile":
        return []
    return [
        "one <- function(d, chosen) {",
        *(f"  {line}" for line in _BODIES[part.kind](plan, part)),
        "}",
    ]


def _mean(plan: Plan, part: Part) -> list[str]:
    name = plan.written(part.names[0])
    return [f"means_of(d, chosen, cbind({name} = d${name}))"]


def _share(plan: Plan, part: Part) -> list[str]:
    column = plan.columns[part.names[0]]
    levels = _vector([_level(column, level) for level in column.column.levels])
    return [
        f"levels_of <- {levels}",
        f"z <- sapply(levels_of, function(level) as.numeric(d${column.written} == level))",
        "means_of(d, chosen, matrix(z, nrow(d), dimnames = list(NULL, levels_of)))",
    ]


def _total(plan: Plan, part: Part) -> list[str]:
    name = plan.written(part.names[0])
    if plan.design is not None:
        return [
            f"s <- {_design(plan)}[chosen, ]",
            f"found <- svytotal(~{name}, s)",
            "list(estimates = coef(found), covariance = vcov(found), df = degf(s),",
            "     n = sum(chosen))",
        ]
    return [
        "# Respondents who are not chosen add nothing, but are part of the sample.",
        f"z <- ifelse(chosen, d${name}, 0)",
        f"list(estimates = c({name} = sum(z)), covariance = length(z) * var(z),",
        "     df = sum(chosen) - 1, n = sum(chosen))",
    ]


def _ratio(plan: Plan, part: Part) -> list[str]:
    above, below = (plan.written(name) for name in part.names)
    label = text(f"{part.names[0]} / {part.names[1]}")
    if plan.design is not None:
        return [
            f"s <- {_design(plan)}[chosen, ]",
            f"found <- svyratio(~{above}, ~{below}, s)",
            f"list(estimates = setNames(coef(found), {label}), covariance = vcov(found),",
            "     df = degf(s), n = sum(chosen))",
        ]
    return [
        "d <- d[chosen, ]",
        f"ratio <- sum(d${above}) / sum(d${below})",
        f"z <- (d${above} - ratio * d${below}) / mean(d${below})",
        f"list(estimates = setNames(ratio, {label}), covariance = var(z) / nrow(d),",
        "     df = nrow(d) - 1, n = nrow(d))",
    ]


def _model(plan: Plan, part: Part) -> list[str]:
    family = plan.request.family
    factors = [plan.columns[name] for name in part.names if plan.columns[name].is_factor]
    lines = [
        f"d${one.written} <- droplevels(factor(ifelse(chosen, as.character(d${one.written}), NA),"
        f" {_vector([str(plain(level)) for level in one.column.levels])}))"
        for one in factors
    ]
    formula = r_formula(plan)
    exact = "control = glm.control(epsilon = 1e-13, maxit = 100)"
    if plan.design is None:
        fit = (
            f"found <- lm({formula}, d[chosen, ])"
            if family == "gaussian"
            else f"found <- glm({formula}, {_FAMILIES[family]}, d[chosen, ], {exact})"
        )
    else:
        # The quasi families have the same estimates and no warning about weights.
        kind = _FAMILIES[family].replace("binomial", "quasibinomial")
        kind = kind.replace("poisson", "quasipoisson")
        rest = "" if family == "gaussian" else f", family = {kind}, {exact}"
        fit = f"found <- svyglm({formula}, {_design(plan)}[chosen, ]{rest})"
    return [
        *lines,
        fit,
        "list(estimates = coef(found), covariance = vcov(found), df = found$df.residual,",
        "     n = sum(chosen))",
    ]


_BODIES = {"mean": _mean, "share": _share, "total": _total, "ratio": _ratio, "model": _model}
