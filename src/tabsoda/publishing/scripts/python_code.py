"""Scripts for Python: pandas reads the tables, statsmodels fits models; nothing of TabSODA."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from tabsoda.errors import InputError
from tabsoda.publishing.scripts.conditions import ConditionWriter
from tabsoda.publishing.scripts.plan import Part, Plan, ScriptColumn
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Code


def write(plan: Plan) -> str:
    """Return the script."""
    is_model = plan.request.kind == "formula"
    lines = [*(f"# {line}" for line in plan.head())]
    lines += ["import numpy as np", "import pandas as pd", "from scipy import special, stats"]
    lines += ["import patsy", "import statsmodels.api as sm"] if is_model else []
    if is_model:
        lines.append("from numpy import " + ", ".join(_functions(plan.request.of[0])))
    lines += ["", *_preparation(plan), "", ""]
    names = ["rubin", "influence", "simple_sample" if plan.design is None else "design_sample"]
    names += ["woodruff"] if any(part.kind == "quantile" for part in plan.parts) else []
    lines.append("\n\n".join(_part(name) for name in names))
    lines += ["", "", "answers = []"]
    for part in plan.parts:
        lines += ["", f"# {part.title}", *_estimate(plan, part)]
    lines += ["", "answer = pd.concat(answers)"]
    if plan.request.exponentiate:
        lines.append('for name in ("estimate", "low", "high"):')
        lines.append('    answer[f"exp_{name}"] = np.exp(answer[name])')
    return "\n".join([*lines, "print(answer.to_string(index=False))", ""])


def _part(name: str) -> str:
    return files(__package__).joinpath(f"parts/{name}.py.txt").read_text(encoding="utf-8")


def _functions(formula: str) -> list[str]:
    """Return the functions of numpy that a formula names without ``np.``; at least one."""
    from tabsoda.publishing.scripts.formulas import FUNCTIONS

    return [name for name in FUNCTIONS if f"{name}(" in formula] or ["log"]


def _preparation(plan: Plan) -> list[str]:
    lines = ['long = pd.read_parquet("imputations.parquet")']
    if plan.design is not None:
        # Strata with one cluster, as in R's survey.lonely.psu.
        lines.insert(0, f'LONELY = "{plan.design.lonely}"')
    for one in plan.columns.values():
        lines += _column(one)
    lines.append('draws = [t.copy() for m, t in long.groupby("_imputation") if m > 0]')
    design = plan.design
    lines += ["", "# In which draws and rows a respondent belongs to the subset."]
    lines.append("for number, t in enumerate(draws):")
    conditions = [] if plan.request.where is None else [_Conditions(plan).write(plan.request.where)]
    weights = None if design is None else design.weights
    if weights is not None:
        name = repr(plan.written(weights))
        lines.append(f"    t = t[t[{name}].notna()].copy()")
        lines.append(f'    t["weight_"] = t[{name}].astype(float)')
        conditions.append('(t["weight_"] != 0)')
    else:
        lines.append('    t["weight_"] = 1.0')
    lines += [f"    {line}" for line in _sample_columns(plan)]
    chosen = " & ".join(f"({one})" for one in conditions)
    inside = f"({chosen}).to_numpy(bool)" if conditions else "True"
    return [*lines, f'    t["chosen_"] = {inside}', "    draws[number] = t"]


def _sample_columns(plan: Plan) -> list[str]:
    """Return the lines that name strata, clusters and population."""
    design = plan.design
    if design is None:
        return []
    lines = []
    for role, part in (("stratum", design.strata), ("cluster", design.clusters)):
        default = "0" if role == "stratum" else "np.arange(len(t))"
        found = default if part is None else f"t[{plan.written(part)!r}]"
        lines.append(f't["{role}_"] = {found}')
    if isinstance(design.population, str):
        lines.append(f't["population_"] = t[{plan.written(design.population)!r}].astype(float)')
    elif design.population is not None:
        lines.append(f't["population_"] = {float(design.population)!r}')
    return lines


def _column(one: ScriptColumn) -> list[str]:
    at = f"long[{one.written!r}]"
    if one.is_question and one.has_numbers:
        return [f"{at} = {at}.astype(float)"]
    if not one.blanks:
        return []
    codes = ", ".join(repr(plain(blank)) for blank in one.blanks)
    return [f"{at} = {at}.mask({at}.isin([{codes}]))"]


class _Conditions(ConditionWriter):
    """A comparison with NaN is false, except that NaN differs from everything."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.result)
        self.plan = plan

    def column(self, name: str) -> str:
        return f"t[{self.plan.written(name)!r}]"

    def position(self, name: str) -> str:
        levels = [str(level) for level in self.plan.columns[name].column.levels]
        return f"(pd.Categorical({self.column(name)}, {levels!r}).codes + 1)"

    def level(self, name: str, sign: str, level: Code) -> str:
        compared = f"({self.column(name)} {sign} {str(level)!r})"
        return f"({compared} & {self.column(name)}.notna())" if sign == "!=" else compared

    def blank(self, name: str, *, negated: bool) -> str:
        return f"{self.column(name)}.{'notna' if negated else 'isna'}()"

    def compared(self, left: str, sign: str, right: str, names: Sequence[str]) -> str:
        known = "".join(f" & {self.column(name)}.notna()" for name in names)
        return f"(({left} {sign} {right}){known})"

    def joined(self, parts: Sequence[str], *, every: bool) -> str:
        return "(" + (" & " if every else " | ").join(parts) + ")"


