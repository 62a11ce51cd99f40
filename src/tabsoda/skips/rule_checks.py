"""Check that rules are valid, and that a table is of the survey they were made for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite

from tabsoda.errors import InputError
from tabsoda.schema.column import Code, Column
from tabsoda.skips.rules import NAMED_REASONS, Condition, SkipRule

# Number of differences between a rule set and a table listed in an error message.
_SHOWN = 5


def check_rules(
    rules: Iterable[SkipRule], columns: Mapping[str, Column], order: Mapping[str, int]
) -> None:
    """Raise :class:`InputError` at the first rule that cannot be applied.

    Parameters
    ----------
    rules : iterable of SkipRule
    columns : mapping of str to Column
        Every column by name.
    order : mapping of str to int
        The column's position in the questionnaire.
    """
    seen: set[str] = set()
    for rule in rules:
        name = rule.identifier
        if name in seen:
            raise _nonsense(name, "id", f"{name!r} twice", "each identifier once")
        seen.add(name)
        if rule.target not in columns:
            raise _undescribed(name, "target", rule.target)
        for any_of in (rule.any_of, *(rival.any_of for rival in rule.rivals)):
            _check_paths(rule, any_of, columns, order)


def _check_paths(
    rule: SkipRule,
    any_of: tuple[tuple[Condition, ...], ...],
    columns: Mapping[str, Column],
    order: Mapping[str, int],
) -> None:
    name = rule.identifier
    if not any_of or not all(any_of):
        raise _nonsense(name, "when", "no condition", "at least one condition")
    for path in any_of:
        for condition in path:
            if condition.column not in columns:
                raise _undescribed(name, "gate", condition.column)
            _check_condition(name, condition, columns[condition.column])
            if order[condition.column] >= order[rule.target]:
                raise _nonsense(
                    name,
                    "gate",
                    f"{condition.column!r}, which does not come before {rule.target!r}",
                    "a column earlier in the questionnaire than the target",
                )


def require_same_survey(
    rules: Iterable[SkipRule], columns: Mapping[str, Column], table: Iterable[Column]
) -> None:
    """Raise :class:`InputError` unless a table has the columns and answers that the rules name.

    Parameters
    ----------
    rules : iterable of SkipRule
    columns : mapping of str to Column
        The columns as described with the rules.
    table : iterable of Column
        The columns of the table.
    """
    there = {column.name: column for column in table}
    differences = list(dict.fromkeys(_differences(rules, columns, there)))
    if differences:
        shown = "; ".join(differences[:_SHOWN])
        more = len(differences) - _SHOWN
        raise InputError(
            "The rules belong to another survey",
            found=shown + (f"; and {more} more differences" if more > 0 else ""),
            expected="a table with the gates, targets and answers that the rules name",
            next_step="Use the rules mined from this survey, or mine again",
        )


def _differences(
    rules: Iterable[SkipRule], columns: Mapping[str, Column], there: Mapping[str, Column]
) -> Iterator[str]:
    for rule in rules:
        for name in (rule.target, *rule.gates):
            if name not in there:
                yield f"the table has no column '{name}'"
            elif there[name].is_categorical != columns[name].is_categorical:
                yield (
                    f"column '{name}' is {there[name].kind.value} in the table"
                    f" and {columns[name].kind.value} in the rules"
                )
        for path in rule.any_of:
            for condition in path:
                gate = there.get(condition.column)
                if gate is None or not gate.is_categorical:
                    continue
                for level in condition.levels:
                    if level not in gate.levels:
                        yield f"column '{gate.name}' of the table has no answer {level!r}"


def _check_condition(rule: str, condition: Condition, gate: Column) -> None:
    states = condition.or_skipped or condition.or_blank or condition.reasons
    bounds = [bound for bound in (condition.above, condition.up_to) if bound is not None]
    if not condition.asks_for_answer and not states:
        raise _nonsense(
            rule,
            "when",
            f"nothing asked of '{gate.name}'",
            "is, above, up_to, reasons, or_skipped or or_blank",
        )
    for reason in condition.reasons:
        if reason not in NAMED_REASONS:
            expected = " or ".join(repr(known.value) for known in NAMED_REASONS)
            raise _nonsense(rule, "reasons", f"{str(reason)!r} for '{gate.name}'", expected)
    if gate.is_categorical and bounds:
        raise _nonsense(
            rule,
            "above" if condition.above is not None else "up_to",
            f"a bound on '{gate.name}', which is {gate.kind.value}",
            f"is = [...], with answers among {_some(gate.levels)}",
        )
    if not gate.is_categorical and condition.levels:
        raise _nonsense(
            rule, "is", f"answers of '{gate.name}', which is continuous", "above or up_to"
        )
    for level in condition.levels:
        if level not in gate.levels:
            raise _nonsense(
                rule, "is", f"{level!r} for '{gate.name}'", f"one of {_some(gate.levels)}"
            )
    if not all(isfinite(bound) for bound in bounds):
        raise _nonsense(rule, "above", f"{bounds[0]}", "a finite number")
    if len(bounds) == 2 and bounds[0] >= bounds[1]:
        raise _nonsense(
            rule, "up_to", f"{bounds[1]:g} for '{gate.name}'", f"a number above {bounds[0]:g}"
        )


def _some(levels: tuple[Code, ...]) -> str:
    shown = ", ".join(repr(level) for level in levels[:8])
    return shown + (f", ... ({len(levels)} in all)" if len(levels) > 8 else "")


def _nonsense(rule: str, field: str, found: str, expected: str) -> InputError:
    return InputError(
        f"Rule '{rule}' cannot be used: its field '{field}' is wrong",
        found=found,
        expected=expected,
        next_step="Correct it in the rules file, or remove the rule",
    )


def _undescribed(rule: str, field: str, name: str) -> InputError:
    return InputError(
        f"Rule '{rule}' cannot be used: its {field} is not described",
        found=f"'{name}'",
        expected="a column with a [[column]] entry in the rules file",
        next_step=f"Correct the name, or describe '{name}' at its place in the questionnaire",
    )
