"""Label phrases that give a reason for a missing answer, one TOML file per language.

Each file in ``languages`` lists:

- ``phrases``: a reason if they are the whole label or its first part;
- ``whole``: the same, but only as a whole part of a label;
- ``short``: abbreviations, which need more evidence ("NC" may be North Carolina);
- ``unclear``: phrases that are as often answers ("trifft nicht zu" ends many scales);
- ``missing``: words for "missing"; the reason is in the rest of the label;
- ``fillers``: words that may accompany a reason; ``answers``: phrases that contain one but are
  answers ("no sabe leer"); ``else``: answers whose code is often separate ("77 Otro").
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from itertools import islice, product
from typing import Any

from tabsoda.schema.column import Reason
from tabsoda.schema.words import LOST, words

# Maximum number of ways to fill in lost characters.
_MAX_SPELLINGS = 200


class Use(StrEnum):
    """The role of a vocabulary phrase in a label."""

    PHRASE = "phrases"
    WHOLE = "whole"
    SHORT = "short"
    UNCLEAR = "unclear"
    MISSING = "missing"
    FILLER = "fillers"
    ANSWER = "answers"
    ELSE = "else"


@dataclass(frozen=True)
class Entry:
    """One phrase of one language; ``reason`` is None for fillers and answers."""

    use: Use
    reason: Reason | None
    language: str


@dataclass(frozen=True)
class Match:
    """Words of a label that match a phrase, in one or more languages."""

    start: int
    stop: int
    entries: tuple[Entry, ...]


class Vocabulary:
    """All phrases of all languages, found in a sequence of words longest first."""

    def __init__(self, documents: Iterable[dict[str, Any]]) -> None:
        self._entries: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
        for document in documents:
            self._add_document(document)
        self._longest = max(map(len, self._entries))
        self._words = {word for phrase in self._entries for word in phrase}

    def _add_document(self, document: dict[str, Any]) -> None:
        language = document["language"]
        for use in (Use.PHRASE, Use.WHOLE, Use.SHORT, Use.UNCLEAR):
            for reason, texts in document.get(use, {}).items():
                self._add(texts, Entry(use, Reason(reason), language))
        self._add(document["missing"], Entry(Use.MISSING, Reason.BLANK, language))
        for use in (Use.FILLER, Use.ANSWER, Use.ELSE):
            self._add(document[use], Entry(use, None, language))

    def _add(self, texts: Iterable[str], entry: Entry) -> None:
        for text in texts:
            known = self._entries[words(text)]
            if entry not in known:
                known.append(entry)

    def find(self, sequence: Sequence[str]) -> list[Match]:
        """Return the phrases in a sequence of words, from left to right, longest first.

        Lost characters are filled in so that most words belong to a phrase.
        """
        spellings = islice(product(*map(self._spellings, sequence)), _MAX_SPELLINGS)
        return max(
            map(self._find, spellings), key=lambda found: sum(m.stop - m.start for m in found)
        )

    def _find(self, sequence: tuple[str, ...]) -> list[Match]:
        matches = []
        start = 0
        while start < len(sequence):
            for stop in range(min(len(sequence), start + self._longest), start, -1):
                entries = self._entries.get(sequence[start:stop])
                if entries is not None:
                    matches.append(Match(start, stop, tuple(entries)))
                    start = stop
                    break
            else:
                start += 1
        return matches

    def _spellings(self, word: str) -> list[str]:
        """Return the vocabulary words that match a word with lost characters."""
        if LOST not in word:
            return [word]
        pattern = re.compile(".?".join(map(re.escape, word.split(LOST))))
        return sorted(known for known in self._words if pattern.fullmatch(known)) or [word]


@cache
def language_documents() -> tuple[dict[str, Any], ...]:
    """Return the content of every language file, in alphabetical order."""
    folder = files("tabsoda.schema").joinpath("languages")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return tuple(tomllib.loads(folder.joinpath(name).read_text("utf-8")) for name in names)


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary of all languages."""
    return Vocabulary(language_documents())