def _estimate(plan: Plan, part: Part) -> list[str]:
    needed = [plan.written(name) for name in (*part.names, *plan.groups)]
    lines = [
        "def answered(t):",
        f'    return (t["chosen_"] & t[{needed!r}].notna().all(axis=1)).to_numpy()',
        "",
        "",
    ]
    lines += _one(plan, part)
    if not plan.groups:
        return [*lines, f"answers.append({_call(plan, part, 'answered')})"]
    levels = []
    for name in plan.groups:
        column = plan.columns[name]
        codes = [_level(column, level) for level in plan.levels(name)]
        extra = ", None" if plan.with_total and name == plan.groups[-1] else ""
        levels.append(f"[{', '.join(map(repr, codes))}{extra}]")
    names = [plan.written(name) for name in plan.groups]
    return [
        *lines,
        "from itertools import product",
        "",
        f"names = {names!r}",
        f"for group in product({', '.join(levels)}):",
        "    def inside(t):",
        "        member = answered(t)",
        "        for name, level in zip(names, group):",
        "            # None is the line of a table for all rows.",
        "            member = member if level is None else member & (t[name] == level).to_numpy()",
        "        return member",
        "",
        "    shown = ['all' if level is None else level for level in group]",
        "    label = ', '.join(f'{name} = {level}' for name, level in zip(names, shown))",
        "    try:",
        f"        found = {_call(plan, part, 'inside')}",
        "    except (ValueError, ZeroDivisionError, np.linalg.LinAlgError) as error:",
        "        print('Not estimated:', label, error)",
        "        continue",
        "    answers.append(found.assign(group=label))",
    ]


def _call(plan: Plan, part: Part, inside: str) -> str:
    if part.kind == "quantile":
        shares = ", ".join(str(share) for share in part.quantiles)
        return f"woodruff({plan.written(part.names[0])!r}, np.array([{shares}]), {inside})"
    if part.kind == "model":
        return f"pooled([one(t, {inside}(t)) for t in draws], terms_of(draws[0], {inside}))"
    names = {
        "share": [str(plain(level)) for level in plan.columns[part.names[0]].column.levels],
        "ratio": [" / ".join(part.names)],
    }.get(part.kind, [part.names[0]])
    shares = ", shares=True" if part.kind == "share" else ""
    return f"pooled([one(t, {inside}(t)) for t in draws], {names!r}{shares})"


def _level(column: ScriptColumn, level: Code) -> Code:
    return plain(level) if column.has_numbers else str(level)


def _one(plan: Plan, part: Part) -> list[str]:
    if part.kind == "quantile":
        return []
    return ["def one(t, inside):", *_BODIES[part.kind](plan, part), "", ""]


def _check_size() -> list[str]:
    return ["    if inside.sum() < 2:", "        raise ValueError('too few respondents')"]


def _mean(plan: Plan, part: Part) -> list[str]:
    name = plan.written(part.names[0])
    return [*_check_size(), f"    return fit_means(t, inside, t[[{name!r}]].to_numpy(float))"]


def _share(plan: Plan, part: Part) -> list[str]:
    column = plan.columns[part.names[0]]
    levels = [_level(column, level) for level in column.column.levels]
    return [
        *_check_size(),
        f"    levels = {levels!r}",
        f"    z = np.column_stack([t[{column.written!r}] == level for level in levels])",
        "    return fit_means(t, inside, z.astype(float))",
    ]


