"""The order in which rules are applied: each gate before the questions that depend on it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from tabsoda.errors import InputError


def gates_first(names: Sequence[str], dependencies: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return names in the given order, except that gates move before their targets.

    The columns of a file need not be in the order of the interview: for example, the form that was
    assigned first may be the last column.

    Parameters
    ----------
    names : sequence of str
        In the order of the questionnaire, as far as known.
    dependencies : iterable of (str, str)
        Gate and target.

    Raises
    ------
    InputError
        If questions depend on each other in a cycle.

    Examples
    --------
    >>> gates_first(["Q1", "Q2", "FORM"], [("Q1", "Q2"), ("FORM", "Q1")])
    ('FORM', 'Q1', 'Q2')
    """
    place = {name: position for position, name in enumerate(names)}
    targets: dict[str, set[str]] = {name: set() for name in names}
    for gate, target in dependencies:
        targets[gate].add(target)
    # Change the order as little as possible: move a gate only if a target needs it.
    ready = [-place[name] for name in names if not targets[name]]
    remaining = {name: len(found) for name, found in targets.items()}
    gates_of: dict[str, list[str]] = {name: [] for name in names}
    for gate, found in targets.items():
        for target in found:
            gates_of[target].append(gate)
    heapq.heapify(ready)
    backwards: list[str] = []
    while ready:
        name = names[-heapq.heappop(ready)]
        backwards.append(name)
        for gate in gates_of[name]:
            remaining[gate] -= 1
            if remaining[gate] == 0:
                heapq.heappush(ready, -place[gate])
    if len(backwards) < len(names):
        circle = [name for name in names if name not in set(backwards)]
        raise InputError(
            "Questions would depend on each other in a cycle",
            found=", ".join(circle[:6]),
            expected="a gate that does not itself depend on the question it skips",
            next_step="Choose another gate, or reject the rule that closes the cycle",
        )
    return tuple(reversed(backwards))
