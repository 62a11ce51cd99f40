"""Find codes that have one meaning throughout a file, such as ``.c`` for "No aplica"."""

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

# A meaning holds for the whole file if at least this many columns state it.
MIN_COLUMNS = 3
_NAMES_SHOWN = 4


def with_file_meanings(hints: Mapping[str, ColumnHints]) -> dict[str, ColumnHints]:
    """Add to every column the language and the code meanings that other columns show.

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
    """A missing code of one column; ``label`` is empty if it has none."""

    column: str
    code: Code
    reason: Reason
    label: str = ""


def codes_of(column: Column) -> list[FoundCode]:
    """Return the missing codes of a column."""
    labels = CodeBook(column.level_labels)
    found = []
    for code, reason in column.special_codes.items():
        known = labels.find(code)
        label = column.level_labels[known] if known is not None else ""
        found.append(FoundCode(column.name, code, reason, label))
    return found


def log_codes(found: Iterable[FoundCode], events: EventLog, *, declared: bool) -> None:
    """Log missing codes: one event for a code with one meaning in several columns.

    Other codes get one event per column. A letter with several meanings is logged as doubtful, as
    is a number that has one of these meanings in several columns.

    Parameters
    ----------
    found : iterable of FoundCode
    events : EventLog
    declared : bool
        Whether the file declares the codes to be missing; otherwise they are guesses.
    """
    found = list(found)
    groups: dict[tuple[Code, Reason], list[FoundCode]] = defaultdict(list)
    for one in found:
        groups[_key(one.code), one.reason].append(one)
    for (code, reason), group in groups.items():
        if len(group) >= MIN_COLUMNS:
            _log_shared(code, reason, group, events)
    rest: dict[str, list[FoundCode]] = defaultdict(list)
    for one in found:
        if len(groups[_key(one.code), one.reason]) < MIN_COLUMNS:
            rest[one.column].append(one)
    for column, codes in rest.items():
        names = [str(one.code) for one in codes]
        reasons = [one.reason.value for one in codes]
        if declared:
            events.add("file_codes_applied", column=column, codes=names, reasons=reasons)
        else:
            events.add("codes_taken_as_no_answer", column=column, codes=names, reasons=reasons)
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
        events.add(
            "code_with_several_meanings",
            code=str(code),
            meanings=[f"{reason.value}{_quoted(group)}" for reason, group in several],
            columns=[len(group) for _, group in several],
            rare_columns=_names([one for _, group in several[1:] for one in group]),
        )


def _log_shared(code: Code, reason: Reason, group: list[FoundCode], events: EventLog) -> None:
    unlabelled = [one for one in group if not one.label]
    some = bool(unlabelled) and len(unlabelled) < len(group)
    events.add(
        "code_in_several_columns",
        code=str(code),
        reason=reason.value,
        columns=len(group),
        label=_usual_label(group) or None,
        unlabelled=len(unlabelled) if some else None,
        unlabelled_columns=_names(unlabelled) if some else None,
    )


def _usual_label(group: list[FoundCode]) -> str:
    labels = Counter(one.label for one in group if one.label)
    return labels.most_common(1)[0][0] if labels else ""


def _quoted(group: list[FoundCode]) -> str:
    label = _usual_label(group)
    return f" {label!r}" if label else ""


def _names(group: list[FoundCode]) -> list[str]:
    more = ["..."] if len(group) > _NAMES_SHOWN else []
    return [one.column for one in group[:_NAMES_SHOWN]] + more


def _key(code: Code) -> Code:
    """Normalise a code: 9, 9.0 and "9" are equal, and so are ``.A`` and ``.a``."""
    return (
        code.lower() if isinstance(code, str) and is_lettered(code) else numeric_if_possible(code)
    )
