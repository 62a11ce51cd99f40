"""The commands, and the Python, that do what a step of the page does.

They are run in the folder of the project.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any


def shell_line(*words: object) -> str:
    """Return one command; words that the shell would change are quoted.

    Parameters
    ----------
    *words : object
        None is left out; other values are written as texts.

    Examples
    --------
    >>> shell_line("tabsoda", "inspect", "my survey.sav", None, "-o", "survey.toml")
    "tabsoda inspect 'my survey.sav' -o survey.toml"
    """
    return shlex.join(str(word) for word in words if word is not None)


def option(name: str, values: Iterable[object]) -> list[str]:
    """Return an option once for each value.

    Examples
    --------
    >>> option("--set", ["Q1.kind=ordinal", "Q2.role=id"])
    ['--set', 'Q1.kind=ordinal', '--set', 'Q2.role=id']
    """
    return [text for value in values for text in (name, str(value))]


def call(name: str, *arguments: object, **options: object) -> str:
    """Return a Python call, one argument per line if it is long.

    Examples
    --------
    >>> call("read_survey", "survey.csv", unlisted="missing")
    "read_survey('survey.csv', unlisted='missing')"
    """
    parts = [repr(one) for one in arguments]
    parts += [f"{key}={value!r}" for key, value in options.items()]
    line = f"{name}({', '.join(parts)})"
    if len(line) <= 80:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def commands(shell: Iterable[str], python: Iterable[str] = ()) -> dict[str, Any]:
    """Return what the page shows beside a step, ready for JSON.

    Parameters
    ----------
    shell, python : iterable of str
        Commands, and lines or whole statements of Python, in their order.
    """
    return {"shell": list(shell), "python": list(python)}
