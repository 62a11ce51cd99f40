"""What can go wrong, as types.

::

    TabSODAError
    ├── WritingError                 a result cannot be written, though the disk can; exit code 1
    └── InputError (ValueError)      the user's file, description or setting is wrong; exit code 2
        ├── OutputExistsError        the output is there already and --force was not given
        ├── DeviceError              the device asked for is not there, or has too little memory
        └── RulesNotApprovedError    nobody has reviewed the rules; exit code 3
"""

from __future__ import annotations


class TabSODAError(Exception):
    """Base of every error this package raises on purpose."""

    exit_code = 1


class WritingError(TabSODAError):
    """A result cannot be written for a reason that lies in this package, not in the disk."""


class InputError(TabSODAError, ValueError):
    """Bad input, told so that the reader knows what to do next.

    Parameters
    ----------
    problem : str
        What is wrong, as a sentence without the final stop.
    column : str, optional
        The column it is about.
    found, expected : str, optional
        What the input holds, and what it should hold.
    next_step : str, optional
        What the user can do about it.

    Examples
    --------
    >>> print(InputError("has text", column="AGE", found="'forty'", expected="numbers",
    ...                  next_step="List it as a missing code"))
    Column 'AGE' has text. Found: 'forty'. Expected: numbers. List it as a missing code.
    """

    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        column: str | None = None,
        found: str | None = None,
        expected: str | None = None,
        next_step: str | None = None,
    ) -> None:
        self.problem = problem
        self.column = column
        self.found = found
        self.expected = expected
        self.next_step = next_step
        subject = f"Column '{column}' {problem}" if column is not None else problem
        parts = [subject.rstrip(".") + "."]
        if found is not None:
            parts.append(f"Found: {found.rstrip('.')}.")
        if expected is not None:
            parts.append(f"Expected: {expected.rstrip('.')}.")
        if next_step is not None:
            parts.append(next_step.rstrip(".") + ".")
        super().__init__(" ".join(parts))


class OutputExistsError(InputError):
    """The output exists and overwriting was not asked for."""


class DeviceError(InputError):
    """The compute device asked for is absent or too small."""


class RulesNotApprovedError(InputError):
    """Rules were to be used that nobody has approved or rejected."""

    exit_code = 3
