"""The specification of a question of the embedded survey: its answers and its routing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tabsoda.schema.column import Code, Column, ColumnKind, Reason
from tabsoda.skips.rules import Condition

# The codes of reasons in the file; a blank cell has no code.
SPECIAL_CODES: dict[Reason, int] = {Reason.SKIP: -1, Reason.DONT_KNOW: -8, Reason.REFUSED: -9}
_SPECIAL_LABELS = {
    Reason.SKIP: "Legitimate skip",
    Reason.DONT_KNOW: "Don't know",
    Reason.REFUSED: "Refused",
}

# The code of 'No' in every yes/no question.
NO = 2

# A rule in disjunctive form: the question is skipped where all conditions of one path hold.
Paths = tuple[tuple[Condition, ...], ...]


@dataclass(frozen=True)
class Choice:
    """A closed question.

    Attributes
    ----------
    labels : tuple of str
        The answers; for ordered ones from low to high.
    shares : tuple of float
        Approximate share of each.
    ordered : bool
    first_code : int
        Code of the first answer.
    pulls : mapping of str to mapping of str to float
        For an unordered question: the latent factors that make an answer more likely.
    """

    labels: tuple[str, ...]
    shares: tuple[float, ...]
    ordered: bool
    first_code: int = 1
    pulls: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Number:
    """A number: a count or a measurement, rounded to ``step`` and clipped to bounds.

    Attributes
    ----------
    center, spread : float
        Median and standard deviation; for a skewed number the spread is that of its logarithm.
    low, high : float
    step : float
        Answers are multiples of it.
    zero_share : float
        Share of exact zeros before anything else.
    skewed : bool
        Log-normal rather than normal.
    """

    center: float
    spread: float
    low: float
    high: float
    step: float = 1.0
    zero_share: float = 0.0
    skewed: bool = False


@dataclass(frozen=True)
class Question:
    """One question, who is asked, and what the answer depends on.

    Attributes
    ----------
    name, label : str
    answer : Choice or Number
    skipped_if : tuple of tuple of Condition
        Empty if all respondents are asked.
    universe : str
        Who is asked, in the words of a codebook.
    loads : mapping of str to float
        Latent factors the answer increases with; drawn at random if empty.
    signal : float
        Share of the answer's variance that the factors explain.
    sensitivity : float
        Nonresponse relative to the survey's rate; 0 for register data.
    """

    name: str
    label: str
    answer: Choice | Number
    skipped_if: Paths = ()
    universe: str = ""
    loads: Mapping[str, float] = field(default_factory=dict)
    signal: float = 0.75
    sensitivity: float = 1.0

    def column(self, spelled_out: tuple[Reason, ...]) -> Column:
        """Describe the question; ``spelled_out`` are the reasons that have a code in the file."""
        reasons = [reason for reason in spelled_out if self._can_be(reason)]
        special: dict[Code, Reason] = {SPECIAL_CODES[reason]: reason for reason in reasons}
        labels: dict[Code, str] = {}
        levels: tuple[Code, ...] = ()
        kind = ColumnKind.CONTINUOUS
        if isinstance(self.answer, Choice):
            kind = ColumnKind.ORDINAL if self.answer.ordered else ColumnKind.NOMINAL
            levels = tuple(self.answer.first_code + k for k in range(len(self.answer.labels)))
            labels = dict(zip(levels, self.answer.labels, strict=True))
        labels |= {SPECIAL_CODES[reason]: _SPECIAL_LABELS[reason] for reason in reasons}
        return Column(
            self.name,
            kind,
            levels,
            label=self.label,
            level_labels=labels,
            special_codes=special,
            universe=self.universe or "Everybody",
        )

    def _can_be(self, reason: Reason) -> bool:
        """Whether a cell of this question can be without answer for that reason."""
        return bool(self.skipped_if) if reason is Reason.SKIP else self.sensitivity > 0


def yes_no(share: float) -> Choice:
    """Return a yes/no question answered 1 'Yes' by this share."""
    return Choice(("Yes", "No"), (share, 1.0 - share), ordered=False)


def scale(labels: tuple[str, ...], *shares: float) -> Choice:
    """Return an ordered question; equal shares where none are given."""
    return Choice(labels, shares or (1.0 / len(labels),) * len(labels), ordered=True)


def points(n_points: int, low: str, high: str, *, peak: float = 0.5, first_code: int = 0) -> Choice:
    """Return a numbered scale with labelled ends, most answers near ``peak`` (0 to 1)."""
    labels = tuple(
        low if k == 0 else high if k == n_points - 1 else str(k + first_code)
        for k in range(n_points)
    )
    heights = [1.0 / (0.15 + abs(k / (n_points - 1) - peak)) for k in range(n_points)]
    return Choice(
        labels, tuple(h / sum(heights) for h in heights), ordered=True, first_code=first_code
    )


def one_of(labels: tuple[str, ...], *shares: float, **pulls: Mapping[str, float]) -> Choice:
    """Return an unordered question; equal shares where none are given."""
    return Choice(labels, shares or (1.0 / len(labels),) * len(labels), ordered=False, pulls=pulls)