def _total(plan: Plan, part: Part) -> list[str]:
    name = plan.written(part.names[0])
    lines = [
        *_check_size(),
        f"    z = np.where(inside, t[{name!r}] * t['weight_'], 0.0)[:, None]",
    ]
    if plan.design is None:
        # Respondents who are not chosen add nothing, but are part of the sample.
        return [
            *lines,
            "    return z.sum(axis=0), len(z) * z.var(ddof=1), inside.sum() - 1, inside.sum()",
        ]
    return [
        *lines,
        "    covariance, df = linearised(t, inside, z)",
        "    return z.sum(axis=0), covariance, df, inside.sum()",
    ]


def _ratio(plan: Plan, part: Part) -> list[str]:
    above, below = (plan.written(name) for name in part.names)
    lines = [
        *_check_size(),
        f"    above = np.where(inside, t[{above!r}] * t['weight_'], 0.0)",
        f"    below = np.where(inside, t[{below!r}] * t['weight_'], 0.0)",
        "    ratio = above.sum() / below.sum()",
        "    pulls = ((above - ratio * below) / below.sum())[:, None]",
    ]
    if plan.design is None:
        return [
            *lines,
            "    n = inside.sum()",
            "    return [ratio], n / (n - 1) * pulls.T @ pulls, n - 1, n",
        ]
    return [
        *lines,
        "    covariance, df = linearised(t, inside, pulls)",
        "    return [ratio], covariance, df, inside.sum()",
    ]


def _model(plan: Plan, part: Part) -> list[str]:
    family = plan.request.family.capitalize()
    weights = "" if plan.design is None else ', var_weights=t["weight_"].to_numpy()[inside]'
    lines = [
        "    y, x = matrices(t, inside)",
        f"    model = sm.GLM(y, x, family=sm.families.{family}(){weights})",
        "    fit = model.fit(tol=1e-12, maxiter=200)",
    ]
    if plan.design is None:
        lines.append("    return fit.params, fit.cov_params(), len(y) - x.shape[1], len(y)")
        return [*lines, *_matrices(plan, part)]
    return [
        *lines,
        "    pulls = np.zeros((len(t), x.shape[1]))",
        '    residuals = t["weight_"].to_numpy()[inside] * (y - fit.predict(x))',
        "    pulls[inside] = residuals[:, None] * x @ fit.normalized_cov_params",
        "    covariance, df = linearised(t, inside, pulls)",
        "    return fit.params, covariance, df + 1 - x.shape[1], len(y)",
        *_matrices(plan, part),
    ]


def _matrices(plan: Plan, part: Part) -> list[str]:
    """Return the functions that build outcome and terms; questions with levels are categories."""
    factors = {
        plan.written(name): [_level(plan.columns[name], one) for one in plan.levels(name)]
        for name in part.names
        if plan.columns[name].is_question and plan.columns[name].is_factor
    }
    names = [plan.written(name) for name in part.names]
    return [
        "",
        "",
        "def design_matrices(t, inside):",
        f"    frame = t.loc[inside, {names!r}].copy()",
        f"    for name, levels in {factors!r}.items():",
        "        found = pd.Categorical(frame[name], levels)",
        "        frame[name] = found.remove_unused_categories()",
        f"    return patsy.dmatrices({_formula(plan)!r}, frame, return_type='dataframe')",
        "",
        "",
        "def matrices(t, inside):",
        "    outcome, terms = design_matrices(t, inside)",
        "    # A comparison has a column for no and one for yes.",
        "    return outcome.to_numpy()[:, -1], terms.to_numpy()",
        "",
        "",
        "def terms_of(t, inside):",
        "    return list(design_matrices(t, inside(t))[1].columns)",
    ]


def _formula(plan: Plan) -> str:
    """Return the formula; its columns have their own names in the exported file."""
    formula: str = plan.request.of[0]
    renamed = [one.name for one in plan.columns.values() if one.written != one.name]
    if renamed:
        raise InputError(
            "has another name in the exported file, so that the formula cannot be used there",
            column=renamed[0],
            next_step="Rename the column in the survey",
        )
    return formula


_BODIES = {"mean": _mean, "share": _share, "total": _total, "ratio": _ratio, "model": _model}
