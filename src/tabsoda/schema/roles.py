"""Guess the role of a column (question, id, weight, ...) from its name, label and values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tabsoda.schema.codes import CodeBook, as_number
from tabsoda.schema.column import GUESS, ColumnRole
from tabsoda.schema.content import Content
from tabsoda.schema.hints import ColumnHints
from tabsoda.schema.role_words import label_rule, name_rule
from tabsoda.schema.words import words

# Columns with this many distinct values or fewer are not ids, interviewers or plain weights.
_FEW = 10
# Identifiers: in a file of at least this many rows, nearly all values differ.
_MIN_ROWS = 20
_UNIQUE_SHARE = 0.99
# With the name of an identifier, several rows may share one, as persons share a household.
_NAMED_SHARE = 0.2
# With more levels, most of them given once or twice, a column cannot predict other answers.
_MANY_LEVELS = 60
_RARE = 2
# Free text: at least this many texts, hardly any of them repeated.
_MIN_TEXTS = 10
_TEXT_SHARE = 0.6
_TEXT_LENGTH = 20
_MIN_REMARKS, _REMARK_LENGTH = 3, 40
# A label indicates a role if it has at most this many words besides the phrase.
_SPARE_WORDS = 2
_SHORT_LABEL = 5
# Medians of body weights in kilograms, pounds and, at birth, grams; their spread is moderate.
_BODY_MEDIANS = ((30.0, 300.0), (2000.0, 4500.0))
_BODY_SPREAD = 0.45
_DATE = re.compile(r"^\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d:\d\d")

Guess = tuple[ColumnRole, str]


@dataclass(frozen=True)
class _Evidence:
    """The evidence on one column."""

    name: str
    content: Content
    hints: ColumnHints

    @property
    def label(self) -> tuple[str, ...]:
        """The words of the label; a name that is a sentence or not ASCII is used as a label.

        R writes the spaces of a name as full stops.
        """
        is_text = " " in self.name or self.name.count(".") > 1 or not self.name.isascii()
        return words(self.hints.label or (self.name if is_text else ""))

    @property
    def distinct(self) -> int:
        return len(self.content.answers)

    @property
    def is_whole(self) -> bool:
        """Whether no answer is a number with a fraction."""
        numbers = self.content.numbers
        return numbers is None or bool((numbers == np.round(numbers)).all())

    @property
    def is_unique(self) -> bool:
        return self.distinct >= max(_MIN_ROWS, _UNIQUE_SHARE * self.content.n_rows)

    @property
    def is_text(self) -> bool:
        """Whether most distinct answers are texts."""
        texts = sum(as_number(answer) is None for answer in self.content.answers)
        return texts > self.distinct / 2

    @property
    def n_labelled(self) -> int:
        """Distinct answers with a label."""
        book = CodeBook(self.hints.level_labels)
        return sum(book.find(answer) is not None for answer in self.content.answers)

    @property
    def is_labelled(self) -> bool:
        """Whether labels explain most of the answers."""
        return self.n_labelled > self.distinct / 2

    def named(self, key: str) -> bool:
        return name_rule(key).fits(self.name)

    def says(self, key: str) -> bool:
        return label_rule(key).longest(self.label) > 0

    def is_about(self, key: str) -> bool:
        """Whether the label contains little else."""
        length = label_rule(key).longest(self.label)
        return length > 0 and len(self.label) - length <= _SPARE_WORDS


def guess_role(name: str, content: Content, hints: ColumnHints | None = None) -> Guess:
    """Guess the role of a column, with the reason for the guess.

    A wrong guess removes a question from the survey, so every guess needs two kinds of evidence,
    such as the name of a weight and numbers with fractions.

    Parameters
    ----------
    name : str
    content : Content
    hints : ColumnHints, optional

    Returns
    -------
    tuple of (ColumnRole, str)
        The reason is empty for a question.

    Examples
    --------
    >>> import polars as pl
    >>> from tabsoda.schema.content import content_of
    >>> column = pl.Series("upm", [n // 8 for n in range(400)])
    >>> guess_role("upm", content_of(column, ColumnHints()))[0].value
    'cluster'
    """
    evidence = _Evidence(name, content, hints or ColumnHints())
    if content.answers and not evidence.hints.order:
        for guess in _GUESSES:
            found = guess(evidence)
            if found is not None:
                return found[0], f"{GUESS}{found[1]}"
    return ColumnRole.QUESTION, ""


def _time(e: _Evidence) -> Guess | None:
    """Dates, times and durations of the interview."""
    if e.is_labelled:
        return None
    if e.named("time") or e.is_about("time"):
        return ColumnRole.IGNORE, f"{_source(e, 'time')} is that of the interview's date or time"
    if not (e.content.is_temporal or _looks_like_dates(e)):
        return None
    if e.named("time_if_dates") and not e.label:
        return ColumnRole.IGNORE, "the name and values are those of the interview's date or time"
    if e.content.has_clock_time and e.distinct > 0.5 * e.content.n_answers:
        return ColumnRole.IGNORE, f"{e.distinct:,} different points in time"
    return None


def _looks_like_dates(e: _Evidence) -> bool:
    texts = [answer for answer in e.content.answers[:50] if isinstance(answer, str)]
    return bool(texts) and all(_DATE.search(text) for text in texts)


def _paradata(e: _Evidence) -> Guess | None:
    if (e.named("paradata") or e.is_about("paradata")) and not e.is_labelled and e.distinct > _FEW:
        return ColumnRole.IGNORE, f"{_source(e, 'paradata')} is that of a device or a place"
    return None


def _interviewer(e: _Evidence) -> Guess | None:
    """Numbers and names of interviewers; questions about them have labels or few levels."""
    if not (e.named("interviewer") or e.says("interviewer")) or not e.is_whole:
        return None
    if e.content.is_temporal or len(e.label) > 2 * _SHORT_LABEL:
        return None
    has_number = e.says("number") or e.named("id")
    many = e.distinct > _FEW and not e.is_labelled
    if many or (has_number and e.says("interviewer") and not e.is_labelled):
        return ColumnRole.IGNORE, f"{e.distinct:,} different interviewers"
    return None


def _weight(e: _Evidence) -> Guess | None:
    numbers = e.content.numbers
    if numbers is None or e.content.is_temporal or numbers.min() < 0 or e.n_labelled > 2:
        return None
    if e.says("body") or (e.distinct == 2 and set(numbers) <= {0.0, 1.0, 2.0}):
        return None
    if e.named("weight") or e.says("weight"):
        source = "name" if e.named("weight") else "label"
        return ColumnRole.WEIGHT, f"the {source} is that of a weight, the numbers are positive"
    in_label = e.says("weight_word") and len(e.label) <= _SHORT_LABEL
    in_name = e.named("weight_weak")
    if not (in_name or in_label) or _is_body_weight(e):
        return None
    source = "name" if in_name else "label"
    if not e.is_whole and e.distinct > _FEW:
        return ColumnRole.WEIGHT, f"the {source} of a weight, positive numbers with fractions"
    if in_name and in_label and (e.distinct == 1 or numbers.max() > 1000):
        return ColumnRole.WEIGHT, "the name and the label are those of a weight"
    return None


def _is_body_weight(e: _Evidence) -> bool:
    """Whether numbers could be body weights, by median and spread."""
    numbers = e.content.numbers
    if numbers is None or e.distinct <= 1:
        return False
    values = np.repeat(numbers, e.content.counts)
    median = float(np.median(values))
    usual = any(low <= median <= high for low, high in _BODY_MEDIANS)
    return usual and float(values.std()) < _BODY_SPREAD * median


def _stratum(e: _Evidence) -> Guess | None:
    if e.says("social") or not _could_be_design(e):
        return None
    if e.named("stratum") or e.is_about("stratum"):
        return ColumnRole.STRATUM, f"{_source(e, 'stratum')} is that of a sampling stratum"
    return None


def _cluster(e: _Evidence) -> Guess | None:
    if e.says("not_cluster") or not _could_be_design(e):
        return None
    if e.named("cluster") or e.is_about("cluster"):
        return ColumnRole.CLUSTER, f"{_source(e, 'cluster')} is that of a sampling unit"
    return None


def _could_be_design(e: _Evidence) -> bool:
    """Whether the values can be strata or clusters: whole numbers or texts shared by rows."""
    return e.is_whole and not e.content.is_temporal and not e.is_unique


def _identifier(e: _Evidence) -> Guess | None:
    if not e.is_whole or e.content.is_temporal or _is_free_text(e):
        return None
    numbers, rows = e.content.numbers, e.content.n_rows
    known = e.named("id") or e.is_about("id")
    if e.is_unique:
        what = "texts" if numbers is None else "whole numbers"
        in_sequence = numbers is not None and bool(np.ptp(numbers) < 1.01 * e.distinct)
        if numbers is None or known or in_sequence:
            return ColumnRole.ID, f"{e.distinct:,} different {what} in {rows:,} rows"
    elif known and not e.is_labelled and e.distinct > max(_MANY_LEVELS, _NAMED_SHARE * rows):
        detail = f"{e.distinct:,} different values in {rows:,} rows"
        return ColumnRole.ID, f"{_source(e, 'id')} is that of an identifier, {detail}"
    return None


def _member(e: _Evidence) -> Guess | None:
    """Numbers of households in a cluster or of persons in a household."""
    if e.is_about("member") and e.is_whole and not e.is_labelled and e.content.numbers is not None:
        return ColumnRole.IGNORE, "the label is that of a number within a household or cluster"
    return None


def _free_text(e: _Evidence) -> Guess | None:
    if _is_free_text(e):
        return ColumnRole.IGNORE, f"free text, {e.distinct:,} different texts"
    if not (e.is_text or e.is_labelled) or e.distinct <= _MANY_LEVELS:
        return None
    if float(np.median(e.content.counts)) <= _RARE:
        what = "texts" if e.is_text else "levels"
        return ColumnRole.IGNORE, f"{e.distinct:,} different {what}, most given once or twice"
    return None


def _is_free_text(e: _Evidence) -> bool:
    if not e.is_text or e.content.is_temporal or e.content.n_rows < _MIN_ROWS:
        return False
    length = float(np.mean([len(str(answer)) for answer in e.content.answers]))
    has_spaces = float(np.mean([" " in str(answer).strip() for answer in e.content.answers]))
    if e.distinct < _MIN_TEXTS:
        # Remarks of a few respondents: sentences, no two alike.
        all_differ = _MIN_REMARKS <= e.distinct == e.content.n_answers
        is_rare = 2 * e.content.n_answers <= e.content.n_rows
        return all_differ and is_rare and length > _REMARK_LENGTH and has_spaces == 1
    many = e.distinct >= _TEXT_SHARE * e.content.n_answers
    return many and ((length > _TEXT_LENGTH and has_spaces > 0.5) or not e.is_unique)


def _source(e: _Evidence, key: str) -> str:
    """Return whether the name or the label indicates a role."""
    return "the name" if e.named(key) else "the label"


_GUESSES: tuple[Callable[[_Evidence], Guess | None], ...] = (
    _time,
    _paradata,
    _interviewer,
    _weight,
    _stratum,
    _cluster,
    _identifier,
    _member,
    _free_text,
)
