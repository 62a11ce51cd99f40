"""What ``tabsoda impute`` prints: the plan before it starts, and the result."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.cli.console import output, show
from tabsoda.cli.progress_lines import duration_text
from tabsoda.cli.rule_text import columns, events_text, one_line, paragraph, short_name

if TYPE_CHECKING:
    from tabsoda.edits.record import EditRecord
    from tabsoda.imputer.plan import ImputationPlan
    from tabsoda.results.imputations import Imputations
    from tabsoda.routing.record import RoutingRecord

# Runs expected to take longer than this are announced before they start.
_LONG_SECONDS = 20
_VARIABLES_SHOWN = 12
_RULES_NAMED = 5


def cost_text(seconds: float, memory_bytes: float) -> str:
    """Return a sentence with the estimated time and memory of a run.

    Examples
    --------
    >>> cost_text(130, 3e9)
    'This takes about 2 minutes and 3.0 GB of memory.'
    """
    giga = memory_bytes / 1e9
    memory = f"{giga:.1f} GB" if giga >= 1 else f"{max(memory_bytes / 1e6, 1):.0f} MB"
    return f"This takes about {duration_text(seconds)} and {memory} of memory."


def announce_plan(plan: ImputationPlan) -> None:
    """Warn on stderr if no skip is known, and print the estimated cost of a long run."""
    states = plan.survey.states
    lines = no_skips_text(int(states.missing.sum()), int(states.skipped.sum()))
    if plan.cost.seconds > _LONG_SECONDS:
        lines.append(cost_text(plan.cost.seconds, plan.cost.memory_bytes))
    for line in lines:
        sys.stderr.write(f"{line}\n")


def show_plan(facts: dict[str, Any]) -> None:
    """Print what would be imputed, variable by variable."""
    keys = ["answered", "skipped", "to_impute", *["unresolved"] * (facts["unresolved"] > 0)]
    rows = [["variable", "kind", *(key.replace("_", " ") for key in keys)]]
    for name, variable in facts["variables"].items():
        counts = (variable[key] for key in keys)
        rows.append([short_name(name, 36), variable["kind"], *(f"{count:,}" for count in counts)])
    show(
        [
            *columns(rows, left=2),
            "",
            f"{facts['to_impute']:,} of {facts['cells']:,} cells would be imputed.",
            *_left_missing_text(facts["left_missing"]),
            *_unresolved_text(facts["unresolved"]),
            *no_skips_text(
                facts["to_impute"], sum(one["skipped"] for one in facts["variables"].values())
            ),
            cost_text(facts["seconds"], facts["memory_bytes"]),
            "Nothing was written.",
        ]
    )


def _left_missing_text(unanswered: int) -> list[str]:
    """Return a line about the cells that cannot be imputed, if there are any."""
    text = f"{unanswered:,} cells stay missing: nobody answered their question."
    return [text] if unanswered else []


def no_skips_text(n_missing: int, n_skipped: int) -> list[str]:
    """Return a warning if there are blanks and none of them is known to be a skip.

    Examples
    --------
    >>> no_skips_text(30, 20), len(no_skips_text(30, 0))
    ([], 1)
    """
    if not n_missing or n_skipped:
        return []
    text = (
        "No rule, mask or code marks a cell as skipped, so every blank is treated as a missing"
        " answer. If the questionnaire skips questions, find its routing with tabsoda mine, or"
        " write rules by hand if mining found none."
    )
    return [paragraph(text, output().width, hanging="")]


def _unresolved_text(count: int) -> list[str]:
    if not count:
        return []
    text = (
        f"{count:,} of them are unresolved: they depend on a missing answer. Each draw imputes that"
        " answer first, then skips or imputes them according to the rules."
    )
    return [paragraph(text, output().width)]


def _routing_text(routing: RoutingRecord | None) -> str:
    """Describe the effect of following the rules; empty if nothing depends on a missing gate.

    Examples
    --------
    >>> from tabsoda.routing import RoutingRecord
    >>> print(_routing_text(RoutingRecord(gates=3, followers=10, skipped=(3, 5))))
    Routing: 10 cells depend on 3 missing gates; on average 4 per draw were skipped.
    >>> print(_routing_text(RoutingRecord(left_missing={("ever", "r07"): 1}))[-86:])
    1 cell stays missing: no answer is consistent with the observed answers and rule r07.
    """
    if routing is None or routing.policy == "keep":
        return ""
    kept = routing.total("kept") / max(len(routing.skipped), 1)
    if not routing.followers + routing.withheld + routing.n_left_missing + kept:
        return ""
    skipped = routing.mean_skipped if routing.skipped else routing.skipped_in_point
    # Cells of absent respondents are skipped in every draw and counted separately.
    skipped -= routing.withheld
    how = "on average {:,.0f} per draw were" if routing.skipped else "{:,.0f} were"
    text = "Routing: no cell depends on a missing gate."
    if routing.followers:
        text = (
            f"Routing: {routing.followers:,} cells depend on {routing.gates:,} missing gates;"
            f" {how.format(skipped)} skipped."
        )
    if routing.withheld:
        text += f" {routing.withheld:,} cells of absent respondents were skipped as well."
    if kept:
        text += (
            f" On average {kept:,.1f} answers per draw are kept although the drawn gate skips their"
            " questions: they were given after the gate was refused."
        )
    if routing.left_missing:
        rules = sorted({rule for _, rule in routing.left_missing})
        named = ", ".join(rules[:_RULES_NAMED])
        more = f" and {len(rules) - _RULES_NAMED} more" if len(rules) > _RULES_NAMED else ""
        text += (
            f" {_cells(routing.n_left_missing)} missing: no answer is consistent with the observed"
            f" answers and {'rule' if len(rules) == 1 else 'rules'} {named}{more}."
        )
    return text


def _edits_text(edits: EditRecord | None) -> str:
    """Describe the effect of edits; empty without edits.

    Examples
    --------
    >>> from tabsoda.edits.record import EditRecord
    >>> print(_edits_text(EditRecord(draws=2, repaired={"A <= B": 6}, observed={"A <= B": 1})))
    Edits: on average 3.0 violations per draw were corrected. The observed answers of 1 respondent \
