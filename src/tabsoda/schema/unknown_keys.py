"""The error for an unknown key in a survey description, in TOML or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tabsoda.errors import InputError


def unknown_key(
    key: str, known: Iterable[str], source: str, *, column: str | None = None, place: str = ""
) -> InputError:
    """Return an error that names the key, its location and the nearest valid key.

    Parameters
    ----------
    key : str
    known : iterable of str
        The keys that are valid there.
    source : str
        The name of the description, for messages.
    column : str, optional
        The column whose entry holds the key.
    place : str
        Where in the entry, such as ``"levels"``; empty at its top.

    Examples
    --------
    >>> print(unknown_key("knid", ["name", "kind"], "'survey.toml'", column="Q1"))
    Column 'Q1' has an unknown key in 'survey.toml'. Found: knid. Expected: one of name, kind. \
Did you mean 'kind'? Correct the key or remove it.
    """
    known = list(known)
    near = get_close_matches(key.lower(), known, n=1, cutoff=0.5)
    step = f"Did you mean '{near[0]}'? Correct the key or remove it" if near else "Remove it"
    where = f"under {place} in {source}" if place else f"in {source}"
    return InputError(
        f"has an unknown key {where}"
        if column
        else f"The survey description has an unknown key {where}",
        column=column,
        found=key,
        expected=f"one of {', '.join(known)}",
        next_step=step,
    )
