"""Read the reason for a missing answer from a code's label, in several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from tabsoda.schema.column import Reason
from tabsoda.schema.vocabulary import Entry, Match, Use, vocabulary
from tabsoda.schema.words import word_parts


@dataclass(frozen=True)
class LabelReading:
    """The reading of one label.

    Attributes
    ----------
    reason : Reason
        Why there is no answer, if the code is a missing code.
    is_certain : bool
        Whether the label alone shows this. Otherwise the code must be declared missing by the file
        or be separated from the answers by a gap.
    is_short : bool
        Whether the reading depends on an abbreviation.
    is_whole : bool
        Whether the label, or its first part, contains nothing else.
    """

    reason: Reason
    is_certain: bool
    is_short: bool = False
    is_whole: bool = True


def reason_from_label(label: str, *, declared: bool = False, language: str = "") -> Reason | None:
    """Return why a code with this label is not an answer, or None if it looks like an answer.

    Parameters
    ----------
    label : str
        In any of the languages of ``schema/languages``; case, accents, punctuation and codes in
        front do not matter.
    declared : bool
        Whether the file declares the code as missing, or a gap separates it from the answers. Then
        labels that could also be answers count as well, such as "trifft nicht zu" or "NC".
    language : str
        The language of the file, such as ``"Spanish"``; used for abbreviations that mean different
        things in different languages.

    Returns
    -------
    Reason or None
        ``OTHER`` where several reasons are given, as in "NS/NR", "Don't know or refused" or
        "Inapplicable or refused". The last is imputed, because as a skip, real nonresponse would
        stay empty.

    Examples
    --------
    >>> [reason_from_label(text).value for text in
    ...  ("Legitimate skip", "98. No sabe", "Verweigert", "Sans réponse", "Invalid skip")]
    ['skip', 'dont_know', 'refused', 'blank', 'blank']
    >>> reason_from_label("Nunca") is None
    True
    >>> reason_from_label("trifft nicht zu"), reason_from_label("trifft nicht zu", declared=True)
    (None, <Reason.SKIP: 'skip'>)
    >>> reason_from_label("NS/NR").value
    'other'
    """
    reading = read_label(label, language)
    return reading.reason if reading and (declared or reading.is_certain) else None


@lru_cache(maxsize=20_000)
def read_label(label: str, language: str = "") -> LabelReading | None:
    """Read a label; None if no part of it gives a reason for no answer."""
    parts = [(part, vocabulary().find(part)) for part in word_parts(label)]
    if any(entry.use is Use.ANSWER for _, found in parts for m in found for entry in m.entries):
        return None
    used: list[Entry] = []
    decisive: bool | None = None
    all_whole = all(_is_covered(part, found) for part, found in parts)
    for part, found in parts:
        whole = _is_covered(part, found)
        meanings = [m for match in found if (m := _meaning(match, language)) is not None]
        meanings = [m for m in meanings if whole or m.use in (Use.PHRASE, Use.MISSING)]
        # "S. D. de los Tsáchilas" is a province, although "s. d." is an abbreviation.
        meanings = [m for m in meanings if all_whole or m.use is not Use.SHORT]
        used += meanings
        if decisive is None and not (whole and not meanings):
            # The first part that is not only a code or a filler decides whether it is certain.
            decisive = whole
    if not used:
        return None
    specific = [entry for entry in used if entry.use is not Use.MISSING] or used
    reasons = {entry.reason for entry in specific}
    is_short = all(entry.use is Use.SHORT for entry in specific)
    clear = any(entry.use not in (Use.SHORT, Use.UNCLEAR) for entry in specific)
    # Abbreviations in the file's language are clear, and so are two different ones ("NS/NR").
    clear = clear or (is_short and (len(reasons) > 1 or specific[0].language == language))
    reason = next(iter(reasons)) if len(reasons) == 1 else Reason.OTHER
    whole = bool(decisive)
    return LabelReading(reason or Reason.OTHER, whole and clear, is_short, whole)


def _is_covered(part: tuple[str, ...], found: list[Match]) -> bool:
    """Whether a part of a label consists only of phrases, fillers and numbers."""
    covered = {
        place
        for match in found
        if any(entry.use is not Use.ELSE for entry in match.entries)
        for place in range(match.start, match.stop)
    }
    return all(place in covered or word.isdigit() for place, word in enumerate(part))


def _meaning(match: Match, language: str) -> Entry | None:
    """Return the meaning of a phrase in the file's language, else in all languages.

    Where languages disagree ("NC" is "no contesta" or "non concerné"), the reason is ``OTHER``.
    """
    entries = [entry for entry in match.entries if entry.reason is not None]
    own = [entry for entry in entries if entry.language == language]
    if language and not own:
        # "Red" is a party in English; only in a Turkish file may it be a refusal.
        entries = [entry for entry in entries if entry.use is not Use.UNCLEAR]
    entries = own or entries
    if not entries:
        return None
    first = min(entries, key=lambda entry: list(Use).index(entry.use))
    reasons = {entry.reason for entry in entries if entry.use is first.use}
    return first if len(reasons) == 1 else replace(first, reason=Reason.OTHER)


def main_language(labels: Iterable[str]) -> str:
    """Return the language in which most labels give a reason for missing answers, or ``""``.

    Abbreviations do not count, nor phrases that several languages share.

    Examples
    --------
    >>> main_language(["No sabe", "No responde", "Sí", "NS", "Refused"])
    'Spanish'
    """
    counts: Counter[str] = Counter()
    for label in set(labels):
        for part in word_parts(label):
            for match in vocabulary().find(part):
                languages = {entry.language for entry in match.entries if entry.use is Use.PHRASE}
                if len(languages) == 1:
                    counts[languages.pop()] += 1
    (best, most), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return best if most > second else ""
