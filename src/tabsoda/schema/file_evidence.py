"""Evidence from a whole file: shared labels, batteries, reliability of declared levels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Code, ColumnKind
from tabsoda.schema.facts import ColumnFacts
from tabsoda.schema.scales import recognize_scale

_MIN_BATTERY = 3
# Columns in which an unlabelled code must occur to be a convention of the file.
_MIN_CONVENTION = 3
# Items without a common name need longer runs.
_MIN_UNNAMED_BATTERY = 5
_ITEM_ENDING = re.compile(r"(?<=[^\d_.\s-])[_.\s-]?(\d+[a-z]?|[a-z])$|[_.\s-]([a-z]|\d+)$", re.I)
KIND_OF_MEASURE = {
    "nominal": ColumnKind.NOMINAL,
    "ordinal": ColumnKind.ORDINAL,
    "scale": ColumnKind.CONTINUOUS,
}
# Weight of a declared level that is always right; decisive without other evidence.
_MOST_WEIGHT = 2.5
# Prior: as if 7 of 10 declared levels were right.
_PRIOR_RIGHT, _PRIOR_COLUMNS = 3.5, 5.0


@dataclass(frozen=True)
class FileEvidence:
    """Evidence computed once per file.

    Attributes
    ----------
    n_sharing : mapping of tuple to int
        How many columns have these labels.
    batteries : mapping of str to int
        Columns of rating scales without labels, side by side: how many there are in each.
    weights : mapping of str to float
        The weight of each declared level, zero if it is often wrong in this file; empty until it is
        estimated.
    languages : tuple of str
        Those of the scales that were recognised; empty if none was.
    conventions : mapping of str to int
        Families of unlabelled codes that stand apart from the answers of several columns, and the
        number of these columns; see ``code_family``.
    """

    n_sharing: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    batteries: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    conventions: Mapping[str, int] = field(default_factory=dict)


def code_family(code: Code) -> str:
    """Return "7", "8" or "9" for 7, 77, 888, ..., "-" for a negative code, else an empty text.

    Codes such as 97 are left out: they are as often an answer ("97 Something else").

    Examples
    --------
    >>> [code_family(code) for code in (9, 999, -8, 97, 6)]
    ['9', '9', '-', '', '']
    """
    number = as_number(code)
    if number is None or number != round(number):
        return ""
    digits = set(str(int(number)))
    if number < 0:
        return "-"
    return digits.pop() if len(digits) == 1 and digits <= set("789") else ""


def label_set(facts: ColumnFacts) -> tuple[str, ...]:
    """Return the labels of a column as one value that columns can share."""
    return tuple(facts.informative_labels.values())


def gather(columns: Sequence[ColumnFacts]) -> FileEvidence:
    """Collect the evidence of a file, except the weights of declared levels."""
    n_sharing = Counter(label_set(facts) for facts in columns if facts.informative_labels)
    found = Counter(
        scale.language
        for labels in n_sharing
        if (scale := recognize_scale(labels)) is not None and scale.is_certain
    )
    families = Counter(
        family
        for facts in columns
        for family in {code_family(code) for code in facts.codes_beyond} - {""}
    )
    conventions = {family: n for family, n in families.items() if n >= _MIN_CONVENTION}
    return FileEvidence(
        n_sharing, find_batteries(columns), languages=tuple(found), conventions=conventions
    )


def declared_weights(pairs: Sequence[tuple[str, ColumnKind]]) -> dict[str, float]:
    """Weigh each declared level by how often it agrees with what other evidence shows.

    Parameters
    ----------
    pairs : sequence of (str, ColumnKind)
        The declared level and the kind found without it, of columns where that is clear.

    Examples
    --------
    >>> wrong = [("scale", ColumnKind.NOMINAL)] * 50
    >>> declared_weights(wrong)["scale"], declared_weights([])["scale"] > 0
    (0.0, True)
    """
    weights = {}
    for measure, kind in KIND_OF_MEASURE.items():
        found = [other for declared, other in pairs if declared == measure]
        right = _PRIOR_RIGHT + found.count(kind)
        share = right / (_PRIOR_COLUMNS + len(found))
        weights[measure] = max(0.0, _MOST_WEIGHT * (2 * share - 1))
    return weights


def find_batteries(columns: Sequence[ColumnFacts]) -> dict[str, int]:
    """Find runs of columns whose whole numbers have the same small range and similar names.

    Examples
    --------
    >>> items = [ColumnFacts(f"op{n}", answers=(1, 2, 3, 4, 5)) for n in range(1, 5)]
    >>> find_batteries([*items, ColumnFacts("sex", answers=(1, 2))])
    {'op1': 4, 'op2': 4, 'op3': 4, 'op4': 4}
    """
    result: dict[str, int] = {}
    for by_name, least in ((False, _MIN_UNNAMED_BATTERY), (True, _MIN_BATTERY)):
        for run in _runs(columns, by_name):
            if len(run) >= least:
                result |= {member.name: len(run) for member in run}
    return result


def _runs(columns: Sequence[ColumnFacts], by_name: bool) -> list[list[ColumnFacts]]:
    """Group neighbouring columns of unlabelled rating scales that belong together."""
    runs: list[list[ColumnFacts]] = [[]]
    for facts in columns:
        if facts.steps is None or facts.informative_labels:
            runs.append([])
        elif runs[-1] and not _belongs(facts, runs[-1], by_name):
            runs.append([facts])
        else:
            runs[-1].append(facts)
    return runs


def _belongs(facts: ColumnFacts, run: list[ColumnFacts], by_name: bool) -> bool:
    if by_name and _stem(facts.name) != _stem(run[-1].name):
        return False
    ranges = [member.steps for member in (*run, facts) if member.steps is not None]
    # Not every item has an answer at both ends.
    slack = 1 if by_name else 0
    return all(max(ends) - min(ends) <= slack for ends in zip(*ranges, strict=True))


def _stem(name: str) -> str:
    """Return a name without the number or letter of the item: Q12 for Q12_a, op for op3."""
    return _ITEM_ENDING.sub("", name).lower()
