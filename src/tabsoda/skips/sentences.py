"""Write routing rules as sentences, in the words of the value labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tabsoda.schema.column import Code, Column, ColumnKind, Reason
from tabsoda.skips.rules import Condition, SkipRule

# Longer lists are cut after this many answers; the rules file lists all of them.
_LONGEST_LIST = 6
_EXCEPT = "is anything but"
# A reason after a list of answers, and as a clause of its own.
_LISTED = {Reason.REFUSED: "refused", Reason.DONT_KNOW: "'don't know'"}
_CLAUSES = {
    Reason.REFUSED: "was refused",
    Reason.DONT_KNOW: "was answered with 'don't know'",
    Reason.OTHER: "is missing for another reason",
}


def rule_sentence(rule: SkipRule, columns: Mapping[str, Column]) -> str:
    """Return one sentence that states when the target is skipped.

    Labels are copied verbatim, without escaping.

    Parameters
    ----------
    rule : SkipRule
    columns : mapping of str to Column
        The gates by name, for their labels.

    Examples
    --------
    >>> gate = Column("AC1002", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Yes", 2: "No"})
    >>> rule = SkipRule("r001", "AC1003", ((Condition("AC1002", (2,)),),))
    >>> rule_sentence(rule, {"AC1002": gate})
    "AC1003 is skipped when AC1002 is 2 'No'"
    """
    return f"{rule.target} is skipped when {reasons_text(rule, columns)}"


def reasons_text(rule: SkipRule, columns: Mapping[str, Column]) -> str:
    """Return the conditions of a rule: the part of its sentence after "when"."""
    paths = [_path_text(path, columns) for path in rule.any_of]
    # A semicolon separates alternatives that contain an "and" or an "or" themselves.
    nested = any(len(path) > 1 or _is_compound(path[0]) for path in rule.any_of)
    return ("; or when " if nested else ", or when ").join(paths)


def condition_text(condition: Condition, gate: Column) -> str:
    """Return one condition as text.

    Examples
    --------
    >>> age = Column("AGE", ColumnKind.CONTINUOUS)
    >>> condition_text(Condition("AGE", above=44), age)
    'AGE is above 44'
    >>> condition_text(Condition("AGE", or_skipped=True), age)
    'AGE was itself skipped'
    >>> condition_text(Condition("AGE", up_to=14, reasons=(Reason.REFUSED,)), age)
    'AGE is at most 14 or refused'
    """
    answers = _answers(condition, gate)
    excludes = bool(answers) and answers[0].startswith(_EXCEPT)
    words = _LISTED if answers and not excludes else {}
    reasons = [words.get(reason, _CLAUSES[reason]) for reason in condition.reasons]
    states = ["was itself skipped"] * condition.or_skipped + ["is blank"] * condition.or_blank
    if reasons and not excludes:
        return f"{condition.column} {_series([*answers, *reasons, *states])}"
    # After "anything but 1", a plain "or" would read as another excluded answer.
    parts = [*([_series(answers)] if answers else []), *reasons, *states]
    return f"{condition.column} {(', or ' if excludes else ' or ').join(parts)}"


def _answers(condition: Condition, gate: Column) -> list[str]:
    """Return the answers that fulfil a condition as a list; the first includes the verb."""
    if condition.levels:
        return _levels_texts(condition.levels, gate)
    if condition.asks_for_answer:
        return [_bounds_text(condition.above, condition.up_to)]
    return []


def _path_text(path: Sequence[Condition], columns: Mapping[str, Column]) -> str:
    texts = [condition_text(condition, columns[condition.column]) for condition in path]
    return (", and " if any(map(_is_compound, path)) else " and ").join(texts)


def _is_compound(condition: Condition) -> bool:
    """Whether the condition's text contains an "or"."""
    ways = [condition.asks_for_answer, condition.or_skipped, condition.or_blank]
    return len(condition.levels) > 1 or sum(ways) + len(condition.reasons) > 1


def _bounds_text(above: float | None, up_to: float | None) -> str:
    if above is None:
        return f"is at most {_number(up_to)}"
    if up_to is None:
        return f"is above {_number(above)}"
    return f"is above {_number(above)} and at most {_number(up_to)}"


def _number(value: float | None) -> str:
    # repr, because "%g" would round a threshold such as 1234567.5 to another number.
    return repr(float(value or 0)).removesuffix(".0")


def _levels_texts(levels: Sequence[Code], gate: Column) -> list[str]:
    chosen = set(levels)
    wanted = [level for level in gate.levels if level in chosen]
    others = [level for level in gate.levels if level not in chosen]
    if not others:
        return ["was answered"]
    listed, excluded = _runs(wanted, gate), _runs(others, gate)
    if _n_named(excluded) < _n_named(listed):
        return [f"{_EXCEPT} {_series(_pieces(excluded, gate))}"]
    first, *rest = _pieces(listed, gate)
    return [f"is {first}", *rest]


def _runs(levels: Sequence[Code], gate: Column) -> list[list[Code]]:
    """Group three or more consecutive ordered levels into one run."""
    if gate.kind is not ColumnKind.ORDINAL:
        return [[level] for level in levels]
    order = {level: position for position, level in enumerate(gate.levels)}
    runs: list[list[Code]] = []
    for level in levels:
        if runs and order[level] == order[runs[-1][-1]] + 1:
            runs[-1].append(level)
        else:
            runs.append([level])
    return [part for run in runs for part in ([run] if len(run) > 2 else [[one] for one in run])]


def _n_named(runs: Sequence[Sequence[Code]]) -> int:
    """Count the levels that have to be named: a run has two ends."""
    return sum(2 if len(run) > 1 else 1 for run in runs)


def _pieces(runs: Sequence[Sequence[Code]], gate: Column) -> list[str]:
    """Describe every run, or all runs in one piece if there are too many."""
    pieces = [
        " to ".join(gate.describe_level(end) for end in dict.fromkeys((run[0], run[-1])))
        for run in runs
    ]
    if len(pieces) > _LONGEST_LIST:
        shown = ", ".join(pieces[: _LONGEST_LIST - 1])
        return [f"one of {sum(map(len, runs))} answers ({shown}, ...)"]
    return pieces


def _series(pieces: Sequence[str]) -> str:
    if len(pieces) == 1:
        return pieces[0]
    return f"{', '.join(pieces[:-1])} or {pieces[-1]}"
