"""The word lists of one language, compiled to find phrases in a label."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tabsoda.schema.words import words

_GAP = ".."
# A language is tried if it recognises more than this share of what the best one does.
_NEARLY_AS_MANY = 0.5
_GAP_PATTERN = r"((?: \S+){0,6}?)"


@dataclass(frozen=True)
class Found:
    """A phrase in a label.

    Attributes
    ----------
    meanings : tuple of tuple of str
        The lists it is in, such as ``("poles", "agreement", "up")``; a phrase may be in several.
    words : tuple of str
        The words as they are in the label.
    """

    meanings: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]


class PhraseFinder:
    """Finds phrases in a label, longest first.

    Case and accents do not matter. In a phrase, ``*`` at the end of a word stands for any ending,
    ``..`` for up to six words in between ("not .. at all").

    Parameters
    ----------
    phrases : iterable of (str, tuple of str)
        A phrase and its meaning.

    Examples
    --------
    >>> finder = PhraseFinder([("very", ("very",)), ("not very", ("not_very",))])
    >>> [item if isinstance(item, str) else item.meanings for item in
    ...  finder.parse(("not", "very", "happy"))]
    [(('not_very',),), 'happy']
    """

    def __init__(self, phrases: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        meanings: dict[str, list[tuple[str, ...]]] = {}
        for text, meaning in phrases:
            meanings.setdefault(_pattern(text), []).append(meaning)
        by_length = sorted(meanings, key=lambda p: (-p.count(" "), -len(p)))
        self._gaps = [(_anchored(p), tuple(meanings[p])) for p in by_length if _GAP_PATTERN in p]
        plain = [p for p in by_length if _GAP_PATTERN not in p]
        self._meanings = [tuple(meanings[p]) for p in plain]
        self._plain = re.compile(r"(?<!\S)(?:" + "|".join(f"({p})" for p in plain) + r")(?!\S)")

    def parse(self, tokens: tuple[str, ...]) -> list[Found | str]:
        """Return phrases with a gap, then all others and the unknown words in their order."""
        text = " ".join(tokens)
        items: list[Found | str] = []
        for pattern, meanings in self._gaps:
            match = pattern.search(text)
            if match:
                inner = match.group(1)
                outer = match.group().replace(inner, "", 1) if inner else match.group()
                items.append(Found(meanings, tuple(outer.split())))
                text = f"{text[: match.start()]}{inner}{text[match.end() :]}".strip()
        end = 0
        for match in self._plain.finditer(text):
            items += text[end : match.start()].split()
            meanings = self._meanings[(match.lastindex or 1) - 1]
            items.append(Found(meanings, tuple(match.group().split())))
            end = match.end()
        return [*items, *text[end:].split()]


def _anchored(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){pattern}(?!\S)")


def _pattern(text: str) -> str:
    """Turn a phrase into a regular expression over words joined by single spaces."""
    parts: list[str] = []
    for written in text.split():
        if written == _GAP:
            parts[-1] += _GAP_PATTERN
            continue
        tokens = [re.escape(word) for word in words(written.rstrip("*"))]
        if written.endswith("*"):
            tokens[-1] += r"\S*"
        parts += tokens
    return " ".join(parts)


def phrases_of(section: str, entries: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """List the phrases of a section, nested once or twice, each with the keys that lead to it."""
    result: list[tuple[str, tuple[str, ...]]] = []
    for key, value in entries.items():
        if isinstance(value, Mapping):
            for inner, texts in value.items():
                result += [(text, (section, key, inner)) for text in texts]
        else:
            result += [(text, (section, key)) for text in value]
    return result


@cache
def load_words(language: str) -> Mapping[str, Any]:
    """Read the word lists of one language, by its two letters."""
    path = files("tabsoda.schema.scales") / "words" / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _known_words(language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the words of all lists, and the prefixes that end in ``*``."""
    lists = load_words(language)
    exact = {word for text in lists["fillers"] for word in words(text)}
    beginnings: set[str] = set()
    for section in ("strength", "poles", "steps", "middle", "education", "numbers"):
        for text, _ in phrases_of(section, lists[section]):
            for written in text.replace(_GAP, " ").split():
                found = words(written.rstrip("*"))
                (beginnings if written.endswith("*") else exact).update(found)
    return frozenset(word for word in exact if not word.isdigit()), tuple(beginnings)


def likely_languages(labels: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the languages whose lists recognise about the most words of the labels.

    Examples
    --------
    >>> likely_languages([("nie",), ("selten",), ("oft",)])
    ['de']
    """
    counts: dict[str, int] = {}
    for language in languages():
        exact, beginnings = _known_words(language)
        counts[language] = sum(
            word in exact or word.startswith(beginnings) for label in labels for word in label
        )
    most = max(counts.values())
    return [language for language, n in counts.items() if n > _NEARLY_AS_MANY * most]


@cache
def languages() -> tuple[str, ...]:
    """Return the languages with word lists, English first."""
    folder = files("tabsoda.schema.scales") / "words"
    found = sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name[2:] == ".toml")
    return ("en", *(language for language in found if language != "en"))
