"""Names that a program accepts, made from names it would refuse."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from tabsoda.events import EventLog


@dataclass(frozen=True)
class NameRule:
    """What a program allows as the name of a variable.

    Attributes
    ----------
    program : str
        For messages.
    longest : int
        Characters.
    reserved : frozenset of str
        Words that are no names, in lower case.
    first, others : str
        Characters allowed at the beginning and after it, as in a regular expression's class.
    ignores_case : bool
        Whether two names that differ in case only are the same.
    """

    program: str
    longest: int
    reserved: frozenset[str] = frozenset()
    first: str = "A-Za-z_"
    others: str = "A-Za-z0-9_"
    ignores_case: bool = True

    def accepts(self, name: str) -> bool:
        """Whether a name can stay as it is."""
        fits = re.fullmatch(f"[{self.first}][{self.others}]*", name) is not None
        return fits and len(name) <= self.longest and name.lower() not in self.reserved

    def proposal(self, name: str) -> str:
        """Return a name near the given one that the program accepts, unique or not."""
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        written = re.sub(f"[^{self.others}]", "_", plain)
        if not re.match(f"[{self.first}]", written):
            written = f"v{written}"
        written = written[: self.longest].rstrip(".")
        return f"{written[: self.longest - 1]}_" if written.lower() in self.reserved else written


def name_map(
    names: Iterable[str], rule: NameRule, events: EventLog, taken: Iterable[str] = ()
) -> dict[str, str]:
    """Give every column a name that the program accepts, its own where possible.

    Parameters
    ----------
    names : iterable of str
    rule : NameRule
    events : EventLog
        Told of every name that changes.
    taken : iterable of str
        Names that the export needs for itself.

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
    # Names that can stay are given first, so that no other name takes theirs.
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
        detail = f"{rule.program} gets '{proposed}'"
        events.add("export", "column renamed", column=name, detail=detail)
    return {name: result[name] for name in wanted}
