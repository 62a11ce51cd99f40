"""Split labels into normalised words: no case, accents, punctuation or damaged letters."""

from __future__ import annotations

import re
import unicodedata

# Stands for a character that a wrong decoding has lost.
LOST = "\ufffd"
# Letters that Unicode does not decompose into letter and accent. Apostrophes are removed.
_PLAIN_LETTERS = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ة": "ه", "ى": "ي", "ـ": ""}
    | dict.fromkeys("'’‘ʼ`´", "")
)
# Vowel signs of Indian and Thai scripts count as letters here; Python's \w excludes them.
_LETTER = rf"[^\W_]|[\u0900-\u0963\u0966-\u0eff{LOST}]"
_SINGLE = r"[^\W\d_]"
# Spaces do not separate words in Chinese and Japanese: every character is a word.
_IDEOGRAPH = r"[\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff]"
_TOKEN = re.compile(
    rf"(?P<abbreviation>{_SINGLE}(?:(?:\. ?|/){_SINGLE}(?!{_LETTER}))+)"
    rf"|(?P<ideograph>{_IDEOGRAPH})"
    rf"|(?P<word>(?:(?!{_IDEOGRAPH})(?:{_LETTER}))+)"
    r"|(?P<mark>\S)"
)
_LOST_IN_WORD = re.compile(r"(?<=[^\W\d_])\?(?=[^\W\d_])")
_HYPHEN_IN_WORD = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011](?=[^\W\d_])")


def words(text: str) -> tuple[str, ...]:
    """Split a text into words without case, accents and punctuation.

    Chinese and Japanese characters are one word each. Single letters joined by stops or slashes
    are one abbreviation. UTF-8 that was read as Latin-1 is repaired first.

    Examples
    --------
    >>> words("98. ¿No SABE?"), words("k. A."), words("N/A"), words("NÃ£o sabe")
    (('98', 'no', 'sabe'), ('ka',), ('n/a',), ('nao', 'sabe'))
    >>> words("無回答")
    ('無', '回', '答')
    """
    return tuple(word for part in word_parts(text) for word in part)


def word_parts(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a text at its punctuation, and each part into words.

    Examples
    --------
    >>> word_parts("(No leer) NS/NR: n.a.")
    (('no', 'leer'), ('ns',), ('nr',), ('na',))
    """
    parts: list[list[str]] = [[]]
    for match in _TOKEN.finditer(_plain(text)):
        token = match.group()
        if match.lastgroup == "mark":
            parts.append([])
        else:
            is_short = match.lastgroup == "abbreviation"
            parts[-1].append(re.sub(r"[. ]", "", token) if is_short else token)
    return tuple(tuple(part) for part in parts if part)


def _plain(text: str) -> str:
    text = _HYPHEN_IN_WORD.sub(" ", _LOST_IN_WORD.sub(LOST, _repaired(text)))
    text = unicodedata.normalize("NFKD", text.casefold()).translate(_PLAIN_LETTERS)
    return "".join(character for character in text if not unicodedata.combining(character))


def _repaired(text: str) -> str:
    """Undo the decoding of UTF-8 as Latin-1 or Windows-1252; return other texts unchanged."""
    if text.isascii():
        return text
    try:
        return b"".join(map(_byte, text)).decode()
    except UnicodeError:
        return text


def _byte(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeError:
        return character.encode("latin-1")
