"""Write the embedded survey to files, as users receive a survey."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tabsoda._internal.files import atomic_path, make_private
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.datasets.synthetic_survey import SyntheticSurvey
    from tabsoda.schema.column import Column


def write_survey(
    survey: SyntheticSurvey, folder: Path, formats: tuple[str, ...] = ("csv",)
) -> tuple[Path, ...]:
    """Write the data in each format, its description, and the true skip mask.

    Returns
    -------
    tuple of Path
        ``survey.<format>`` for each format, then ``survey.toml`` and ``skip.parquet``.
    """
    from tabsoda.schema.files import save_schema

    for name in formats:
        if name not in _WRITERS:
            raise InputError(
                "The embedded survey cannot be written in that format",
                found=repr(name),
                expected=f"one of {', '.join(_WRITERS)}",
            )
    make_private(folder)
    paths = [folder / f"survey.{name}" for name in formats]
    for name, path in zip(formats, paths, strict=True):
        with atomic_path(path) as temporary:
            _WRITERS[name](survey, temporary)
    description, mask = folder / "survey.toml", folder / "skip.parquet"
    save_schema(survey.schema(), description)
    with atomic_path(mask) as temporary:
        survey.skip_frame().write_parquet(temporary)
    return (*paths, description, mask)


def _write_csv(survey: SyntheticSurvey, path: Path) -> None:
    survey.to_frame().write_csv(path)


def _write_parquet(survey: SyntheticSurvey, path: Path) -> None:
    survey.to_frame().write_parquet(path)


def _write_spss(survey: SyntheticSurvey, path: Path) -> None:
    """Write a system file with labels, measure levels and user-missing codes."""
    import pyreadstat

    schema = survey.schema()
    measures = {"continuous": "scale", "nominal": "nominal", "ordinal": "ordinal"}
    pyreadstat.write_sav(
        survey.to_frame(),
        str(path),
        column_labels={column.name: column.label for column in schema},
        variable_value_labels={c.name: _number_labels(c) for c in schema if c.level_labels},
        missing_ranges={c.name: list(c.special_codes) for c in schema if c.special_codes},
        variable_measure={column.name: measures[column.kind.value] for column in schema},
    )


def _number_labels(column: Column) -> dict[int | float, str]:
    """Return the labels of a column's codes, all of which are numbers in this survey."""
    return {code: text for code, text in column.level_labels.items() if not isinstance(code, str)}


_WRITERS: dict[str, Callable[[SyntheticSurvey, Path], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "sav": _write_spss,
}
