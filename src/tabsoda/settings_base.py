"""How settings are declared and checked: each has a meaning, a default and allowed values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from tabsoda.errors import InputError


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    even: bool = False,
    choices: tuple[Any, ...] | None = None,
) -> Any:
    """Declare a setting: its default, its meaning and its allowed values.

    The bounds ``low`` and ``high`` are inclusive, ``above`` and ``below`` exclusive.
    """
    metadata = {"meaning": meaning, "low": low, "high": high, "choices": choices}
    return field(
        default=default, metadata=metadata | {"above": above, "below": below, "even": even}
    )


def bounds_text(item: Any) -> str:
    """Describe the allowed numbers, such as ``"from 0 below 1"``; empty if there are no bounds.

    Examples
    --------
    >>> width = setting(8, "hidden width", low=4, even=True)
    >>> bounds_text(width)
    'from 4, even'
    """
    words = {"low": "from", "above": "above", "high": "to", "below": "below"}
    limits = [(word, item.metadata[key]) for key, word in words.items()]
    text = " ".join(f"{word} {limit:g}" for word, limit in limits if limit is not None)
    return f"{text}, even" if item.metadata["even"] else text


@dataclass(frozen=True)
class SettingGroup:
    """Checks every field against its declaration."""

    # Name of the group in the settings, if it differs from the name of the class.
    group: ClassVar[str] = ""

    def __post_init__(self) -> None:
        group = self.group or type(self).__name__.removesuffix("Settings").lower()
        for item in fields(self):
            if "meaning" in item.metadata:
                _check(group, item.name, getattr(self, item.name), item)


@dataclass(frozen=True)
class SettingsBase:
    """The settings of an engine or of the miner: a frozen dataclass of groups of settings."""

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Read settings saved by :meth:`to_dict`."""
        return cls().replace(**content)

    def replace(self, **groups: Mapping[str, Any]) -> Self:
        """Return settings with some values changed, such as ``replace(em={"rounds": 2})``."""
        known = {item.name: getattr(self, item.name) for item in fields(self)}
        for group, changes in groups.items():
            if group not in known:
                raise InputError(
                    f"There is no group of settings called '{group}'",
                    expected=f"one of {', '.join(known)}",
                )
            if not isinstance(changes, Mapping):
                raise InputError(
                    f"The settings of the group '{group}' are invalid",
                    found=repr(changes),
                    expected=f"names and values, such as {group}={{...}}",
                )
            names = {item.name for item in fields(known[group])}
            unknown = sorted(set(changes) - names)
            if unknown:
                raise InputError(
                    f"There is no setting called '{group}.{unknown[0]}'",
                    expected=f"one of {', '.join(sorted(names))}",
                )
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
            known[group] = replace(known[group], **values)
        return type(self)(**known)

    def to_dict(self) -> dict[str, Any]:
        """Return nested dictionaries, ready for JSON."""
        return asdict(self)


def _is_number(value: Any) -> bool:
    """Return whether this is a finite number; True and False are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _within(value: float, metadata: Any) -> bool:
    low, high, above, below = (metadata[key] for key in ("low", "high", "above", "below"))
    return (
        (low is None or value >= low)
        and (high is None or value <= high)
        and (above is None or value > above)
        and (below is None or value < below)
        and not (metadata["even"] and value % 2)
    )


def _check(group: str, name: str, value: Any, item: Any) -> None:
    low, choices = item.metadata["low"], item.metadata["choices"]
    kind = type(item.default) if item.default is not MISSING else None
    problem = None
    if choices is not None:
        problem = None if value in choices else f"one of {', '.join(map(repr, choices))}"
    elif kind is bool:
        problem = None if isinstance(value, bool) else "True or False"
    elif kind is tuple:
        numbers = isinstance(value, tuple) and all(_is_number(v) for v in value)
        problem = None if numbers and len(value) > 0 else "a tuple of numbers"
        if problem is None and low is not None and min(value) < low:
            problem = f"numbers of at least {low:g}"
    elif value is None:
        problem = None if item.default is None else "a number"
    else:
        counts = "int" in str(item.type)
        if not _is_number(value) or (counts and not isinstance(value, int)):
            problem = "a whole number" if counts else "a number"
        elif not _within(value, item.metadata):
            problem = f"a number {bounds_text(item)}"
    if problem is not None:
        raise InputError(
            f"The setting {group}.{name} has an invalid value",
            found=repr(value),
            expected=problem,
            next_step=f"Meaning of this setting: {item.metadata['meaning']}",
        )
