"""Strip leading codes and remarks from labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tabsoda.schema.codes import as_number
from tabsoda.schema.column import Code

_IN_PARENTHESES = re.compile(r"\(.*?\)|\[.*?\]|（.*?）|【.*?】")
# Tertiles to percentiles in European languages.
QUANTILE_WORD = (
    r"(?:d[eé][cz][iy]l|qu?[ui]ntil|[ck]vintil|kwintyl|quartil|kvartil|kwartyl|ter[tc][iy]l|"
    r"percentil|квинтил|децил|квартил)\w{0,3}"
)
_ONLY_CODE = re.compile(r"^\s*[(\[]?(-?\d+)[)\].:=]+\s*$")
_LEADING_CODE = re.compile(r"^\s*[(\[]?(-?\d+)[)\]]?\s*(?:[.:=)\]]+\s*|\s-+\s*|-\s+|\s+)(?=\S)")


def without_parentheses(label: str) -> str:
    """Drop remarks in parentheses, unless nothing else is left.

    Examples
    --------
    >>> without_parentheses("Satisfecho(a)"), without_parentheses("(none)")
    ('Satisfecho', '(none)')
    """
    text = _IN_PARENTHESES.sub(" ", label)
    return text.strip() if any(map(str.isalnum, text)) else label


def without_codes(labels: Sequence[str], codes: Sequence[Code]) -> tuple[str, ...]:
    """Drop the code in front of each label, if most labels begin with their own code.

    Examples
    --------
    >>> without_codes(["1. Yes", "2. No"], [1, 2])
    ('Yes', 'No')
    >>> without_codes(["(01) Very bad", "(02)", "(03) Very good"], [1, 2, 3])
    ('Very bad', '', 'Very good')
    >>> without_codes(["1-5", "6-10"], [1, 2])
    ('1-5', '6-10')
    >>> without_codes(["1. Dezil", "2. Dezil"], [1, 2])
    ('1. Dezil', '2. Dezil')
    """
    bare = [_without_code(label, code) for label, code in zip(labels, codes, strict=True)]
    if all(re.fullmatch(QUANTILE_WORD, text.strip(), re.IGNORECASE) for text in bare):
        # Its number says which quantile it is.
        return tuple(labels)
    n_changed = sum(b != label for b, label in zip(bare, labels, strict=True))
    return tuple(bare) if n_changed >= max(2, len(labels) / 2) else tuple(labels)


def _without_code(label: str, code: Code) -> str:
    found = _ONLY_CODE.match(label) or _LEADING_CODE.match(label)
    if found is None or as_number(found.group(1)) != as_number(code):
        return label
    return label[found.end() :]
