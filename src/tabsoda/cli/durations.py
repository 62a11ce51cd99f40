"""Durations as text."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours.

    Examples
    --------
    >>> duration_text(40), duration_text(600), duration_text(9000)
    ('40 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} second{'' if seconds < 1.5 else 's'}"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
