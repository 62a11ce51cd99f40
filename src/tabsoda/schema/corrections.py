"""Corrections of many columns at once, by patterns of their names.

In a survey.toml they are written as::

    blanks = "skip"
    missing = { -9 = "refused", -8 = "dont_know" }

    [level_sets]
    agree = [{ code = 1, label = "Agree" }, { code = 2, label = "Disagree" }]

    [columns."Q12_*"]
    kind = "ordinal"
    levels = "agree"
    missing = { 9 = "dont_know", 3 = "answer" }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from tabsoda.errors import InputError
from tabsoda.schema.codes import CodeBook, as_number, is_blank_word
from tabsoda.schema.column import GUESS, Code, Column, ColumnKind, ColumnRole, Reason
from tabsoda.schema.select_all import box_labels, box_levels

# Written instead of a reason where a code is an answer after all.
ANSWER = "answer"
# The code of an empty cell of any type.
EMPTY_CELL = "."
# In the note of a column, between the keys set by a person and the columns they apply to.
_BY_YOU = " set by you "
_SETTABLE = ("kind", "role", "label", "levels", "minimum", "maximum", "select_all")
# At most this many whole numbers are taken as categories if the kind is not given.
_FEW_LEVELS = 10


@dataclass(frozen=True)
class Correction:
    """A correction of every column whose name matches a pattern.

    Attributes
    ----------
    pattern : str
        A name, or one with ``*``, ``?`` and ``[abc]`` as in file names.
    kind : ColumnKind or None
    role : ColumnRole or None
    label : str or None
    levels : tuple of Code or None
        In their order.
    level_labels : mapping of Code to str
    codes : mapping of Code to Reason or None
        Codes that are not answers, and why; None for a code that is an answer after all.
    whole_file : bool
        Whether it is at the top of the description; it then applies to the questions in which its
        codes occur.
    minimum, maximum : float or None
        Bounds of a number.
    select_all : str or None
        The select-all question of which the columns are boxes; empty if they are no boxes.
    """

    pattern: str
    kind: ColumnKind | None = None
    role: ColumnRole | None = None
    label: str | None = None
    levels: tuple[Code, ...] | None = None
    level_labels: Mapping[Code, str] = field(default_factory=dict)
    codes: Mapping[Code, Reason | None] = field(default_factory=dict)
    whole_file: bool = False
    minimum: float | None = None
    maximum: float | None = None
    select_all: str | None = None

    def matches(self, name: str) -> bool:
        """Return whether the pattern matches a column.

        Examples
        --------
        >>> Correction("Q12_*").matches("Q12_a"), Correction("Q1[SQ1]").matches("Q1[SQ1]")
        (True, True)
        """
        return name == self.pattern or fnmatchcase(name, self.pattern)


# Returns the distinct values of a column as they are in the file, empty cells as ".".
ValuesOf = Callable[[str], tuple[Code, ...]]


def require_matches(corrections: tuple[Correction, ...], names: tuple[str, ...]) -> None:
    """Raise :class:`InputError` if a pattern matches no column."""
    for one in corrections:
        if one.whole_file or any(one.matches(name) for name in names):
            continue
        near = get_close_matches(one.pattern, names, n=3, cutoff=0.5)
        raise InputError(
            f"The pattern '{one.pattern}' in the survey description matches no column",
            expected=f"a name such as {', '.join(near or names[:3])}",
            next_step="Correct the pattern; * stands for any text, ? for one character",
        )


def correct(column: Column, correction: Correction, values_of: ValuesOf) -> Column:
    """Return a column with a correction applied, or the same object if nothing changes.

    Parameters
    ----------
    column : Column
    correction : Correction
        One that matches the column.
    values_of : callable
        Called only if levels have to be taken from the data.

    Examples
    --------
    >>> asked = Column("Q12_a", ColumnKind.NOMINAL, (1, 2, 3, 9))
    >>> fix = Correction("Q12_*", ColumnKind.ORDINAL, codes={9: Reason.DONT_KNOW})
    >>> found = correct(asked, fix, lambda name: (1, 2, 3, 9))
    >>> found.kind.value, found.levels, found.special_codes[9].value
    ('ordinal', (1, 2, 3), 'dont_know')
    """
    given = correction
    if given.select_all and given.role in (None, ColumnRole.QUESTION):
        correction = _of_box(column, given, values_of)
    codes = correction.codes
    if correction.whole_file:
        if column.role is not ColumnRole.QUESTION:
            return column
        codes = _occurring(column, codes, values_of)
    role = correction.role or column.role
    becomes_question = role is ColumnRole.QUESTION and column.role is not role
    special = _merged(column.special_codes, codes)
    labels = {**column.level_labels, **correction.level_labels}
    kind = correction.kind or column.kind
    if becomes_question and correction.kind is None:
        kind = _likely_kind(values_of(column.name))
    known = column.levels if correction.levels is None else correction.levels
    if kind is ColumnKind.ORDINAL and column.kind is not kind and correction.levels is None:
        # The order of a nominal's levels means nothing, unless they are numbers.
        known = ()
    levels = _levels(column.name, kind, known, special, labels, codes, values_of)
    if role is not ColumnRole.QUESTION:
        levels = ()
    select_all = "" if becomes_question else column.select_all
    corrected = replace(
        column,
        kind=kind,
        role=role,
        levels=levels,
        label=column.label if correction.label is None else correction.label,
        level_labels=labels,
        special_codes=special,
        minimum=column.minimum if correction.minimum is None else correction.minimum,
        maximum=column.maximum if correction.maximum is None else correction.maximum,
        select_all=select_all if correction.select_all is None else correction.select_all,
        # A kind that a person gives is not a guess.
        confidence=column.confidence if correction.kind is None else None,
    )
    confirms_role = given.role is not None and column.is_guess
    if corrected == column and not confirms_role:
        return column
    return _annotated(corrected, column, given)


def _of_box(column: Column, correction: Correction, values_of: ValuesOf) -> Correction:
    """Return a correction that says of a box what its role, kind and levels are as well."""
    special = CodeBook((*_merged(column.special_codes, correction.codes), EMPTY_CELL))
    answers = [
        code
        for code in values_of(column.name)
        if special.find(code) is None and not is_blank_word(code)
    ]
    levels = correction.levels or box_levels(answers, column.name)
    known = {**column.level_labels, **correction.level_labels}
    return replace(
        correction,
        role=ColumnRole.QUESTION,
        kind=correction.kind or ColumnKind.NOMINAL,
        levels=levels,
        level_labels=box_labels(levels, known),
    )


def _annotated(corrected: Column, before: Column, correction: Correction) -> Column:
    """Record in the note what a person has set; keep the guess and its reason."""
    where = "for the whole file" if correction.whole_file else f"for '{correction.pattern}'"
    given = [name for name in _SETTABLE if getattr(correction, name) is not None]
    if correction.codes:
        given.append("missing codes")
    note = f"{' and '.join(given)}{_BY_YOU}{where}"
    old = {str(code): why.value for code, why in before.special_codes.items()}
    new = {str(code): why.value for code, why in corrected.special_codes.items()}
    changed = [f"{code} was {why}" for code, why in old.items() if new.get(code) != why]
    if changed:
        note += f" ({', '.join(changed)})"
    settles_guess = before.is_guess and {"kind", "role", "select_all"} & set(given)
    if not settles_guess:
        return replace(corrected, note=f"{before.note}; {note}" if before.note else note)
    is_question = before.role is ColumnRole.QUESTION
    what = before.kind.value if is_question else before.role.value
    parts = before.note.removeprefix(GUESS).split("; ")
    reason = "; ".join(part for part in parts if _BY_YOU not in part)
    set_before = [part for part in parts if _BY_YOU in part]
    return replace(
        corrected,
        note="; ".join([*set_before, note]),
        guessed=before.guessed or f"{what}: {reason}",
    )


def _occurring(
    column: Column, codes: Mapping[Code, Reason | None], values_of: ValuesOf
) -> dict[Code, Reason | None]:
    """Keep the codes that the column contains or lists."""
    # The 0 of a box is not in the file.
    levels = () if column.select_all else column.levels
    listed = (*levels, *column.special_codes, *values_of(column.name))
    book = CodeBook(dict.fromkeys(listed))
    return {code: why for code, why in codes.items() if book.find(code) is not None}


def _merged(
    special: Mapping[Code, Reason], codes: Mapping[Code, Reason | None]
) -> dict[Code, Reason]:
    """Return special codes with the given ones changed, added, or (None) taken out."""
    given = CodeBook(codes)
    kept = {code: why for code, why in special.items() if given.find(code) is None}
    return kept | {code: why for code, why in codes.items() if why is not None}


def _levels(
    name: str,
    kind: ColumnKind,
    known: tuple[Code, ...],
    special: Mapping[Code, Reason],
    labels: Mapping[Code, str],
    codes: Mapping[Code, Reason | None],
    values_of: ValuesOf,
) -> tuple[Code, ...]:
    """Return the known levels without special codes, or else those labelled or found."""
    if kind is ColumnKind.CONTINUOUS:
        return ()
    apart = CodeBook((*special, EMPTY_CELL))
    answers = [code for code, why in codes.items() if why is None]
    if known:
        book = CodeBook(known)
        new = [code for code in answers if book.find(code) is None]
        return (*(code for code in known if apart.find(code) is None), *new)
    found = [code for code in (*labels, *values_of(name)) if apart.find(code) is None]
    book = CodeBook(())
    distinct: list[Code] = []
    for code in found:
        if book.find(code) is None:
            distinct.append(code)
            book = CodeBook(distinct)
    numbers = [as_number(code) for code in distinct]
    if None in numbers and kind is ColumnKind.ORDINAL:
        raise InputError(
            "is ordinal without an order",
            column=name,
            found="texts, and no levels",
            expected="the levels, from one end to the other",
            next_step="List them under levels, or call the column nominal",
        )
    return tuple(sorted(distinct, key=lambda code: (as_number(code) is None, as_number(code) or 0)))


def _likely_kind(values: tuple[Code, ...]) -> ColumnKind:
    numbers = [as_number(value) for value in values if value != EMPTY_CELL]
    if None in numbers or len(numbers) <= _FEW_LEVELS:
        return ColumnKind.NOMINAL
    return ColumnKind.CONTINUOUS
