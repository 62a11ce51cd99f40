"""Decide the kind of a column by a weighted vote of the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tabsoda.schema.codes import CodeBook
from tabsoda.schema.column import GUESS, Code, ColumnKind, Confidence, Reason
from tabsoda.schema.facts import ColumnFacts
from tabsoda.schema.file_evidence import FileEvidence, code_family, declared_weights, gather
from tabsoda.schema.kind_votes import Labelled, Vote, declared_vote, labelled_levels, votes_for

# Minimum lead of the winning kind for a guess to be certain or likely.
_CERTAIN_LEAD = 3.0
_LIKELY_LEAD = 1.5
_MANY_COLUMNS = 10
# A code that more of the answers have may be an answer.
_MOST_CODED = 0.2


@dataclass(frozen=True)
class KindGuess:
    """The guessed kind of a column.

    Attributes
    ----------
    kind : ColumnKind
    levels : tuple of Code
        In order; empty if continuous.
    reason : str
    confidence : Confidence
    set_apart : mapping of Code to Reason
        Answers that are not a step of the scale: "no opinion", or an unlabelled 99.
    """

    kind: ColumnKind
    levels: tuple[Code, ...]
    reason: str
    confidence: Confidence
    set_apart: Mapping[Code, Reason] = field(default_factory=dict)


def guess_kinds(columns: Sequence[ColumnFacts]) -> list[KindGuess]:
    """Decide the kinds of all columns of a file.

    The weight of declared levels is estimated first, on columns with clear other evidence.
    """
    undeclared = gather(columns)
    guesses = [guess_kind(facts, undeclared) for facts in columns]
    declared = {facts.measure for facts in columns}
    if declared == {""} or (len(declared) == 1 and len(columns) >= _MANY_COLUMNS):
        # A file that declares the same level everywhere is uninformative.
        return guesses
    clear = [
        (facts.measure, guess.kind)
        for facts, guess in zip(columns, guesses, strict=True)
        if facts.measure and guess.confidence is Confidence.CERTAIN
    ]
    file = replace(undeclared, weights=declared_weights(clear))
    return [
        guess_kind(facts, file) if facts.measure else guess
        for facts, guess in zip(columns, guesses, strict=True)
    ]


def guess_kind(facts: ColumnFacts, file: FileEvidence | None = None) -> KindGuess:
    """Decide the kind of one column.

    Examples
    --------
    >>> facts = ColumnFacts("q", answers=(1, 2, 3), measure="nominal",
    ...                     labels={1: "Agree", 2: "Disagree", 3: "Neither"})
    >>> guess = guess_kind(facts)
    >>> guess.kind.value, guess.levels, guess.confidence.value
    ('ordinal', (1, 3, 2), 'certain')
    """
    if facts.order:
        reason = "the table itself gives the levels in this order"
        return KindGuess(ColumnKind.ORDINAL, facts.order, reason, Confidence.CERTAIN)
    if facts.is_temporal:
        return KindGuess(ColumnKind.CONTINUOUS, (), "dates, as numbers", Confidence.CERTAIN)
    if not facts.levels:
        reason = f"{GUESS}no answers, so the kind cannot be determined"
        return KindGuess(ColumnKind.CONTINUOUS, (), reason, Confidence.DOUBTFUL)
    file = file or FileEvidence(weights=declared_weights([]))
    labelled = labelled_levels(facts)
    votes = [*votes_for(facts, file, labelled), *declared_vote(facts, file)]
    kind, confidence, reason = _winner(_allowed(votes, facts, labelled))
    reason = f"{GUESS}{reason}"
    if kind is ColumnKind.ORDINAL:
        levels, set_apart = _ordered(facts, labelled)
        beyond = [code for code, why in set_apart.items() if why is Reason.OTHER]
        if beyond:
            confidence = Confidence.DOUBTFUL
            reason += f"; {', '.join(map(str, beyond))} beyond the scale, taken as missing"
        elif _has_unlabelled_end(levels, labelled):
            confidence = Confidence.DOUBTFUL
            reason += "; an answer beyond the labelled ones has no label"
        return KindGuess(kind, levels, reason, confidence, set_apart)
    if kind is ColumnKind.NOMINAL and labelled.scale is not None and labelled.scale.order is None:
        # Files often declare every labelled question nominal, which says nothing about this one.
        confidence = Confidence.DOUBTFUL
    set_apart = _by_convention(facts, file)
    if set_apart:
        confidence = Confidence.DOUBTFUL
        codes = ", ".join(map(str, set_apart))
        reason += f"; {codes} taken as missing: such codes stand apart in other columns, too"
    is_number = kind is ColumnKind.CONTINUOUS
    levels = () if is_number else tuple(code for code in facts.levels if code not in set_apart)
    return KindGuess(kind, levels, reason, confidence, set_apart)


def _by_convention(facts: ColumnFacts, file: FileEvidence) -> dict[Code, Reason]:
    """Return unlabelled codes such as 9 and 99, if several columns of the file have such codes.

    Which of them means refused and which don't know differs between surveys.
    """
    counts = dict(zip(facts.answers, facts.counts, strict=False))
    most = _MOST_CODED * sum(facts.counts)
    return {
        code: Reason.OTHER
        for code in facts.codes_beyond
        if code_family(code) in file.conventions and 0 < counts.get(code, 0) <= most
    }


def _has_unlabelled_end(levels: tuple[Code, ...], labelled: Labelled) -> bool:
    """Whether a labelled scale begins or ends with a level without a label."""
    return len(labelled.codes) >= 3 and not {levels[0], levels[-1]} <= set(labelled.codes)


def _allowed(votes: list[Vote], facts: ColumnFacts, labelled: Labelled) -> list[Vote]:
    """Drop votes for a kind that is impossible: ordinal without a known order."""
    not_possible = set()
    scale = labelled.scale
    book = CodeBook((*labelled.codes, *facts.codes_beyond))
    # Words give the order of labelled levels only.
    is_partial = (
        scale is not None
        and scale.order is not None
        and not scale.follows_codes
        and any(book.find(answer) is None for answer in facts.answers)
    )
    if not labelled.can_be_ordinal or is_partial or (facts.numbers is None and scale is None):
        not_possible.add(ColumnKind.ORDINAL)
    if (facts.numbers is None and facts.answers) or facts.is_category:
        not_possible.add(ColumnKind.CONTINUOUS)
    if facts.is_category and scale is None:
        not_possible.add(ColumnKind.ORDINAL)
    kept = [vote for vote in votes if vote.kind not in not_possible]
    return kept or [Vote(ColumnKind.NOMINAL, 1.0, "no order is known")]


def _winner(votes: Sequence[Vote]) -> tuple[ColumnKind, Confidence, str]:
    totals = {kind: sum(v.weight for v in votes if v.kind is kind) for kind in ColumnKind}
    first, second, _ = sorted(totals, key=lambda kind: -totals[kind])
    lead = totals[first] - totals[second]
    confidence = Confidence.DOUBTFUL
    if lead >= _LIKELY_LEAD:
        confidence = Confidence.CERTAIN if lead >= _CERTAIN_LEAD else Confidence.LIKELY
    heaviest = max((v for v in votes if v.kind is first), key=lambda vote: vote.weight)
    return first, confidence, heaviest.reason


def _ordered(facts: ColumnFacts, labelled: Labelled) -> tuple[tuple[Code, ...], dict[Code, Reason]]:
    """Return the levels in the order of the scale, and those that are not a step of it."""
    scale = labelled.scale
    apart = dict.fromkeys(facts.codes_beyond, Reason.OTHER)
    if scale is None:
        return tuple(code for code in facts.levels if code not in apart), apart
    apart |= {labelled.codes[i]: Reason.DONT_KNOW for i in scale.unsure}
    if scale.order is None or scale.follows_codes:
        unseen = set(facts.informative_labels) - set(labelled.codes)
        book = CodeBook((*apart, *unseen))
        return tuple(code for code in facts.levels if book.find(code) is None), apart
    return tuple(labelled.codes[i] for i in scale.order), apart