violate A <= B; they were not changed.
    """
    if edits is None:
        return ""
    text = f"Edits: on average {edits.mean_repaired:,.1f} violations per draw were corrected."
    if edits.observed:
        rows = max(edits.observed.values())
        title = next(name for name, count in edits.observed.items() if count == rows)
        others = len(edits.observed) - 1
        more = f", and those of others {others:,} more edits" if others else ""
        many = f"{rows:,} respondent{'s' * (rows != 1)}"
        text += f" The observed answers of {many} violate {title}{more}; they were not changed."
    if edits.unsatisfied:
        rows = sum(edits.unsatisfied.values())
        left = (
            f"{_cells(edits.n_left_missing)} missing"
            if edits.policy == "missing"
            else "they are imputed unconstrained"
        )
        text += (
            f" {rows:,} times no value satisfied {one_line(next(iter(edits.unsatisfied)), 80)}"
            f"{' or another edit' if len(edits.unsatisfied) > 1 else ''}: {left}."
        )
    return text


def _cells(count: int) -> str:
    return "1 cell stays" if count == 1 else f"{count:,} cells stay"


def show_result(result: Imputations, manifest: dict[str, Any], folder: Path) -> None:
    """Print what was imputed, the automatic decisions, and the files written."""
    width = output().width
    counts = manifest["counts"]
    most = sorted(result.counts().items(), key=lambda item: -item[1])[:_VARIABLES_SHOWN]
    most = [(name, n) for name, n in most if n]
    lines = [
        paragraph(
            f"Imputed: {counts['imputed']:,} missing answers of {counts['rows']:,} respondents,"
            f" in {duration_text(manifest['seconds'])}. Unchanged: {counts['answered']:,} answers"
            f" and {counts['skipped']:,} skipped cells.",
            width,
        ),
        "",
    ]
    routed = _routing_text(result.routing)
    if routed:
        lines += [paragraph(routed, width), ""]
    edited = _edits_text(result.edits)
    if edited:
        lines += [paragraph(edited, width), ""]
    if most:
        share = [[short_name(n, 36), f"{k:,}", f"{k / counts['rows']:.1%}"] for n, k in most]
        lines += [*columns([["most imputed", "cells", "of rows"], *share]), ""]
    explained = [one.n_left_missing for one in (result.routing, result.edits) if one is not None]
    unanswered = counts["left_missing"] - sum(explained)
    for text in _left_missing_text(unanswered):
        lines += [paragraph(text, width), ""]
    if len(result.events):
        lines += ["Automatic decisions:", *events_text(result.events, width), ""]
    show([*lines, *_contents(folder, len(result))])


def _contents(folder: Path, n_draws: int) -> Iterable[str]:
    yield f"In {folder}:"
    has_report = (folder / "report.html").exists()
    draws = [["  imputations/", f"{n_draws} draws, for pooled analyses"]] * (n_draws > 0)
    yield from columns(
        [
            ["  point.parquet", "one table: ordinals by mode, numbers by mean"],
            ["  point_median.parquet", "the same: ordinals and numbers by median"],
            *draws,
            ["  states.parquet", "answered, missing or skipped, cell by cell"],
            ["  model/", "to impute new rows without fitting again: --model"],
            ["  settings.json", "every setting used"],
            ["  manifest.json", "seed, versions, hashes, counts, decisions"],
            *([["  report.html", "warnings, observed against imputed, methods"]] * has_report),
        ],
        left=2,
    )
