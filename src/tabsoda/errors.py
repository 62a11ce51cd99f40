"""The exceptions of this package.

::

    TabSODAError
    ├── WritingError                 a result cannot be written; not a disk error; exit code 1
    └── InputError (ValueError)      the user's file, description or setting is wrong; exit code 2
        ├── OutputExistsError        the output already exists and --force was not given
        ├── DeviceError              the device does not exist, or has too little memory
        └── RulesNotApprovedError    nobody has reviewed the rules; exit code 3

and a warning, InteractionWarning: an analysis has a term that the draws were made without.
"""

from __future__ import annotations


class TabSODAError(Exception):
    """Base of every error this package raises on purpose."""

    exit_code = 1


class WritingError(TabSODAError):
    """A result cannot be written because of an error in this package, not in the disk."""


class InputError(TabSODAError, ValueError):
    """Invalid input, with a message that says what to do next.

    Parameters
    ----------
    problem : str
        What is wrong, as a sentence without the final period.
    column : str, optional
        The column with the problem.
    found, expected : str, optional
        The value in the input, and the expected value.
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


class InteractionWarning(UserWarning):
    """A model has a product or a curve of imputed questions that the draws were made without."""


class OutputExistsError(InputError):
    """The output already exists and overwriting was not requested."""


class DeviceError(InputError):
    """The requested device does not exist or has too little memory."""


class RulesNotApprovedError(InputError):
    """Rules that nobody has approved or rejected would be used."""

    exit_code = 3
