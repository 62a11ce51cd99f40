"""``tabsoda check``: check data against routing rules, bounds, edits and formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, show
from tabsoda.cli.rule_text import columns, one_line, paragraph, short_name, without_name
from tabsoda.cli.shared_options import AsJson, CodebookFile, DataFile, DescriptionFile, Unlisted
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.edits.checking import EditFinding
    from tabsoda.skips.checking import CheckResult
    from tabsoda.skips.unstated import UnstatedRule

_SHOWN = 20


def check(
    data: DataFile,
    rules: Path | None = None,
    /,
    *,
    survey: DescriptionFile = None,
    codebook: CodebookFile = None,
    unlisted: Unlisted = "error",
    mine: Annotated[bool, Parameter(negative="")] = False,
    as_json: AsJson = False,
) -> None:
    """List answers that rules or edits forbid, and blanks that no rule explains.

    Rules come from the rules file; bounds, edits and formulas from the survey's description. At
    least one of them is needed. Findings are not an error: the exit code is 0 with or without them.

    Parameters
    ----------
    rules
        The rules file, as tabsoda mine -o writes it. Without it, only edits are checked.
    mine
        Also mine the blanks that the rules leave unexplained, and list routing that they do not
        state. Useful with the rules of a questionnaire form.
    """
    from tabsoda.edits.checking import check_edits, refuse_contradictions
    from tabsoda.edits.edit_set import EditSet
    from tabsoda.reading import read_survey
    from tabsoda.skips.checking import check as check_table
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.skips.unstated import unstated_rules

    rule_set = None if rules is None else RuleSet.from_toml(rules)
    source = read_survey(data, survey, codebook=codebook, unlisted=unlisted)
    edits = EditSet.of(source.schema, source.table)
    if rule_set is None and not edits:
        raise InputError(
            "There is nothing to check",
            found="no rules file, and a description without bounds, edits and formulas",
            next_step="Name the rules file after the data, or add [[edit]] to the description",
        )
    if rule_set is None and mine:
        raise InputError(
            "The option --mine compares rules with the data, and no rules file was given",
            next_step="Name the rules file after the data, or run tabsoda mine",
        )
    found, contradiction = check_edits(edits, source.table), ""
    try:
        refuse_contradictions(edits, source.table, rule_set)
    except InputError as error:
        contradiction = str(error)
    result = None if rule_set is None else check_table(source.table, rule_set)
    unstated = unstated_rules(source.table, rule_set) if rule_set is not None and mine else None
    name, console = source.source or data.name, output()
    if as_json:
        facts = {} if result is None else result.to_dict()
        if unstated is not None:
            facts["unstated"] = [vars(one) for one in unstated]
        facts["edits"] = [one.to_dict() for one in found]
        emit_json({"source": name, **facts, "contradiction": contradiction or None})
        return
    labels = {column.name: without_name(column.label, column.name) for column in source.schema}
    lines = [] if result is None else [*_lines(result, labels, name, console.width)]
    if edits:
        head = f"{name}: {source.table.shape[0]:,} respondents" if result is None else ""
        lines += [head, "", *_edit_lines(found, console.width)]
    if contradiction:
        lines += ["", paragraph(f"tabsoda impute stops here: {contradiction}", console.width)]
    if unstated is not None:
        lines += _unstated(unstated, console.width)
    show(lines)


def _unstated(rules: Sequence[UnstatedRule], width: int) -> Iterator[str]:
    yield ""
    if not rules:
        yield "No further routing was found in the blanks that the rules leave unexplained."
        return
    yield "Routing in the data that the rules do not state:"
    for rule in rules[:_SHOWN]:
        yield paragraph(rule.sentence, width, "  ", "      ")
        yield paragraph(
            f"explains {rule.explains:,} more blanks; {rule.asked:,} of {rule.fired:,} were asked",
            width,
            " " * 8,
        )
    if len(rules) > _SHOWN:
        yield f"  and {len(rules) - _SHOWN} more; --json lists all"


def _edit_lines(findings: tuple[EditFinding, ...], width: int) -> Iterator[str]:
    broken = sorted((one for one in findings if one.violated), key=lambda one: -one.violated)
    many = f"{len(findings):,} bounds, edits and formulas"
    if not broken:
        yield paragraph(f"No observed answers violate the {many}.", width)
        return
    yield paragraph(f"Violated by observed answers: {len(broken):,} of {many}.", width)
    for one in broken[:_SHOWN]:
        rows = _rows_text(one.example_rows)
        more = ", ..." if one.violated > len(one.example_rows) else ""
        label = f" ({one.label})" if one.label else ""
        yield paragraph(f"{one_line(one.title, 200)}{label}", width, "  ", "      ")
        yield paragraph(
            f"{one.violated:,} of {one.known:,} respondents, in {rows}{more}", width, " " * 8
        )
    if len(broken) > _SHOWN:
        yield f"  and {len(broken) - _SHOWN} more; --json lists all"


def _rows_text(rows: Sequence[int]) -> str:
    """Return "row 3" or "rows 3, 8"."""
    return f"row{'s' * (len(rows) != 1)} {', '.join(map(str, rows))}"


def _lines(
    result: CheckResult, labels: Mapping[str, str], source: str, width: int
) -> Iterator[str]:
    totals = result.totals
    yield paragraph(
        f"{source}: {totals['rows']:,} respondents, {totals['columns']:,} questions,"
        f" {totals['rules']:,} rules.",
        width,
    )
    yield ""
    yield from columns(
        [
            ["answered", f"{totals['answered']:,}"],
            ["skipped by a rule or a code", f"{totals['skipped']:,}"],
            ["refused or don't know", f"{totals['declined']:,}"],
            ["blank and not explained", f"{totals['unexplained']:,}"],
        ]
    )
    yield ""
    yield from _violations(result, width)
    yield from _unexplained(result, labels, width)


def _violations(result: CheckResult, width: int) -> Iterator[str]:
    if not result.violations:
        yield "Nobody answered a question that a rule skips."
        yield ""
        return
    yield paragraph(
        f"Answered although skipped: {result.n_answered_although_skipped:,} answers against"
        f" {len(result.violations):,} rule{'s' * (len(result.violations) != 1)}.",
        width,
    )
    for finding in result.violations[:_SHOWN]:
        rows = _rows_text(finding.example_rows)
        more = ", ..." if finding.answered > len(finding.example_rows) else ""
        yield paragraph(f"{finding.identifier}  {finding.sentence}", width, "  ", "      ")
        yield paragraph(
            f"{finding.answered:,} of {finding.fired:,} answered, in {rows}{more}",
            width,
            " " * 8,
        )
    if len(result.violations) > _SHOWN:
        yield f"  and {len(result.violations) - _SHOWN} more rules; --json lists all"
    yield ""


def _unexplained(result: CheckResult, labels: Mapping[str, str], width: int) -> Iterator[str]:
    if not result.unexplained:
        yield "Every blank is explained."
        return
    yield (
        f"Blank and not explained, in {len(result.unexplained):,}"
        f" question{'s' * (len(result.unexplained) != 1)}:"
    )
    shown = result.unexplained[:_SHOWN]
    names = [short_name(finding.column, width // 2) for finding in shown]
    room = max(width - max(map(len, names)) - 26, 8)
    rows = [["  question", "", "blank", "of asked"]]
    for finding, name in zip(shown, names, strict=True):
        asked = finding.answered + finding.declined + finding.unexplained
        rows.append(
            [
                f"  {name}",
                one_line(labels.get(finding.column, ""), room),
                f"{finding.unexplained:,}",
                f"{finding.unexplained / asked:.1%}",
            ]
        )
    yield from columns(rows, left=2)
    if len(result.unexplained) > _SHOWN:
        yield f"  and {len(result.unexplained) - _SHOWN} more questions; --json lists all"
