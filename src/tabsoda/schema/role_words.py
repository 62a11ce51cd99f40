"""Names and label phrases that indicate a role, read from role_names.toml and languages."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tabsoda.schema.vocabulary import language_documents
from tabsoda.schema.words import words

_NAME_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\dA-Za-z_]+|\d+")


@dataclass(frozen=True)
class NameRule:
    """Names that indicate a role; see role_names.toml."""

    words: frozenset[str]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    names: frozenset[str]
    not_words: frozenset[str]

    def fits(self, name: str) -> bool:
        """Whether a column's name indicates the role."""
        parts = name_words(name)
        if self.not_words.intersection(parts):
            return False
        return name.lower() in self.names or any(
            part in self.words or part.startswith(self.starts) or part.endswith(self.ends)
            for part in parts
        )


class LabelRule:
    """Label phrases that indicate a role, in all languages."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = {words(phrase) for phrase in phrases}
        self._lengths = sorted({len(phrase) for phrase in self._phrases}, reverse=True)

    def longest(self, label: tuple[str, ...]) -> int:
        """Return the number of words in the longest phrase found in a label; 0 if none."""
        for length in self._lengths:
            for start in range(len(label) - length + 1):
                if label[start : start + length] in self._phrases:
                    return length
        return 0


def name_words(name: str) -> tuple[str, ...]:
    """Split a column's name at underscores, digits and changes of case.

    Examples
    --------
    >>> name_words("INTERVIEW_START_W78"), name_words("ResponseId"), name_words("IPAddress")
    (('interview', 'start', 'w', '78'), ('response', 'id'), ('ip', 'address'))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return tuple(word for part in _NAME_WORD.findall(plain) for word in words(part))


@cache
def name_rule(key: str) -> NameRule:
    """Return a rule of role_names.toml."""
    text = files("tabsoda.schema").joinpath("role_names.toml").read_text("utf-8")
    entry = tomllib.loads(text)[key]
    return NameRule(
        frozenset(entry.get("words", ())),
        tuple(entry.get("starts", ())),
        tuple(entry.get("ends", ())),
        frozenset(entry.get("names", ())),
        frozenset(entry.get("not_words", ())),
    )


@cache
def label_rule(key: str) -> LabelRule:
    """Return the phrases that all languages list under a key of their ``roles``."""
    return LabelRule(
        phrase for document in language_documents() for phrase in document["roles"][key]
    )
