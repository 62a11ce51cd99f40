"""Do-files for Stata: ``mi estimate``, with ``svy:`` if the sample has a design."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial

from tabsoda.errors import InputError
from tabsoda.publishing.scripts.conditions import ConditionWriter
from tabsoda.publishing.scripts.plan import Part, Plan, ScriptColumn
from tabsoda.publishing.scripts.stata_quantiles import quantile_lines
from tabsoda.publishing.scripts.stata_terms import model_command
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Code

_LONELY = {
    "fail": "missing",
    "remove": "certainty",
    "adjust": "centered",
    "average": "scaled",
}
_RATIOS = {"binomial": "or", "poisson": "irr"}


def write(plan: Plan) -> str:
    """Return the do-file."""
    notes = [line for note in _differences(plan) for line in textwrap.wrap(note, 96)]
    lines = [f"* {line}" for line in (*plan.head(), *notes)]
    lines += ["do imputations.do", *_preparation(plan)]
    many = len(plan.parts) > 1
    for number, part in enumerate(plan.parts, 1):
        lines += [f"* {part.title}", *_estimate(plan, part, str(number) if many else "")]
    return "\n".join([*lines, ""])


def _differences(plan: Plan) -> list[str]:
    """Say where Stata's numbers differ from those of TabSODA."""
    notes = []
    if plan.request.kind == "formula" and plan.design is not None:
        notes.append(
            "Estimates and standard errors are the same. Stata does not subtract the terms of a"
            " model from the degrees of freedom of the design, so that intervals are narrower."
        )
    elif plan.request.kind == "formula" and plan.request.family != "gaussian":
        notes.append(
            "Estimates and standard errors are the same. Stata takes the degrees of freedom without"
            " missing answers as infinite, TabSODA as respondents less terms."
        )
    if any(part.kind == "share" for part in plan.parts):
        notes.append("Intervals are not computed on the logit scale as those of TabSODA are.")
    if plan.design is not None and (plan.groups or plan.request.where):
        notes.append(
            "In a subset Stata counts the clusters of all strata that have a member, TabSODA and R"
            " only the clusters that have one: degrees of freedom can differ."
        )
    return notes


def text(value: str) -> str:
    r"""Quote a text for Stata; compound quotes take quotation marks inside.

    Examples
    --------
    >>> text("farm"), text('the "farm"')
    ('"farm"', '`"the "farm""\'')
    """
    line = " ".join(value.split())
    return f'`"{line}"\'' if '"' in line else f'"{line}"'


def code(value: Code) -> str:
    """Write a code as a number or a text."""
    return text(value) if isinstance(value, str) else str(plain(value))


def _preparation(plan: Plan) -> list[str]:
    lines = []
    for one in plan.columns.values():
        for blank in one.blanks:
            nothing = "." if one.has_numbers else '""'
            lines.append(
                f"quietly replace {one.written} = {nothing} if {one.written} == {code(blank)}"
            )
    design = plan.design
    if design is None:
        return lines
    if design.population is not None and not isinstance(design.population, str):
        lines.append(f"mi passive: generate double population_ = {plain(design.population)}")
    units = "_n" if design.clusters is None else plan.written(design.clusters)
    weight = "" if design.weights is None else f" [pweight = {plan.written(design.weights)}]"
    options = [f"strata({plan.written(design.strata)})"] if design.strata is not None else []
    if design.population is not None:
        is_column = isinstance(design.population, str)
        options.append(f"fpc({plan.written(design.population) if is_column else 'population_'})")
    options.append(f"singleunit({_LONELY[design.lonely]})")
    return [*lines, f"mi svyset {units}{weight}, {' '.join(options)}"]


