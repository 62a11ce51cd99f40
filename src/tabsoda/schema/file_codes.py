"""Codes that mean the same throughout a file: ``.c`` is "No aplica" in 232 columns.

Input: the hints of all columns. Output: hints in which unlabelled codes have the meaning that the
rest of the file gives them, and one line per code instead of one per column.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tabsoda.events import EventLog
from tabsoda.schema.codes import CodeBook, numeric_if_possible
from tabsoda.schema.column import Code, Column, Reason
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.reasons import main_language, read_label
from tabsoda.schema.suspicion import is_lettered

# A meaning is the file's own if at least this many columns state it.
MIN_COLUMNS = 3
_NAMES_SHOWN = 4

ONE_MEANING = "code for no answer in several columns"
SEVERAL_MEANINGS = "code with several meanings"


def with_file_meanings(hints: Mapping[str, ColumnHints]) -> dict[str, ColumnHints]:
    """Add to every column what the other columns say: the language and the meaning of codes.

    A letter (``.c``) or a declared missing code has a meaning in the file if the labels of at
    least three columns give it a reason, and all of them the same.

    Examples
    --------
    >>> labelled = ColumnHints(level_labels={".c": "No aplica"})
    >>> hints = with_file_meanings({**dict.fromkeys("abc", labelled), "d": ColumnHints()})
    >>> hints["d"].file_reasons, hints["d"].language
    ({'.c': <Reason.SKIP: 'skip'>}, 'Spanish')
    """
    language = main_language(text for hint in hints.values() for text in hint.level_labels.values())
    stated: dict[Code, Counter[Reason]] = defaultdict(Counter)
    for hint in hints.values():
        for code, text in hint.level_labels.items():
            if is_lettered(code) or hint.is_missing(code):
                reading = read_label(text, language)
                stated[_key(code)][reading.reason if reading else Reason.OTHER] += 1
    meanings = {
        code: next(iter(reasons))
        for code, reasons in stated.items()
        if len(reasons) == 1 and reasons.total() >= MIN_COLUMNS and Reason.OTHER not in reasons
    }
    return {
        name: replace(hint, file_reasons=meanings, language=language)
        for name, hint in hints.items()
    }


@dataclass(frozen=True)
class FoundCode:
    """A code that stands for no answer in one column; ``label`` is empty if it has none."""

    column: str
    code: Code
    reason: Reason
    label: str = ""


def codes_of(column: Column) -> list[FoundCode]:
    """List the codes of a column that stand for no answer."""
    labels = CodeBook(column.level_labels)
    found = []
    for code, reason in column.special_codes.items():
        known = labels.find(code)
        label = column.level_labels[known] if known is not None else ""
        found.append(FoundCode(column.name, code, reason, label))
    return found


def log_codes(found: Iterable[FoundCode], events: EventLog, decision: str) -> None:
    """Log codes: one event for a code that means the same in several columns, else per column.

    A letter with several meanings is logged as a doubt, and so is a number that has one of them
    in several columns.
    """
    found = list(found)
    groups: dict[tuple[Code, Reason], list[FoundCode]] = defaultdict(list)
    for one in found:
        groups[_key(one.code), one.reason].append(one)
    for (code, reason), group in groups.items():
        if len(group) >= MIN_COLUMNS:
            events.add("describe", ONE_MEANING, detail=_in_words(code, reason, group))
    rest: dict[str, list[FoundCode]] = defaultdict(list)
    for one in found:
        if len(groups[_key(one.code), one.reason]) < MIN_COLUMNS:
            rest[one.column].append(one)
    for column, codes in rest.items():
        detail = ", ".join(f"{one.code!r} {one.reason.value}" for one in codes)
        events.add("describe", decision, column=column, detail=detail)
    _log_conflicts(groups, events)


def _log_conflicts(groups: Mapping[tuple[Code, Reason], list[FoundCode]], events: EventLog) -> None:
    meanings: dict[Code, list[tuple[Reason, list[FoundCode]]]] = defaultdict(list)
    for (code, reason), group in groups.items():
        meanings[code].append((reason, group))
    for code, several in meanings.items():
        often = is_lettered(code) or any(len(group) >= MIN_COLUMNS for _, group in several)
        if len(several) < 2 or not often:
            continue
        several.sort(key=lambda item: -len(item[1]))
        parts = [
            f"{reason.value}{_quoted(group)} in {_counted(group)}"
            + ("" if number == 0 else f" ({_names(group)})")
            for number, (reason, group) in enumerate(several)
        ]
        detail = f"{code} means {', and '.join(parts)}"
        events.add("describe", f"flag: {SEVERAL_MEANINGS}", detail=detail)


def _in_words(code: Code, reason: Reason, group: list[FoundCode]) -> str:
    unlabelled = [one for one in group if not one.label]
    text = f"{code} means {reason.value}{_quoted(group)} in {_counted(group)}"
    if unlabelled and len(unlabelled) < len(group):
        text += f", {len(unlabelled)} of them without a label for it ({_names(unlabelled)})"
    return text


def _quoted(group: list[FoundCode]) -> str:
    labels = Counter(one.label for one in group if one.label)
    return f" ({labels.most_common(1)[0][0]!r})" if labels else ""


def _counted(group: list[FoundCode]) -> str:
    return f"{len(group):,} column" + ("s" if len(group) != 1 else "")


def _names(group: list[FoundCode]) -> str:
    more = ", ..." if len(group) > _NAMES_SHOWN else ""
    return ", ".join(one.column for one in group[:_NAMES_SHOWN]) + more


def _key(code: Code) -> Code:
    """Write 9, 9.0 and "9", and ``.A`` and ``.a``, in one way."""
    return (
        code.lower() if isinstance(code, str) and is_lettered(code) else numeric_if_possible(code)
    )
