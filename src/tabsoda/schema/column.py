"""One question of a survey: what its answers mean, not how they are stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tabsoda.errors import InputError
from tabsoda.schema.codes import plain

# The beginning of the note of a guess.
GUESS = "guess: "
# A code as it is in the file: a number, a text, or a Stata letter such as ".a".
Code = int | float | str


class ColumnKind(StrEnum):
    """The measurement scale of a question."""

    CONTINUOUS = "continuous"
    NOMINAL = "nominal"
    ORDINAL = "ordinal"


class ColumnRole(StrEnum):
    """What a column is in the survey.

    Only questions are mined, imputed and used as predictors. Columns of any other role are returned
    unchanged and are never gates. ``IGNORE`` is for other columns, such as remarks, interviewer
    numbers and timestamps.
    """

    QUESTION = "question"
    ID = "id"
    WEIGHT = "weight"
    STRATUM = "stratum"
    CLUSTER = "cluster"
    IGNORE = "ignore"


class Reason(StrEnum):
    """Why a cell has no answer."""

    SKIP = "skip"
    REFUSED = "refused"
    DONT_KNOW = "dont_know"
    BLANK = "blank"
    OTHER = "other"


class Confidence(StrEnum):
    """The confidence of a guess."""

    CERTAIN = "certain"
    LIKELY = "likely"
    DOUBTFUL = "doubtful"


@dataclass(frozen=True)
class Column:
    """A question and the meaning of every code in it.

    Attributes
    ----------
    name : str
    kind : ColumnKind
    levels : tuple of Code
        The answers a categorical question allows, in their order (the order means something
        for ordinals only). Empty for continuous questions.
    label : str
        The question's text.
    level_labels : mapping of Code to str
        The text of each answer, where known; may also label missing codes.
    special_codes : mapping of Code to Reason
        Codes that are not answers, and the reason each stands for.
    role : ColumnRole
    universe : str
        Who was asked, in the codebook's words. Shown with mined rules, never parsed.
    note : str
        The reason for a guess, or the author's remark.
    confidence : Confidence or None
        The confidence of the guessed kind; None if a person gave the kind.
    guessed : str
        The guess and its reason, if a person has since given the kind or the role, such as
        ``"nominal: 3 different texts"``.
    minimum, maximum : float or None
        Smallest and largest possible answer of a continuous question.
    select_all : str
        The select-all question of which the column is a box to tick; boxes of one question have the
        same text. A blank box is 0, not ticked, if another box of the question is ticked.

    Examples
    --------
    >>> smoked = Column("AC1002", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Yes", 2: "No"})
    >>> smoked.describe_level(2)
    "2 'No'"
    """

    name: str
    kind: ColumnKind
    levels: tuple[Code, ...] = ()
    label: str = ""
    level_labels: Mapping[Code, str] = field(default_factory=dict)
    special_codes: Mapping[Code, Reason] = field(default_factory=dict)
    role: ColumnRole = ColumnRole.QUESTION
    universe: str = ""
    note: str = ""
    confidence: Confidence | None = None
    guessed: str = ""
    minimum: float | None = None
    maximum: float | None = None
    select_all: str = ""

    def __post_init__(self) -> None:
        self._check_bounds()
        seen: set[Code] = set()
        for level in self.levels:
            if level in seen:
                raise InputError(
                    "repeats a level",
                    column=self.name,
                    found=f"{level!r} twice",
                    expected="each level once",
                    next_step="Remove the repetition from the survey description",
                )
            seen.add(level)
        # 1, 1.0 and "1" are one code, "01" is another.
        spelled = {str(plain(level)) for level in self.levels}
        both = [code for code in self.special_codes if str(plain(code)) in spelled]
        if both:
            raise InputError(
                "lists a code both as an answer and as a missing code",
                column=self.name,
                found=", ".join(repr(code) for code in sorted(both, key=str)),
                expected="each code in one place",
                next_step="Remove it from the levels or from the special codes",
            )
        reasons: dict[str, Reason] = {}
        for code, reason in self.special_codes.items():
            first = reasons.setdefault(str(plain(code)), reason)
            if first is not reason:
                raise InputError(
                    "gives one code two meanings",
                    column=self.name,
                    found=f"{code!r} as {first.value} and as {reason.value}",
                    expected="each code once",
                    next_step="Remove one of them from the survey description",
                )

    def _check_bounds(self) -> None:
        given = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if given and self.is_categorical:
            raise InputError(
                "has a minimum or a maximum but is not continuous",
                column=self.name,
                found=f"kind {self.kind.value}",
                expected="kind continuous",
                next_step="Remove the bound; the levels of a choice are its possible answers",
            )
        if not all(math.isfinite(bound) for bound in given) or given != sorted(given):
            raise InputError(
                "has bounds that exclude every answer",
                column=self.name,
                found=f"minimum {self.minimum}, maximum {self.maximum}",
                expected="finite numbers, the minimum not above the maximum",
            )

    @property
    def is_guess(self) -> bool:
        """Whether kind and role are guesses that are neither confirmed nor corrected."""
        return self.note.startswith(GUESS)

    @property
    def is_categorical(self) -> bool:
        """Whether answers are levels rather than numbers."""
        return self.kind is not ColumnKind.CONTINUOUS

    @property
    def n_levels(self) -> int:
        """Number of levels; 0 for a continuous question."""
        return len(self.levels)

    def describe_level(self, level: Code) -> str:
        """Return a level as text: the code and, if known, its label in quotes."""
        label = self.level_labels.get(level, "")
        code = f"{level:g}" if isinstance(level, float) else str(level)
        return f"{code} '{label}'" if label and label != code else code
