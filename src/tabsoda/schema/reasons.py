"""Reads from a code's label why there is no answer."""

from __future__ import annotations

import re

from tabsoda.schema.column import Reason

# A skip that the respondent or the interviewer made by mistake is nonresponse, not routing.
_WRONG_SKIP = re.compile(
    r"\b(in|im)(valid|proper|correct)\w*[ -]+skip|skip(ped)? (in|by) (error|resp)"
)
_PATTERNS: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    (
        Reason.SKIP,
        re.compile(
            r"\binap\b|inapplicable|not applicable|\bn/a\b|\bskip(ped)?\b|\bnot asked\b"
            r"|(not in|out of|outside) universe|\bniu\b"
        ),
    ),
    (
        Reason.REFUSED,
        re.compile(r"\brefus|\brf\b|prefer(red|s)? not|declined? to|rather not (say|answer)"),
    ),
    (
        Reason.DONT_KNOW,
        re.compile(r"\bdon.?t know|\bdoesn.?t know|\bdo(es)? not know|\bdk\b|\bd\.k\."),
    ),
    (
        Reason.BLANK,
        re.compile(
            r"not ascertained|\bno answer\b|not answered|\bmissing\b|\bblank\b|left blank"
            r"|non-?response|\bno response\b|not (available|stated|reported)|\bbad data\b"
            r"|non-?interview|not interviewed|breakoff|break-off|not displayed|invalid skip"
        ),
    ),
)


def reason_from_label(label: str) -> Reason | None:
    """Return why a code with this label is no answer, or None if the label looks like an answer.

    A label that speaks of routing and of nonresponse at once is ``OTHER``: taking it for a skip
    would leave real nonresponse unimputed.

    Examples
    --------
    >>> [reason_from_label(text).value for text in
    ...  ("Legitimate skip", "REFUSED", "Don't know", "Not ascertained", "Invalid skip")]
    ['skip', 'refused', 'dont_know', 'blank', 'blank']
    >>> reason_from_label("Never") is None
    True
    >>> reason_from_label("Inapplicable or refused").value
    'other'
    """
    text = label.lower().replace("’", "'")
    wrong_skip = _WRONG_SKIP.search(text) is not None
    found = [
        reason
        for reason, pattern in _PATTERNS
        if pattern.search(text) and not (wrong_skip and reason is Reason.SKIP)
    ]
    if wrong_skip and not found:
        return Reason.BLANK
    if not found:
        return None
    return Reason.OTHER if Reason.SKIP in found and len(found) > 1 else found[0]
