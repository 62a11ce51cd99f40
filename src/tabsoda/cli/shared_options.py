"""Options that several commands share, with their help texts, and the type of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, Token

DataFile = Annotated[Path, Parameter(help="The survey: CSV, Excel, Parquet, SPSS, Stata or SAS.")]
DescriptionFile = Annotated[
    Path | None,
    Parameter(help="The survey's description: survey.toml or schema.json. Guessed if not given."),
]
CodebookFile = Annotated[Path | None, Parameter(help="A DDI codebook (XML) that fills in labels.")]
Unlisted = Annotated[
    Literal["error", "missing"],
    Parameter(
        help="How to treat values that the description does not list: as an error, or as missing"
        " answers."
    ),
]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Write the result as JSON.")]


def _whole(type_: object, tokens: Sequence[Token]) -> int:
    """Parse a whole number of the command line; raise ValueError if it is not one.

    Examples
    --------
    >>> _whole(int, [Token(value="12")])
    12
    """
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"found '{word}', expected a whole number") from None


# Annotation for options that take a whole number: "1.5" is rejected, not rounded.
WHOLE = Parameter(converter=_whole)
