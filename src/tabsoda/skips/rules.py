"""A routing rule: the earlier answers that skip a question, and the evidence for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tabsoda.schema.column import Code, Column, Reason
from tabsoda.states.cell_states import CellState, reason_code
from tabsoda.table import CodedTable

# Reasons for a missing answer that a condition can name; skips and blanks have their own fields.
NAMED_REASONS = (Reason.REFUSED, Reason.DONT_KNOW, Reason.OTHER)


class RuleStatus(StrEnum):
    """The review status of a rule."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Condition:
    """The condition on one gate for a rule to fire.

    A gate that was neither answered nor skipped makes the condition false, unless ``reasons`` or
    ``or_blank`` include it: an unknown answer does not show whether the target was skipped.

    Attributes
    ----------
    column : str
        The gate.
    levels : tuple of Code
        Answers of a categorical gate that fulfil it.
    above, up_to : float or None
        Bounds of a numeric gate: above < answer <= up_to.
    or_skipped : bool
        Also fulfilled if the gate itself was skipped.
    or_blank : bool
        Also fulfilled if the gate is missing for any reason (the paper's screen only).
    reasons : tuple of Reason
        Also fulfilled if the gate is missing for one of these reasons. Sorted as in
        :data:`NAMED_REASONS`.

    Examples
    --------
    >>> from tabsoda.schema import ColumnKind
    >>> age = Column("age", ColumnKind.CONTINUOUS)
    >>> table = CodedTable.from_values((age,), np.array([[12.0], [np.nan]]))
    >>> Condition("age", up_to=14).holds(table).tolist()
    [True, False]
    """

    column: str
    levels: tuple[Code, ...] = ()
    above: float | None = None
    up_to: float | None = None
    or_skipped: bool = False
    or_blank: bool = False
    reasons: tuple[Reason, ...] = ()

    def __post_init__(self) -> None:
        # Sorted, so that equal conditions compare equal. Other reasons are left for the checks.
        order = (*NAMED_REASONS, *(r for r in self.reasons if r not in NAMED_REASONS))
        chosen = tuple(dict.fromkeys(reason for reason in order if reason in self.reasons))
        object.__setattr__(self, "reasons", chosen)

    @property
    def asks_for_answer(self) -> bool:
        """Whether some answer fulfils it, rather than only a state of the gate."""
        return bool(self.levels) or self.above is not None or self.up_to is not None

    @property
    def asks_for_missing(self) -> bool:
        """Whether a missing answer fulfils it, for some reason or for any."""
        return self.or_blank or bool(self.reasons)

    def holds(self, table: CodedTable) -> NDArray[np.bool_]:
        """Return where the condition is fulfilled, shape (n_rows,)."""
        position = table.names.index(self.column)
        return self.holds_for(
            table.columns[position],
            table.values[:, position],
            table.states.states[:, position],
            table.states.reasons[:, position],
        )

    def holds_for(
        self,
        gate: Column,
        values: NDArray[np.float64],
        states: NDArray[np.uint8],
        reasons: NDArray[np.uint8],
    ) -> NDArray[np.bool_]:
        """Return where a gate fulfils the condition, shape (n_rows,).

        All evaluation of conditions and rules goes through this method.

        Parameters
        ----------
        gate : Column
        values : ndarray of float64, shape (n_rows,)
        states, reasons : ndarray of uint8, shape (n_rows,)
            As in :class:`~tabsoda.states.cell_states.CellStates`. Reasons are used only where
            the state is missing.
        """
        result = np.zeros(values.shape[0], dtype=bool)
        if self.levels:
            order = {level: number for number, level in enumerate(gate.levels)}
            wanted = [order[level] for level in self.levels if level in order]
            result |= np.isin(values, wanted)
        elif self.asks_for_answer:
            above = -np.inf if self.above is None else self.above
            up_to = np.inf if self.up_to is None else self.up_to
            # NaN, the value of an unanswered cell, compares false.
            result |= (values > above) & (values <= up_to)
        if self.or_skipped:
            result |= states == CellState.SKIPPED
        if self.or_blank:
            result |= states == CellState.MISSING
        elif self.reasons:
            named = np.isin(reasons, [reason_code(reason) for reason in self.reasons])
            result |= named & (states == CellState.MISSING)
        return result


@dataclass(frozen=True)
class Evidence:
    """How often a rule was right on the table it was mined from.

    ``fired_blank`` and the others are the 2x2 table of Section 3.2: TP, FP, FN and TN. "Answered"
    counts every target that was asked, including refusals and "don't know"; "blank" includes skips
    known from codes or a mask.

    Attributes
    ----------
    fired_blank, fired_answered, silent_blank, silent_answered : int
    answered_upper : float
        Wilson upper bound of P(answered | the rule fires): the rule's own purity.
    false_positive_upper, false_negative_upper : float
        Wilson upper bounds of the paper's two screening rates.
    p_value, q_value : float
        Fisher's exact test, and its Benjamini-Hochberg adjustment within the target.
    coverage : float
        Share of the target's blanks that the rule explains.
    """

    fired_blank: int
    fired_answered: int
    silent_blank: int
    silent_answered: int
    answered_upper: float
    false_positive_upper: float
    false_negative_upper: float
    p_value: float
    q_value: float
    coverage: float