class _Conditions(ConditionWriter):
    """Blanks are larger than every number in Stata, so comparisons exclude them."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.result)
        self.plan = plan

    def column(self, name: str) -> str:
        return self.plan.written(name)

    def position(self, name: str) -> str:
        if not self.plan.columns[name].is_question:
            raise InputError(
                "has texts that cannot be compared by < or > in Stata",
                column=name,
                next_step="Use the R or Python code",
            )
        return self.plan.written(name)

    def level(self, name: str, sign: str, level: Code) -> str:
        one = self.plan.columns[name]
        shown = str(one.column.levels.index(level) + 1) if one.is_question else text(str(level))
        return self.compared(one.written, sign, shown, [name])

    def blank(self, name: str, *, negated: bool) -> str:
        return f"{'!' * negated}missing({self.plan.written(name)})"

    def compared(self, left: str, sign: str, right: str, names: Sequence[str]) -> str:
        known = ", ".join(self.plan.written(name) for name in names)
        guard = f" & !missing({known})" if names else ""
        return f"({left} {sign} {right}{guard})"

    def joined(self, parts: Sequence[str], *, every: bool) -> str:
        return "(" + (" & " if every else " | ").join(parts) + ")"


def _estimate(plan: Plan, part: Part, number: str) -> list[str]:
    """Return the lines for one estimate, in every group."""
    used = f"used{number}_"
    needed = ", ".join(plan.written(name) for name in (*part.names, *plan.groups))
    chosen = [f"!missing({needed})"]
    if plan.request.where is not None:
        chosen.insert(0, _Conditions(plan).write(plan.request.where))
    if plan.design is not None and plan.design.weights is not None:
        weight = plan.written(plan.design.weights)
        chosen.append(f"{weight} != 0 & !missing({weight})")
    lines = [f"mi passive: generate byte {used} = {' & '.join(chosen)}"]
    if part.kind == "model":
        added, command = model_command(plan)
        lines += added
    else:
        command = _command(plan, part)
    chosen_in = partial(_body, plan, part, command, used)
    lines += _in_groups(plan, plan.groups, chosen_in(plan.groups))
    if plan.with_total:
        rest = plan.groups[:-1]
        lines += ["* All rows", *_in_groups(plan, rest, chosen_in(rest))]
    return lines


def _body(plan: Plan, part: Part, command: str, used: str, groups: tuple[str, ...]) -> list[str]:
    """Return the lines that estimate in one group, whose levels are in macros."""
    inside = used + "".join(
        f" & {plan.written(name)} == {_quoted(plan.columns[name], depth)}"
        for depth, name in enumerate(groups, 1)
    )
    if part.kind == "quantile":
        return quantile_lines(plan, part, inside)
    if part.kind == "total" and plan.design is None:
        # Respondents who are not chosen add nothing, but are part of the sample.
        value = f"cond({inside}, {plan.written(part.names[0])}, 0)"
        return [
            "capture drop total_",
            f"mi passive: generate double total_ = {value}",
            "mi estimate, esampvaryok cmdok: total total_",
        ]
    return [_call(plan, command, inside)]


def _call(plan: Plan, command: str, chosen: str) -> str:
    """Return the call of ``mi estimate``; a design takes the subset as a subpopulation."""
    head, comma, options = command.partition(",")
    shown = ""
    if plan.request.exponentiate and plan.request.family in _RATIOS:
        shown = f" {_RATIOS[plan.request.family]}"
    elif plan.request.exponentiate:
        shown = " eform"
    shown += " cmdok" if command.startswith("total ") else ""
    prefix = f"mi estimate, esampvaryok{shown}:"
    if plan.design is None:
        return f"{prefix} {head} if {chosen}{comma}{options}"
    subset = chosen if " " not in chosen else f"if {chosen}"
    return f"{prefix} svy, subpop({subset}): {command}"


def _in_groups(plan: Plan, groups: tuple[str, ...], body: list[str]) -> list[str]:
    """Put lines into one loop for each grouping column."""
    if not groups:
        return body
    lines = []
    for depth, name in enumerate(groups, 1):
        levels = " ".join(_level(plan.columns[name], level) for level in plan.levels(name))
        lines.append("    " * (depth - 1) + f"foreach group{depth} in {levels} {{")
    pad = "    " * len(groups)
    shown = ", ".join(f"{plan.written(name)} = `group{d}'" for d, name in enumerate(groups, 1))
    lines.append(f'{pad}display as text _newline `"{shown}"\'')
    lines += [f"{pad}{'capture noisily ' * line.startswith('mi estimate')}{line}" for line in body]
    return [*lines, *("    " * (depth - 1) + "}" for depth in range(len(groups), 0, -1))]


def _level(column: ScriptColumn, level: Code) -> str:
    if column.has_numbers:
        return str(plain(level))
    if column.is_question:
        return str(column.column.levels.index(level) + 1)
    return text(str(level))


def _quoted(column: ScriptColumn, depth: int) -> str:
    """Return the macro of a group, in quotation marks if the column has texts."""
    is_text = not column.has_numbers and not column.is_question
    return f"`\"`group{depth}'\"'" if is_text else f"`group{depth}'"


def _command(plan: Plan, part: Part) -> str:
    names = [plan.written(name) for name in part.names]
    if part.kind == "ratio":
        return f"ratio {names[0]} / {names[1]}"
    return f"{'proportion' if part.kind == 'share' else part.kind} {names[0]}"
