"""Shifts of imputed answers: which answers, in which unit, and by how much."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.schema.column import Reason

Array = NDArray[np.float64]
Unit = Literal["sd", "units", "percent", "odds", "levels"]
UNITS: tuple[Unit, ...] = get_args(Unit)
REASONS = (Reason.REFUSED, Reason.DONT_KNOW, Reason.BLANK, Reason.OTHER)
# Shifts are tried at so many places between the ends of a range.
_PLACES = 9
_MOST_PLACES = 200
_FORM = "INCOME=-1..1, INCOME:refused=-1..1, SMOKES[1]=-1..1 or 'INCOME where SEX == 2=-1..1'"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(
    rf"\s*(?P<low>{_NUMBER})(?:\.\.(?P<high>{_NUMBER})(?::(?P<step>{_NUMBER}))?)?"
    r"(?:\s+(?P<unit>[a-z]+))?\s*"
)
_TARGET = re.compile(r"(?P<name>[^\[\]]+?)(?:\[(?P<level>[^\[\]]+)\])?")


@dataclass(frozen=True)
class Shift:
    """A shift of the imputed answers to one or more questions.

    Attributes
    ----------
    questions : tuple of str
        Shifted together.
    low, high : float
        The range of shifts to try; 0 is always tried, too.
    step : float or None
        The distance between shifts; by default an eighth of the range.
    level : str or None
        The level whose odds are shifted, as a code or a label; needed for nominals.
    reasons : tuple of Reason
        Only answers that are missing for one of these reasons; empty for all.
    where : str or None
        Only respondents who meet a condition, such as ``"SEX == 2"``.
    unit : {"sd", "units", "percent", "odds", "levels"} or None
        Standard deviations of the observed answers, units of the question, per cent of the answer,
        logarithms of odds, or levels; by default "sd" for numbers, "levels" for ordinals, "odds"
        for nominals.

    Examples
    --------
    >>> shift = Shift.parse("INCOME:refused where SEX == 2=-1..1 sd")
    >>> shift.questions, shift.where, shift.low, shift.high, shift.unit
    (('INCOME',), 'SEX == 2', -1.0, 1.0, 'sd')
    >>> print(shift)
    INCOME:refused where SEX == 2
    """

    questions: tuple[str, ...]
    low: float
    high: float
    step: float | None = None
    level: str | None = None
    reasons: tuple[Reason, ...] = ()
    where: str | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        if not np.isfinite(ends).all() or self.low > self.high:
            raise InputError(
                "The range of a shift is invalid",
                found=f"{self.low:g}..{self.high:g}",
                expected="two numbers, the smaller one first",
            )
        n_places = 0 if self.step is None or self.step <= 0 else (self.high - self.low) / self.step
        if self.step is not None and (self.step <= 0 or n_places > _MOST_PLACES):
            raise InputError(
                "The step of a shift is invalid",
                found=f"{self.step:g} for {self.low:g}..{self.high:g}",
                expected=f"more than 0, at most {_MOST_PLACES} steps",
            )

    @classmethod
    def parse(cls, text: str) -> Shift:
        """Read a shift such as ``INCOME=-1..1``, ``INCOME:refused+dont_know=-1..1:0.25``."""
        target, _, numbers = text.rpartition("=")
        found = _RANGE.fullmatch(numbers)
        names, _, where = target.partition(" where ")
        asked, _, reasons = names.strip().partition(":")
        matched = [_TARGET.fullmatch(one.strip()) for one in asked.split(",")]
        if found is None or not all(matched) or (where == "" and " where" in target):
            raise InputError("The shift cannot be read", found=repr(text), expected=_FORM)
        targets = [one for one in matched if one is not None]
        levels = {one["level"] for one in targets}
        unit = found["unit"]
        if unit is not None and unit not in UNITS:
            raise InputError("Unknown unit of a shift", found=repr(unit), expected=", ".join(UNITS))
        if len(levels) > 1:
            raise InputError(
                "Questions that are shifted together need the same level",
                found=repr(target),
                next_step="Give several shifts instead",
            )
        low = float(found["low"])
        return cls(
            tuple(one["name"] for one in targets),
            low,
            low if found["high"] is None else float(found["high"]),
            None if found["step"] is None else float(found["step"]),
            levels.pop(),
            _reasons(reasons),
            where.strip() or None,
            unit,
        )

    @property
    def deltas(self) -> Array:
        """The shifts to try in increasing order, 0 among them."""
        n = _PLACES - 1 if self.high > self.low else 0
        step = (self.high - self.low) / max(n, 1)
        if self.step is not None:
            step, n = self.step, int(np.floor((self.high - self.low) / self.step + 1e-9))
        places = self.low + step * np.arange(n + 1)
        # Rounding, so that the middle of -1..1 is 0 and not nearly 0.
        return np.unique([0.0, *(float(f"{place:.12g}") + 0.0 for place in places)])

    def only(self, delta: float) -> Shift:
        """Return the shift at a single place."""
        return replace(self, low=delta, high=delta, step=None)

    def __str__(self) -> str:
        level = "" if self.level is None else f"[{self.level}]"
        reasons = f":{'+'.join(self.reasons)}" if self.reasons else ""
        where = f" where {self.where}" if self.where else ""
        return ",".join(f"{name}{level}" for name in self.questions) + reasons + where


def _reasons(text: str) -> tuple[Reason, ...]:
    wanted = [part.strip() for part in text.split("+")] if text.strip() else []
    known = {reason.value: reason for reason in REASONS}
    unknown = [part for part in wanted if part not in known]
    if unknown:
        raise InputError(
            "Unknown reason for a missing answer",
            found=", ".join(map(repr, unknown)),
            expected=", ".join(known),
        )
    return tuple(known[part] for part in wanted)
