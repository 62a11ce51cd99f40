"""HTML for surveys, rules and results in a notebook: a few lines without pictures or scripts.

All text from the survey is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tabsoda._internal.svg import element

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.survey import Survey

_MOST_ROWS = 12
_LONGEST = 120


def survey_html(survey: Survey) -> str:
    """Show a survey: its size, and the states of its questions."""
    states = survey.states
    total = states.states.size or 1
    parts = [
        f"{int(mask.sum()):,} {name} ({mask.sum() / total:.1%})"
        for name, mask in (
            ("answered", states.answered),
            ("missing", states.missing),
            ("skipped", states.skipped),
        )
    ]
    heading = (
        f"Survey {survey.source}: {states.shape[0]:,} respondents, {states.shape[1]:,} questions"
    )
    rows = [
        (
            column.name,
            column.label,
            column.kind.value,
            f"{int(states.answered[:, place].sum()):,}",
            f"{int(states.missing[:, place].sum()):,}",
            f"{int(states.skipped[:, place].sum()):,}",
        )
        for place, column in enumerate(survey.table.columns[:_MOST_ROWS])
    ]
    names = ("question", "label", "kind", "answered", "missing", "skipped")
    return _shown(heading, ", ".join(parts), names, rows, states.shape[1])


def rules_html(rules: RuleSet) -> str:
    """Show routing rules as sentences."""
    active = len(rules.active)
    rejected = f", {len(rules) - active:,} rejected" if active < len(rules) else ""
    heading = f"{len(rules):,} routing rules{rejected}"
    rows = [
        (rule.identifier, rules.sentence(rule), rule.status.value)
        for rule in rules.rules[:_MOST_ROWS]
    ]
    return _shown(
        heading, rules.provenance.source, ("rule", "sentence", "status"), rows, len(rules)
    )


def imputations_html(result: Imputations) -> str:
    """Show a result: how much was imputed, and in which questions most."""
    counts = {name: n for name, n in result.counts().items() if n}
    n_rows = max(result.table.shape[0], 1)
    heading = f"{sum(counts.values()):,} imputed cells, {len(result):,} draws"
    facts = f"{result.table.shape[0]:,} respondents, {result.table.shape[1]:,} questions"
    most = sorted(counts.items(), key=lambda one: -one[1])[:_MOST_ROWS]
    rows = [(name, f"{n:,}", f"{n / n_rows:.1%}") for name, n in most]
    return _shown(heading, facts, ("question", "imputed", "of rows"), rows, len(counts))


def _shown(
    heading: str, facts: str, names: Sequence[str], rows: Iterable[Sequence[str]], total: int
) -> str:
    head = element("tr", *(element("th", name) for name in names))
    body = [element("tr", *(element("td", _cut(cell)) for cell in row)) for row in rows]
    more = total - len(body)
    parts = [element("p", element("b", _cut(heading)), element("br"), _cut(facts))]
    if body:
        parts.append(element("table", element("thead", head), element("tbody", *body)))
    if more > 0 and body:
        parts.append(element("p", f"and {more:,} more"))
    return str(element("div", *parts))


def _cut(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
