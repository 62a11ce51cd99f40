"""Converts column names to names that a program accepts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from tabsoda.events import EventLog


@dataclass(frozen=True)
class NameRule:
    """The rules of a program for names of variables.

    Attributes
    ----------
    program : str
        Name of the program, for messages.
    longest : int
        Maximum number of characters.
    reserved : frozenset of str
        Reserved words, in lower case.
    first, others : str
        Characters allowed at the beginning and after it, as a regular expression class.
    ignores_case : bool
        Whether two names that differ only in case are equal.
    """

    program: str
    longest: int
    reserved: frozenset[str] = frozenset()
    first: str = "A-Za-z_"
    others: str = "A-Za-z0-9_"
    ignores_case: bool = True

    def accepts(self, name: str) -> bool:
        """Return whether a name is valid."""
        fits = re.fullmatch(f"[{self.first}][{self.others}]*", name) is not None
        return fits and len(name) <= self.longest and name.lower() not in self.reserved

    def proposal(self, name: str) -> str:
        """Return a similar name that the program accepts; it may not be unique."""
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        written = re.sub(f"[^{self.others}]", "_", plain)
        if not re.match(f"[{self.first}]", written):
            written = f"v{written}"
        written = written[: self.longest].rstrip(".")
        return f"{written[: self.longest - 1]}_" if written.lower() in self.reserved else written


def name_map(
    names: Iterable[str], rule: NameRule, events: EventLog, taken: Iterable[str] = ()
) -> dict[str, str]:
    """Give every column a name that the program accepts, its own if possible.

    Parameters
    ----------
    names : iterable of str
    rule : NameRule
    events : EventLog
        Receives an event for every changed name.
    taken : iterable of str
        Names reserved by the export.

    Examples
    --------
    >>> rule = NameRule("Stata", 8, reserved=frozenset({"if"}))
    >>> list(name_map(["Q1", "q1", "if", "2nd answer", "Größe in m"], rule, EventLog()).values())
    ['Q1', 'q1_2', 'if_', 'v2nd_ans', 'Groe_in_']
    """
    wanted = list(names)

    def key(name: str) -> str:
        return name.lower() if rule.ignores_case else name

    used = {key(name) for name in taken}
    result: dict[str, str] = {}
    # Valid names are assigned first, so that no converted name takes them.
    for name in wanted:
        if rule.accepts(name) and key(name) not in used:
            result[name] = name
            used.add(key(name))
    for name in wanted:
        if name in result:
            continue
        base = proposed = rule.proposal(name)
        number = 2
        while key(proposed) in used:
            ending = f"_{number}"
            proposed = base[: rule.longest - len(ending)] + ending
            number += 1
        result[name] = proposed
        used.add(key(proposed))
        events.add("column_renamed", column=name, program=rule.program, name=proposed)
    return {name: result[name] for name in wanted}
