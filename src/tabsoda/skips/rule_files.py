"""Read and write rules files: TOML that a person can read, edit and sign."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import tomli_w

from tabsoda.errors import InputError
from tabsoda.schema.column import Code, Column, ColumnKind, Reason
from tabsoda.skips.presence import Absence
from tabsoda.skips.rule_documents import (
    ConditionDocument,
    RuleDocument,
    RulesDocument,
    parse_document,
)
from tabsoda.skips.rule_set import Provenance, RuleSet
from tabsoda.skips.rules import Condition, Decision, Evidence, Rival, RuleStatus, SkipRule
from tabsoda.skips.sentences import rule_sentence

FORMAT = 1
_COUNTS = ("fired_blank", "fired_answered", "silent_blank", "silent_answered")
_ABSENCE = """\
# A skip is withheld if the respondent left quiet_run questions in a row blank for no known reason
# and such respondents practically never answered this question: breakoff or a missed wave. Delete
# these lines to mark every blank on which a rule fires.
"""
_HEADER = """\
# Routing rules: which answers skip which questions. Written by tabsoda; edit it freely.
#
# status   proposed, approved or rejected. A rejected rule is kept and never applied.
# note     free text. by and at: who decided last, and when. history: every signed decision.
# when     [[a, b], [c]] reads: a and b, or c. A gate can ask for answers (is = [1, 2]), a range
#          (above = 14, up_to = 44), or_skipped = true (the gate itself was skipped), or reasons
#          why it was not answered (reasons = ["refused", "dont_know", "other"]).
# rivals   other conditions that fit as well as "when"; the data cannot show which one is right.
# sentence for information only; updated whenever the file is saved.
# counts   of respondents: the rule fired or was silent, the target was blank or answered. Refusals
#          and "don't know" count as answered, skip codes as blank; tabsoda check counts the same.
# *_upper  Wilson upper bounds; answered_upper is that of "answered although the rule fires".
"""


def load_rules(path: Path) -> RuleSet:
    """Read a rules file; see :meth:`RuleSet.from_toml`."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise InputError(
            f"The rules file '{path}' does not exist",
            next_step="Check the path, or make it with: tabsoda mine DATA -o rules.toml",
        ) from error
    except OSError as error:
        raise InputError(
            f"The rules file '{path}' cannot be read", found=error.strerror or str(error)
        ) from error
    except (ValueError, RecursionError) as error:
        # Beside errors of TOML and UTF-8: numbers with thousands of digits, very deep nesting.
        raise InputError(
            f"The rules file '{path.name}' is not TOML",
            found=str(error),
            expected="a file written by tabsoda mine -o",
            next_step="Correct it at that place, or mine again",
        ) from error
    return rules_from_document(content, path.name)


def rules_from_document(content: dict[str, Any], file: str) -> RuleSet:
    """Build a rule set from the plain values of a rules file, or raise :class:`InputError`.

    Parameters
    ----------
    content : dict
        As :func:`to_document` returns it, or as the file holds it.
    file : str
        The file's name, for messages.
    """
    document = parse_document(content, file, FORMAT)
    try:
        return _from_document(document)
    except InputError as error:
        subject = "" if error.column is None else f"Column '{error.column}' "
        raise InputError(
            f"The rules file '{file}' cannot be used. {subject}{error.problem}",
            found=error.found,
            expected=error.expected,
            next_step=error.next_step,
        ) from error


def dump_rules(rules: RuleSet) -> str:
    """Return the text of a rules file."""
    document = to_document(rules)
    blocks = [_HEADER, f"format = {FORMAT}\n"]
    blocks.append(_block("[mined]", document["mined"]))
    if "absence" in document:
        blocks.append(_ABSENCE + _block("[absence]", document["absence"]))
    blocks += [_block("[[rule]]", entry) for entry in document["rule"]]
    if document["column"]:
        blocks.append("# The columns used by the rules, in questionnaire order.\n")
        blocks += [_block("[[column]]", entry) for entry in document["column"]]
    return "\n".join(blocks)


def to_document(rules: RuleSet) -> dict[str, Any]:
    """Return a rule set as the plain values of its file."""
    mined = {key: value for key, value in asdict(rules.provenance).items() if key != "settings"}
    settings = rules.provenance.settings.items()
    mined["settings"] = {key: _plain(value) for key, value in settings if value is not None}
    return {
        "format": FORMAT,
        "mined": mined,
        **({} if rules.absence is None else {"absence": asdict(rules.absence)}),
        "rule": rules.table(),
        "column": [column_to_dict(column) for column in rules.columns],
    }


