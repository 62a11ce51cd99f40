"""Checks that a file of another program was written completely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyreadstat
from pyreadstat import PyreadstatError, ReadstatError

_READERS: dict[str, Any] = {
    ".dta": pyreadstat.read_dta,
    ".sav": pyreadstat.read_sav,
    ".xpt": pyreadstat.read_xport,
}


def check_written(path: Path, n_rows: int) -> None:
    """Raise OSError unless the last row can be read: a full disk may truncate a file silently.

    Parameters
    ----------
    path : Path
        A .dta, .sav or .xpt file.
    n_rows : int
        Expected number of rows.
    """
    reader = _READERS[path.suffix]
    try:
        content, _ = reader(path, row_offset=n_rows - 1, row_limit=1, output_format="dict")
        found = max((len(cells) for cells in content.values()), default=0)
    except (ReadstatError, PyreadstatError) as error:
        raise OSError(f"{path.name} was not written completely: {error}") from error
    if found != 1:
        raise OSError(f"{path.name} was not written completely")
