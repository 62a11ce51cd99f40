"""Proposes what each column means, with the reason of every guess in ``Column.note``.

Input: a table and the hints of its file and codebook. Output: a Schema for a person to correct.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tabsoda.schema.codes import CodeBook, as_number
from tabsoda.schema.column import Code, Column, ColumnKind, ColumnRole, Reason
from tabsoda.schema.content import Content, content_of, sorted_codes
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.ordered_labels import ordered_scale
from tabsoda.schema.roles import guess_role
from tabsoda.schema.schema import Schema
from tabsoda.schema.suspicion import suspicious_codes

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

# At most this many whole numbers without labels are taken for categories rather than a count.
FEW_LEVELS = 10
_EDGE = 40


def propose_schema(
    frame: pl.DataFrame,
    hints: Mapping[str, ColumnHints] | None = None,
    tags: Mapping[str, NDArray[np.object_]] | None = None,
) -> Schema:
    """Guess kind, levels, order, role and special codes of every column.

    Parameters
    ----------
    frame : polars.DataFrame
    hints : mapping of str to ColumnHints, optional
        What the file and a codebook say.
    tags : mapping of str to ndarray, optional
        Lettered missings per row.

    Returns
    -------
    Schema
        In the order of the columns; ``note`` says why.

    Examples
    --------
    >>> import polars as pl
    >>> schema = propose_schema(pl.DataFrame({"q": [1, 2, 2, 1], "height": [1.7, 1.62, 1.8, 1.5]}))
    >>> [column.kind.value for column in schema]
    ['nominal', 'continuous']
    """
    return Schema(
        tuple(
            propose_column(series, (hints or {}).get(series.name), (tags or {}).get(series.name))
            for series in frame
        )
    )


def propose_column(
    series: pl.Series,
    hints: ColumnHints | None = None,
    tags: NDArray[np.object_] | None = None,
) -> Column:
    """Guess what one column means."""
    hints = hints or ColumnHints()
    content = content_of(series, hints, tags)
    role, role_reason = guess_role(series.name, content, hints)
    kind, levels, kind_reason = _kind(content, hints)
    if role is not ColumnRole.QUESTION:
        is_weight = role is ColumnRole.WEIGHT
        kind = ColumnKind.CONTINUOUS if is_weight else ColumnKind.NOMINAL
        # A code for no weight must not count as one.
        codes = content.special if is_weight else {}
        labels = dict(hints.level_labels)
        return Column(
            series.name, kind, (), hints.label, labels, codes, role, hints.universe, role_reason
        )
    suspects = suspicious_codes(_edges(content.answers))
    unlabelled = [code for code in suspects if CodeBook(hints.level_labels).find(code) is None]
    if unlabelled:
        kind_reason += f"; {', '.join(map(str, unlabelled))} look like codes for no answer"
    return Column(
        series.name,
        kind,
        levels,
        hints.label,
        _labels(hints, levels, content.special),
        content.special,
        role,
        hints.universe,
        kind_reason,
    )


def _edges(answers: tuple[Code, ...]) -> tuple[Code, ...]:
    """Return the smallest and largest answers, where codes for no answer lie."""
    return answers if len(answers) <= 2 * _EDGE else (*answers[:_EDGE], *answers[-_EDGE:])


def _kind(content: Content, hints: ColumnHints) -> tuple[ColumnKind, tuple[Code, ...], str]:
    answers, numbers = content.answers, content.numbers
    special = CodeBook(content.special)
    labelled = sorted_codes([code for code in hints.level_labels if special.find(code) is None])
    if hints.order:
        order = tuple(code for code in hints.order if special.find(code) is None)
        return ColumnKind.ORDINAL, order, "the table itself gives the levels in this order"
    if not answers and not labelled:
        return ColumnKind.CONTINUOUS, (), "guess: no answer at all, nothing to tell the kind by"
    if content.is_temporal:
        return ColumnKind.CONTINUOUS, (), "dates, as numbers"
    levels = _union(labelled, answers)
    unlabelled = len(levels) - len(labelled)
    if hints.measure in ("nominal", "ordinal"):
        if hints.measure == "ordinal" and numbers is None and answers:
            reason = "guess: called ordinal by the file, but texts have no order: give one"
            return ColumnKind.NOMINAL, levels, reason
        return ColumnKind(hints.measure), levels, f"the file calls it {hints.measure}"
    if numbers is None:
        return ColumnKind.NOMINAL, levels, _text_reason(answers)
    if labelled and unlabelled <= max(1, len(labelled) // 2):
        scale = ordered_scale([hints.level_labels[code] for code in labelled])
        if scale:
            reason = f"guess: its labels step through a scale ({scale}) in the order of the codes"
            return ColumnKind.ORDINAL, levels, reason
        return ColumnKind.NOMINAL, levels, "guess: its values are labelled, with no visible order"
    return _kind_of_numbers(levels, numbers, hints, labelled)


def _kind_of_numbers(
    levels: tuple[Code, ...],
    numbers: NDArray[np.float64],
    hints: ColumnHints,
    labelled: tuple[Code, ...],
) -> tuple[ColumnKind, tuple[Code, ...], str]:
    whole = bool((numbers == np.round(numbers)).all())
    usual = numbers.size - len(suspicious_codes(numbers.tolist()))
    if not whole:
        return ColumnKind.CONTINUOUS, (), "guess: numbers with fractions"
    if hints.measure == "scale":
        return ColumnKind.CONTINUOUS, (), "the file calls it a scale"
    if len(labelled) >= 2 and len(levels) <= FEW_LEVELS + 1:
        return ColumnKind.ORDINAL, levels, "guess: whole numbers with labels at some steps only"
    if usual <= FEW_LEVELS:
        reason = f"guess: {usual} different whole numbers, no labels; could be ordinal or a count"
        return ColumnKind.NOMINAL, levels, reason
    return ColumnKind.CONTINUOUS, (), f"guess: {usual} different whole numbers"


def _text_reason(answers: tuple[Code, ...]) -> str:
    n_numbers = sum(as_number(answer) is not None for answer in answers)
    if n_numbers > len(answers) / 2:
        texts = [str(a) for a in answers if as_number(a) is None]
        return f"guess: text among numbers ({', '.join(map(repr, texts[:3]))}): list it as a code?"
    if ordered_scale([str(answer) for answer in answers]):
        return "guess: texts; they look like a scale, give their order to make it ordinal"
    return f"guess: {len(answers)} different texts"


def _union(labelled: tuple[Code, ...], answers: tuple[Code, ...]) -> tuple[Code, ...]:
    """Labelled codes and answers found, each once, in order."""
    book = CodeBook(labelled)
    return sorted_codes([*labelled, *(answer for answer in answers if book.find(answer) is None)])


def _labels(
    hints: ColumnHints, levels: tuple[Code, ...], special: Mapping[Code, Reason]
) -> dict[Code, str]:
    """Key labels by the codes the column uses."""
    book = CodeBook((*levels, *special))
    result: dict[Code, str] = {}
    for code, label in hints.level_labels.items():
        known = book.find(code)
        result[code if known is None else known] = label
    return result
