"""Edits and derived variables of a survey, as texts; :mod:`tabsoda.edits` evaluates them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tabsoda.errors import InputError


@dataclass(frozen=True)
class Edit:
    """A rule that the answers of a respondent must satisfy together.

    Attributes
    ----------
    rule : str
        Such as ``"AGEFIRST <= AGE"``; an answer counts as its code.
    name : str
        A short name for messages; the rule itself if empty.
    label : str
        What the edit means, for readers.
    approved : bool
        Only approved edits are applied; proposals are listed.
    place : str
        Where it was read, such as ``"'survey.toml', line 12"``, for messages.

    Examples
    --------
    >>> Edit("AGEFIRST <= AGE").title
    'AGEFIRST <= AGE'
    """

    rule: str
    name: str = ""
    label: str = ""
    approved: bool = True
    place: str = field(default="", compare=False)

    @property
    def title(self) -> str:
        """The name, or else the rule."""
        return self.name or self.rule


@dataclass(frozen=True)
class Derivation:
    """A variable that is computed from others in every completed table.

    Attributes
    ----------
    name : str
    formula : str
        Such as ``"KILOS / (HEIGHT / 100) ** 2"``.
    label : str
    tolerance : float or None
        How far an observed value may be from the formula; half a unit of the last decimal of
        the observed values if None.
    place : str
        As in :class:`Edit`.

    Examples
    --------
    >>> Derivation.of("BMI = KILOS / (HEIGHT / 100) ** 2").name
    'BMI'
    """

    name: str
    formula: str
    label: str = ""
    tolerance: float | None = None
    place: str = field(default="", compare=False)

    @classmethod
    def of(
        cls,
        formula: str,
        name: str = "",
        label: str = "",
        tolerance: float | None = None,
        place: str = "",
    ) -> Derivation:
        """Return a derivation; the formula may begin with its name and an equals sign."""
        before, sign, after = formula.partition("=")
        written = before.strip().strip("`")
        # "A == B" is a comparison, and so is "A <= B".
        has_name = bool(sign) and not after.startswith("=") and not before.endswith(("<", ">", "!"))
        if has_name and name and written != name:
            raise InputError(
                "A derived variable has two names",
                found=f"{name!r} and {written!r}{f' in {place}' if place else ''}",
                expected="the same name before the formula, or none",
            )
        if not has_name and not name:
            raise InputError(
                "A derived variable has no name",
                found=f"formula = {formula!r}{f' in {place}' if place else ''}",
                expected="a name, or a formula such as BMI = KILOS / (HEIGHT / 100) ** 2",
            )
        text = after.strip() if has_name else formula.strip()
        return cls(name or written, text, label, tolerance, place)
