"""Writes a report as HTML and JSON files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import write_text
from tabsoda.errors import InputError
from tabsoda.report.summary import Progress, summarise_result

if TYPE_CHECKING:
    from tabsoda.analysis import Sensitivity
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.results.imputations import Imputations

PAGE, SUMMARY = "report.html", "report.json"


def write_report(
    result: Imputations,
    path: str | Path,
    *,
    manifest: dict[str, Any] | None = None,
    imputer: TabSODAImputer | None = None,
    strata: Iterable[str] = (),
    suppress_below: int = 0,
    sensitivity: Iterable[Sensitivity] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the page to ``path``, and the same summary as JSON next to it.

    Parameters
    ----------
    result : Imputations
    path : path
        Ends in ``.html``; the JSON gets the same name with ``.json``.
    manifest, imputer, strata, suppress_below, sensitivity, progress
        As in :func:`tabsoda.report.summary.summarise_result`.

    Returns
    -------
    dict
        The summary.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tabsoda.results import Imputations, ImputedCells
    >>> from tabsoda.schema import Column, ColumnKind
    >>> from tabsoda.table import CodedTable
    >>> column = Column("likes", ColumnKind.NOMINAL, ("yes", "no"))
    >>> table = CodedTable.from_values((column,), np.array([[0.0], [1.0], [np.nan]]))
    >>> value = np.zeros(1)
    >>> cells = ImputedCells(np.array([2]), np.array([0]), np.zeros((5, 1)), value, value)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = write_report(Imputations(table, cells), f"{folder}/report.html")
    >>> summary["counts"]["imputed"], summary["flags"]
    (1, [])
    """
    path = check_page(Path(path))
    summary = summarise_result(
        result,
        manifest=manifest,
        imputer=imputer,
        strata=strata,
        suppress_below=suppress_below,
        sensitivity=sensitivity,
        progress=progress,
    )
    write_summary(summary, path)
    return summary


def check_page(path: Path) -> Path:
    """Return the path of a page; raise if it is not a valid one."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("The report needs a file name that ends in .html", found=str(path))
    if not path.parent.is_dir():
        raise InputError(
            f"The folder '{path.parent}' does not exist",
            next_step="Create it, or choose another output",
        )
    return path


def write_summary(summary: dict[str, Any], path: Path) -> None:
    """Write a summary as a page and as JSON, each atomically."""
    from tabsoda.report.page import render_page

    page = render_page(summary)
    try:
        write_text(path.with_suffix(".json"), json.dumps(summary, ensure_ascii=False) + "\n")
        write_text(path, page)
    except OSError as error:
        raise InputError(
            f"The report '{path}' cannot be written",
            found=error.strerror or str(error),
            next_step="Free some disk space, or choose another output",
        ) from error