def rule_to_dict(rule: SkipRule, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return one rule as the plain values of its ``[[rule]]`` entry."""
    evidence = asdict(rule.evidence)
    entry: dict[str, Any] = {
        "id": rule.identifier,
        "sentence": rule_sentence(rule, columns),
        "target": rule.target,
        "when": _when(rule.any_of),
        "status": rule.status.value,
        "note": rule.note,
    }
    if rule.by or rule.at:
        entry |= {"by": rule.by, "at": rule.at}
    if rule.history:
        entry["history"] = [_decision_to_dict(decision) for decision in rule.history]
    if rule.extended_from is not None:
        entry["extended_from"] = rule.extended_from
    if rule.rivals:
        entry["rivals"] = [_rival_to_dict(rule, rival, columns) for rival in rule.rivals]
    entry["counts"] = {name: int(evidence.pop(name)) for name in _COUNTS}
    return entry | {name: float(value) for name, value in evidence.items()}


def _when(any_of: tuple[tuple[Condition, ...], ...]) -> list[list[dict[str, Any]]]:
    return [[_condition_to_dict(condition) for condition in path] for path in any_of]


def _rival_to_dict(rule: SkipRule, rival: Rival, columns: Mapping[str, Column]) -> dict[str, Any]:
    return {
        "sentence": rule_sentence(replace(rule, any_of=rival.any_of), columns),
        "when": _when(rival.any_of),
        "fired_blank": int(rival.fired_blank),
        "fired_answered": int(rival.fired_answered),
    }


def _decision_to_dict(decision: Decision) -> dict[str, str]:
    entry = asdict(decision)
    return {name: text for name, text in entry.items() if text or name in ("did", "by", "at")}


def _condition_to_dict(condition: Condition) -> dict[str, Any]:
    entry: dict[str, Any] = {"gate": condition.column}
    if condition.levels:
        entry["is"] = [_plain(level) for level in condition.levels]
    if condition.above is not None:
        entry["above"] = _plain(condition.above)
    if condition.up_to is not None:
        entry["up_to"] = _plain(condition.up_to)
    if condition.or_skipped:
        entry["or_skipped"] = True
    if condition.or_blank:
        entry["or_blank"] = True
    if condition.reasons:
        entry["reasons"] = [reason.value for reason in condition.reasons]
    return entry


def column_to_dict(column: Column) -> dict[str, Any]:
    """Return one column as the plain values of its ``[[column]]`` entry."""
    entry: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
    if column.label:
        entry["label"] = column.label
    if column.universe:
        entry["universe"] = column.universe
    if column.levels:
        entry["levels"] = [_plain(level) for level in column.levels]
    if column.level_labels:
        entry["labels"] = [column.level_labels.get(level, "") for level in column.levels]
    return entry


def _plain(value: Any) -> Code:
    """Turn numpy scalars into Python scalars, and True into 1."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, bool) else value


def _from_document(document: RulesDocument) -> RuleSet:
    columns = []
    for entry in document.column:
        labels = zip(entry.levels, entry.labels, strict=False)
        columns.append(
            Column(
                entry.name,
                ColumnKind(entry.kind),
                tuple(entry.levels),
                entry.label,
                {level: label for level, label in labels if label},
                universe=entry.universe,
            )
        )
    rules = tuple(_rule_from(entry) for entry in document.rule)
    absence = None if document.absence is None else Absence(**document.absence.model_dump())
    return RuleSet(rules, tuple(columns), Provenance(**document.mined.model_dump()), absence)


def _rule_from(entry: RuleDocument) -> SkipRule:
    evidence = Evidence(
        **entry.counts.model_dump(),
        answered_upper=entry.answered_upper,
        false_positive_upper=entry.false_positive_upper,
        false_negative_upper=entry.false_negative_upper,
        p_value=entry.p_value,
        q_value=entry.q_value,
        coverage=entry.coverage,
    )
    return SkipRule(
        entry.id,
        entry.target,
        _paths_from(entry.when),
        evidence,
        entry.extended_from,
        RuleStatus(entry.status),
        entry.note,
        entry.by,
        entry.at,
        tuple(Decision(**decision.model_dump()) for decision in entry.history),
        tuple(
            Rival(_paths_from(rival.when), rival.fired_blank, rival.fired_answered)
            for rival in entry.rivals
        ),
    )


def _paths_from(when: list[list[ConditionDocument]]) -> tuple[tuple[Condition, ...], ...]:
    return tuple(
        tuple(
            Condition(
                condition.gate,
                tuple(condition.is_),
                condition.above,
                condition.up_to,
                condition.or_skipped,
                condition.or_blank,
                tuple(Reason(reason) for reason in condition.reasons),
            )
            for condition in path
        )
        for path in when
    )


def _block(head: str, entry: Mapping[str, Any]) -> str:
    lines = [head]
    for key, value in entry.items():
        # One path, decision or rival per line.
        if key in ("when", "history", "rivals") and len(value) > 1:
            items = "".join(f"  {_inline(item)},\n" for item in value)
            lines.append(f"{_key(key)} = [\n{items}]")
        else:
            lines.append(f"{_key(key)} = {_inline(value)}")
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    """Write a key, quoted where TOML requires it."""
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")


def _inline(value: Any) -> str:
    """Write a TOML value on one line; tomli_w does so for everything except arrays."""
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items()) + " }"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inline(item) for item in value) + "]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").removesuffix("\n")
