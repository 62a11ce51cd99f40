"""Whether a follower was asked because its gate was refused, or because of the true answer.

If a gate is refused or answered with "don't know", the questionnaire routes by that, because the
answer is unknown. Whether the follower was asked then carries no information about the answer. Only
if some refusers were asked and others were not, something else decided, and the follower is
informative about the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabsoda.events import EventLog
from tabsoda.skips.forward import ASKED_REASONS
from tabsoda.skips.screening import wilson_upper
from tabsoda.states.cell_states import CellState, CellStates, reason_code
from tabsoda.table import CodedTable

Mask = NDArray[np.bool_]
# Share of exceptions allowed to "all were asked" or "nobody was asked".
_FEW = 0.05
# Followers listed in one event.
_NAMED = 5


@dataclass(frozen=True, eq=False)
class ReasonRouting:
    """Which followers were asked, or not, because their gate was refused.

    Attributes
    ----------
    by_answer : ndarray of int64, shape (n, 3)
        The exceptions: gate, follower and reason code for which the data show that some refusers
        were asked and others were not. Gates and followers are positions in the table.

    Examples
    --------
    >>> from tabsoda.schema.column import Reason
    >>> refused = np.array([[reason_code(Reason.REFUSED), 0]], dtype=np.uint8)
    >>> answered = np.array([[False, True]])
    >>> states = CellStates.from_masks(answered, np.zeros((1, 2), bool), ("a", "b"), refused)
    >>> ReasonRouting().uninformative(states, 0, [1]).tolist()
    [[True]]
    >>> ReasonRouting(np.array([[0, 1, refused[0, 0]]])).uninformative(states, 0, [1]).tolist()
    [[False]]
    """

    by_answer: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), dtype=np.int64))

    @classmethod
    def learn(
        cls,
        states: CellStates,
        asked: Mask,
        undecided: Mask,
        led_past: Mask,
        below: Mapping[int, Sequence[int]],
    ) -> ReasonRouting:
        """Find the exceptions.

        The share of refusers who were asked is compared with that of respondents for whom nothing
        skips the follower, because some of those who are asked give no answer and no reason.

        Parameters
        ----------
        states : CellStates
        asked, undecided, led_past : ndarray of bool, shape (n_rows, n_columns)
            Cells whose question was asked; cells that a missing gate may skip; cells that known
            answers skip.
        below : mapping of int to sequence of int
            The direct and indirect followers of each gate.
        """
        found = []
        for gate, targets in below.items():
            for code in map(reason_code, ASKED_REASONS):
                declined = _missing_because(states, gate, code)
                if not declined.any():
                    continue
                for target in targets:
                    rows = declined & undecided[:, target]
                    others = ~undecided[:, target] & ~led_past[:, target]
                    if _differ(asked[rows, target], asked[others, target]):
                        found.append((gate, target, code))
        return cls(np.array(found, dtype=np.int64).reshape(-1, 3))

    def uninformative(self, states: CellStates, gate: int, targets: Sequence[int]) -> Mask:
        """Return where followers are not informative about a gate, shape (n_rows, n_targets)."""
        result = np.zeros((states.shape[0], len(targets)), dtype=bool)
        for code in map(reason_code, ASKED_REASONS):
            declined = _missing_because(states, gate, code)
            if declined.any():
                result |= declined[:, None] & ~np.isin(targets, self.exceptions(gate, code))
        return result

    def free_cells(self, states: CellStates, below: Mapping[int, Sequence[int]]) -> Mask:
        """Return the cells not informative about one of their gates, shape (n_rows, n_columns)."""
        free = np.zeros(states.shape, dtype=bool)
        for gate, targets in below.items():
            free[:, list(targets)] |= self.uninformative(states, gate, targets)
        return free

    def exceptions(self, gate: int, code: int) -> NDArray[np.int64]:
        """Return the followers that are informative about a gate missing for this reason."""
        rows = (self.by_answer[:, 0] == gate) & (self.by_answer[:, 2] == code)
        return self.by_answer[rows, 1]

    def log(
        self,
        table: CodedTable,
        below: Mapping[int, Sequence[int]],
        gates: Mask,
        informative: Mask,
        events: EventLog,
    ) -> None:
        """Log whether the followers of refused gates were used to draw the gate.

        Parameters
        ----------
        table : CodedTable
        below : mapping of int to sequence of int
            The direct and indirect followers of each gate.
        gates, informative : ndarray of bool, shape (n_rows, n_columns)
            Missing cells that are drawn as gates; cells whose state could say something about a
            gate.
        events : EventLog
        """
        for gate, targets in below.items():
            for reason in ASKED_REASONS:
                code = reason_code(reason)
                rows = gates[:, gate] & (table.states.reasons[:, gate] == code)
                known = [target for target in targets if informative[rows, target].any()]
                used = set(self.exceptions(gate, code).tolist())
                fitting = [table.names[target] for target in known if target in used]
                regardless = [table.names[target] for target in known if target not in used]
                if regardless:
                    events.add(
                        "gate_drawn_regardless_of_followers",
                        column=table.names[gate],
                        respondents=int(rows.sum()),
                        reason=reason.value,
                        followers=_some_names(regardless),
                    )
                if fitting:
                    events.add(
                        "gate_drawn_to_fit_followers",
                        column=table.names[gate],
                        respondents=int(rows.sum()),
                        reason=reason.value,
                        followers=_some_names(fitting),
                    )


def _some_names(names: list[str]) -> list[str]:
    return names if len(names) <= _NAMED else [*names[: _NAMED - 1], "others"]


def _missing_because(states: CellStates, position: int, code: int) -> Mask:
    """Return where a column is missing for this reason, shape (n_rows,)."""
    missing = states.states[:, position] == CellState.MISSING
    return missing & (states.reasons[:, position] == code)


def _differ(asked: Mask, otherwise: Mask) -> bool:
    """Return whether refusers were treated differently: neither nearly all nor none were asked."""
    n, n_asked = asked.size, int(asked.sum())
    usual = float(otherwise.mean()) if otherwise.size else 1.0
    nearly_all = wilson_upper(n_asked, n) >= (1 - _FEW) * usual
    nearly_none = 1 - wilson_upper(n - n_asked, n) <= _FEW
    return n > 0 and not (nearly_all or nearly_none)
