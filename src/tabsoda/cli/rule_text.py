"""Routing rules and findings as text that fits a terminal."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from tabsoda.events import Event, EventLog
from tabsoda.schema.column import Column
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import SkipRule
from tabsoda.skips.sentences import reasons_text

_TARGET_WIDTH = 16
_NUMBER = re.compile(r"\d+")
# Decisions whose details hold one number a clause, which add up over the columns.
_ADDED_UP = (
    "candidate rules turned down",
    "duplicate rules collapsed",
    "empty lines dropped",
    "skips known from codes kept",
    "skips withheld: respondent absent",
)


def one_line(text: str, width: int | None = None) -> str:
    """Make any label safe to print in one line: control characters and breaks become spaces."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if width is not None and len(text) > width:
        return text[: max(width - 1, 0)] + "…"
    return text


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
    """Wrap a text, with its later lines indented a little more."""
    return textwrap.fill(
        one_line(text), width, initial_indent=indent, subsequent_indent=indent + hanging
    )


def columns(cells: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """Line up cells in columns: the first ``left`` ones to the left, numbers to the right."""
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
    """Write rules as sentences, those with the same reason together.

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
    """Return the line that says what stands beside each rule."""
    return _target_row("rule", "skips", "", "blank", "asked", width)


def rivals_text(rules: RuleSet, width: int, limit: int = 10) -> list[str]:
    """Name the rules for which other conditions fit as well, for a person to choose."""
    doubtful = [rule for rule in rules if rule.rivals]
    if not doubtful:
        return []
    known = rules.column_of
    number = "1 rule" if len(doubtful) == 1 else f"{len(doubtful):,} rules"
    head = (
        f"Needs attention: other conditions fit as well as those of {number}. The data cannot tell"
        " which is the gate; choose on the page that tabsoda review opens."
    )
    lines = [paragraph(head, width)]
    for rule in doubtful[:limit]:
        others = "; or ".join(
            reasons_text(replace(rule, any_of=rival.any_of), known) for rival in rule.rivals
        )
        text = f"{rule.identifier} {rule.target}: {reasons_text(rule, known)}; or {others}"
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
    start = f"  {identifier:<5} {target:<{_TARGET_WIDTH}} "
    end = f" {blank:>8} {asked:>8}"
    room = max(width - len(start) - len(end), 0)
    return f"{start}{one_line(label, room):<{room}}{end}"


def events_text(events: EventLog, width: int, limit: int = 8) -> Iterator[str]:
    """Count the automatic decisions by what was decided, the most frequent first."""
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(event.decision, []).append(event)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    for decision, group in ordered[:limit]:
        names = _names([event.column for event in group if event.column])
        times = f"{len(group):,} x " if len(group) > 1 else ""
        amounts = _totals(event.detail for event in group) if decision in _ADDED_UP else ""
        text = f"{times}{decision}{f' ({amounts})' if amounts else ''}"
        yield paragraph(f"{text}{': ' if names else ''}{names}", width, "  ")
    if len(ordered) > limit:
        yield f"  and {len(ordered) - limit} other kinds of decision; --json lists all"


def _totals(details: Iterable[str]) -> str:
    """Add up the numbers of details such as "purity 3, support 1", word by word."""
    totals: Counter[str] = Counter()
    for clause in (clause for detail in details for clause in detail.split(", ")):
        totals[_NUMBER.sub("#", clause)] += sum(map(int, _NUMBER.findall(clause)))
    return ", ".join(words.replace("#", f"{n:,}") for words, n in totals.most_common())


def _names(names: Iterable[str], limit: int = 5) -> str:
    listed = list(dict.fromkeys(names))
    more = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {more} more" if more > 0 else "")