# The evidence for a rule written by hand: no counts, and every bound at its worst value.
NO_EVIDENCE = Evidence(0, 0, 0, 0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0)


# The end of the note on rules approved by a command.
NOT_READ = "not looked at one by one"


@dataclass(frozen=True)
class Decision:
    """A person's decision on a rule: what, who, when and why.

    Attributes
    ----------
    did : str
        ``"approved"``, ``"rejected"``, ``"reopened"``, ``"edited"`` or ``"noted"``.
    by : str
    at : str
        The time in ISO 8601, with its UTC offset.
    why : str
    before : str
        The rule's sentence before it was edited.
    """

    did: str
    by: str
    at: str
    why: str = ""
    before: str = ""


@dataclass(frozen=True)
class Rival:
    """Other conditions that explain the same blanks of a rule's target as well as the rule does.

    The data cannot show which of them is the questionnaire's gate; a person can decide.

    Attributes
    ----------
    any_of : tuple of tuple of Condition
        As in :class:`SkipRule`.
    fired_blank, fired_answered : int
        Respondents on whom the conditions hold, by whether the target is blank or was answered.
    """

    any_of: tuple[tuple[Condition, ...], ...]
    fired_blank: int = 0
    fired_answered: int = 0

    @property
    def gates(self) -> tuple[str, ...]:
        """The columns it looks at, each once, in order of appearance."""
        return gates_of(self.any_of)


@dataclass(frozen=True)
class SkipRule:
    """One rule by which a question is skipped.

    Attributes
    ----------
    identifier : str
        Short and stable within a rule set, such as ``"r017"``.
    target : str
        The question that is skipped.
    any_of : tuple of tuple of Condition
        The rule fires where, for at least one inner tuple, all conditions hold.
    evidence : Evidence
    extended_from : str or None
        The target this rule was found on before it was extended to this one.
    status : RuleStatus
    note : str
    by, at : str
        Who decided last, and when; empty if not signed.
    history : tuple of Decision
        Every signed decision, oldest first.
    rivals : tuple of Rival
        Other conditions that fit as well, most plausible first; see
        :meth:`RuleSet.choose_rival`.
    """

    identifier: str
    target: str
    any_of: tuple[tuple[Condition, ...], ...]
    evidence: Evidence = NO_EVIDENCE
    extended_from: str | None = None
    status: RuleStatus = RuleStatus.PROPOSED
    note: str = field(default="")
    by: str = ""
    at: str = ""
    history: tuple[Decision, ...] = ()
    rivals: tuple[Rival, ...] = ()

    @property
    def gates(self) -> tuple[str, ...]:
        """The columns the rule looks at, each once, in order of appearance."""
        return gates_of(self.any_of)

    @property
    def read_by_nobody(self) -> bool:
        """Whether the rule was approved in bulk, without being read."""
        return self.note.endswith(NOT_READ)

    def signed(self, decision: Decision) -> SkipRule:
        """Return the rule with one more recorded decision, now the last."""
        return replace(self, by=decision.by, at=decision.at, history=(*self.history, decision))

    def fires(self, table: CodedTable) -> NDArray[np.bool_]:
        """Return where the rule fires, whether or not the target is answered; shape (n_rows,)."""
        return self.fires_where(lambda condition: condition.holds(table))

    def fires_where(self, holds: Callable[[Condition], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Combine where each condition holds into where the rule fires, shape (n_rows,)."""
        paths = [np.logical_and.reduce([holds(c) for c in path]) for path in self.any_of]
        return np.logical_or.reduce(paths)


def gates_of(any_of: Iterable[Iterable[Condition]]) -> tuple[str, ...]:
    """Return the columns that conditions look at, each once, in order of appearance."""
    return tuple(dict.fromkeys(condition.column for path in any_of for condition in path))


def count_conditions(rules: Iterable[SkipRule]) -> int:
    """Count rules as the paper does: a condition is one rule, however many questions it skips.

    The order of conditions and of alternatives does not matter.

    Examples
    --------
    >>> never = (Condition("smokes", (2,)),)
    >>> rules = [SkipRule("r1", "per_day", (never,)), SkipRule("r2", "brand", (never,))]
    >>> count_conditions(rules)
    1
    """
    return len({frozenset(frozenset(path) for path in rule.any_of) for rule in rules})


def targets_of(rules: Iterable[SkipRule]) -> tuple[str, ...]:
    """Return the questions that rules skip, each once, in the order of the rules."""
    return tuple(dict.fromkeys(rule.target for rule in rules))
