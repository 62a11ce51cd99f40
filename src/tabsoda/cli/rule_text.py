"""Routing rules and findings as text that fits a terminal."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from tabsoda.event_texts import detail, heading
from tabsoda.events import Event, EventLog
from tabsoda.schema.column import Column
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import SkipRule
from tabsoda.skips.sentences import reasons_text

_TARGET_WIDTH = 16
# Kinds of events whose counts add up over the columns.
_ADDED_UP = (
    "candidate_rules_rejected",
    "duplicate_rules_collapsed",
    "empty_lines_dropped",
    "known_skips_kept",
    "skips_withheld",
)


def one_line(text: str, width: int | None = None) -> str:
    """Make any label safe to print in one line: control characters and breaks become spaces."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if width is not None and len(text) > width:
        return text[: max(width - 1, 0)] + "…"
    return text


def short_name(name: str, width: int) -> str:
    """Shorten a name in the middle: web forms put the answer at the end of a long question.

    Examples
    --------
    >>> short_name("Which of these pies do you like? - Apple", 20)
    'Which of t…? - Apple'
    """
    name = one_line(name)
    if len(name) <= width:
        return name
    end = max((width - 1) // 2, 0)
    return f"{name[: max(width - 1 - end, 0)]}…{name[len(name) - end :]}"


def without_name(label: str, name: str) -> str:
    """Drop the column's own name where a label begins with it.

    Examples
    --------
    >>> without_name("VOTED_W78. Did you vote?", "VOTED_W78"), without_name("Age group", "Age")
    ('Did you vote?', 'Age group')
    """
    rest = label[len(name) :] if label.lower().startswith(name.lower()) else ""
    found = re.match(r"\s*[.:)\-]+\s+(?=\S)", rest)
    return rest[found.end() :] if found else label


def paragraph(text: str, width: int, indent: str = "", hanging: str = "  ") -> str:
    """Wrap a text; lines after the first are indented further."""
    return textwrap.fill(
        one_line(text), width, initial_indent=indent, subsequent_indent=indent + hanging
    )


def columns(cells: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """Align cells in columns: the first ``left`` columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
    for row in cells:
        sides = [str.ljust if i < left else str.rjust for i in range(len(row))]
        yield "  ".join(map(lambda f, c, w: f(c, w), sides, row, widths)).rstrip()


def first_groups(rules: RuleSet, limit: int) -> list[list[SkipRule]]:
    """Group the rules by their reason, in questionnaire order, until there are ``limit`` rules."""
    groups: dict[object, list[SkipRule]] = {}
    for rule in rules:
        groups.setdefault(rule.any_of, []).append(rule)
    before = accumulate((len(group) for group in groups.values()), initial=0)
    return [group for group, n in zip(groups.values(), before, strict=False) if n < limit]


def rules_text(
    groups: Iterable[Sequence[SkipRule]], known: Mapping[str, Column], width: int
) -> Iterator[str]:
    """Write rules as sentences, grouped by reason.

    Parameters
    ----------
    groups : iterable of sequence of SkipRule
        See :func:`first_groups`.
    known : mapping of str to Column
    width : int
        Columns of the terminal.
    """
    for group in groups:
        yield paragraph(f"When {reasons_text(group[0], known)}:", width)
        yield from (_target_line(rule, known, width) for rule in group)


def rules_heading(width: int) -> str:
    """Return the heading of the columns that :func:`rules_text` writes."""
    return _target_row("rule", "skips", "", "blank", "asked", width)


def rivals_text(rules: RuleSet, width: int, limit: int = 10) -> list[str]:
    """List the rules whose target other conditions explain equally well."""
    doubtful = [rule for rule in rules if rule.rivals]
    if not doubtful:
        return []
    known = rules.column_of
    number = "1 rule" if len(doubtful) == 1 else f"{len(doubtful):,} rules"
    head = (
        f"Needs attention: for {number}, other conditions fit equally well. The data cannot show"
        " which one is the gate; choose it on the page that tabsoda review opens."
    )
    lines = [paragraph(head, width)]
    for rule in doubtful[:limit]:
        others = "; or ".join(
            reasons_text(replace(rule, any_of=rival.any_of), known) for rival in rule.rivals
        )
        target = short_name(rule.target, width // 2)
        text = f"{rule.identifier} {target}: {reasons_text(rule, known)}; or {others}"
        lines.append(paragraph(text, width, "  "))
    if len(doubtful) > limit:
        lines.append(f"  and {len(doubtful) - limit:,} more in the rules file")
    return [*lines, ""]


def _target_line(rule: SkipRule, known: Mapping[str, Column], width: int) -> str:
    counts, label = rule.evidence, without_name(known[rule.target].label, rule.target)
    return _target_row(
        rule.identifier,
        rule.target,
        label,
        f"{counts.fired_blank:,}",
        f"{counts.fired_answered:,}",
        width,
    )


def _target_row(
    identifier: str, target: str, label: str, blank: str, asked: str, width: int
) -> str:
    end = f" {blank:>8} {asked:>8}"
    most = max(width - len(end) - 10, _TARGET_WIDTH)
    start = f"  {identifier:<5} {short_name(target, most):<{_TARGET_WIDTH}} "
    room = max(width - len(start) - len(end), 0)
    return f"{start}{one_line(label, room):<{room}}{end}"


def events_text(events: EventLog, width: int, limit: int = 8) -> Iterator[str]:
    """Count the automatic decisions by what was decided, the most frequent first."""
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        groups.setdefault((event.kind, heading(event)), []).append(event)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (kind, decision), group in ordered[:limit]:
        names = _names([event.column for event in group if event.column], width // 2)
        times = f"{len(group):,} x " if len(group) > 1 else ""
        amounts = detail(_total(kind, group)) if kind in _ADDED_UP else ""
        text = f"{times}{decision}{f' ({amounts})' if amounts else ''}"
        yield paragraph(f"{text}{': ' if names else ''}{names}", width, "  ")
    more = len(ordered) - limit
    if more > 0:
        kinds = "kind" if more == 1 else "kinds"
        yield f"  and {more} other {kinds} of decision; --json lists all"


def _total(kind: str, events: Iterable[Event]) -> Event:
    """Return one event with the sums of the counts of several."""
    totals: Counter[str] = Counter()
    for event in events:
        totals.update(event.counts)
    return Event(kind, None, totals)


def _names(names: Iterable[str], width: int, limit: int = 5) -> str:
    listed = list(dict.fromkeys(names))
    more = len(listed) - limit
    return ", ".join(short_name(name, width) for name in listed[:limit]) + (
        f" and {more} more" if more > 0 else ""
    )
