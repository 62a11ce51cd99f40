"""Settings given one by one on the command line: ``--set training.max_steps=50``."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import Field, fields
from typing import Any

from tabsoda.errors import InputError
from tabsoda.settings_base import SettingsBase


def parse_settings(texts: Iterable[str], settings: SettingsBase) -> dict[str, dict[str, Any]]:
    """Parse ``group.name=value`` into the arguments of ``replace`` of the settings.

    Each value gets the type of its setting; ``replace`` checks the bounds.

    Parameters
    ----------
    texts : iterable of str
    settings : EngineSettings or PaperSettings
        Settings of the engine that runs.

    Examples
    --------
    >>> from tabsoda.paper.settings import PaperSettings
    >>> given = ["em.rounds=3", "loss.width_parity=false", "temperature.grid=0.5,1"]
    >>> parse_settings(given, PaperSettings())
    {'em': {'rounds': 3}, 'loss': {'width_parity': False}, 'temperature': {'grid': (0.5, 1.0)}}
    """
    changes: dict[str, dict[str, Any]] = {}
    for text in texts:
        place, equals, value = text.partition("=")
        group, dot, name = place.strip().partition(".")
        if not equals or not dot:
            raise InputError(
                "A setting cannot be read",
                found=repr(text),
                expected="group.name=value, such as training.max_steps=500",
            )
        item, kind = _declared(settings, group, name)
        if name in changes.get(group, {}):
            raise InputError(f"The setting {group}.{name} is given twice")
        changes.setdefault(group, {})[name] = _value(f"{group}.{name}", value.strip(), item, kind)
    return changes


def _declared(settings: SettingsBase, group: str, name: str) -> tuple[Field[Any], type]:
    """Return a setting and its type; raise if there is no such setting."""
    settings.replace(**{group: {}})
    owner = getattr(settings, group)
    known = {item.name: item for item in fields(owner)}
    if name not in known:
        raise InputError(
            f"There is no setting called '{group}.{name}'",
            expected=f"one of {', '.join(sorted(known))}",
        )
    return known[name], _kind(known[name], type(owner))


def _value(place: str, text: str, item: Field[Any], kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if kind is tuple:
            return tuple(float(part) for part in text.split(","))
        if item.default is None and text.lower() == "none":
            return None
        return kind(text)
    except (KeyError, ValueError) as error:
        wanted = {
            bool: "true or false",
            tuple: "numbers separated by commas",
            int: "a whole number",
            float: "a number",
        }[kind]
        raise InputError(
            f"The value of the setting {place} cannot be read",
            found=repr(text),
            expected=f"{wanted} or none" if item.default is None else wanted,
            next_step=f"Meaning of this setting: {item.metadata['meaning']}",
        ) from error


def _kind(item: Field[Any], owner: type) -> type:
    """Return the type of a setting; for an optional one, its type when it is not None."""
    if item.default is not None:
        return type(item.default)
    hint = typing.get_type_hints(owner)[item.name]
    return next(kind for kind in typing.get_args(hint) if kind is not type(None))
