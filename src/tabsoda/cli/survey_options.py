"""Options that several commands share, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

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
