"""A Parquet file, read in parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda.errors import InputError


@dataclass(frozen=True)
class Shard:
    """Rows ``start`` (from 0) to ``stop`` (exclusive) of a file."""

    number: int
    start: int
    stop: int


@dataclass(frozen=True)
class ParquetRows:
    """The rows of a file; only requested rows are in memory.

    Attributes
    ----------
    path : Path
    n_rows : int
    """

    path: Path
    n_rows: int

    @classmethod
    def open(cls, path: str | Path) -> ParquetRows:
        """Open a file without reading its rows."""
        path = Path(path)
        if path.suffix.lower() not in (".parquet", ".pq"):
            raise InputError(
                f"The file '{path.name}' cannot be read in shards",
                found=path.suffix or "no ending",
                expected=".parquet",
                next_step="Convert it to Parquet, or impute it without shards",
            )
        if not path.is_file():
            raise InputError(f"The file '{path}' does not exist", next_step="Check its name")
        n_rows = _collected(pl.scan_parquet(path, glob=False).select(pl.len()), path).item()
        if not n_rows:
            raise InputError(f"The file '{path.name}' has no rows", expected="at least one row")
        return cls(path, n_rows)

    def shards(self, shard_rows: int) -> list[Shard]:
        """Split the file into shards of this many rows; the last may be shorter.

        Examples
        --------
        >>> [shard.stop for shard in ParquetRows(Path("survey.parquet"), 25).shards(10)]
        [10, 20, 25]
        """
        if not isinstance(shard_rows, int | np.integer) or shard_rows < 1:
            raise InputError(
                "The number of rows in a shard is invalid",
                found=repr(shard_rows),
                expected="a whole number, 1 or more",
            )
        starts = range(0, self.n_rows, shard_rows)
        return [
            Shard(number, start, min(start + shard_rows, self.n_rows))
            for number, start in enumerate(starts)
        ]

    def read(self, shard: Shard) -> pl.DataFrame:
        """Read one shard; other row groups are not read."""
        length = shard.stop - shard.start
        rows = pl.scan_parquet(self.path, glob=False).slice(shard.start, length)
        return _collected(rows, self.path)

    def take(self, positions: NDArray[np.int64], shard_rows: int) -> pl.DataFrame:
        """Read the rows at increasing positions."""
        parts = []
        for shard in self.shards(shard_rows):
            first, last = np.searchsorted(positions, [shard.start, shard.stop])
            if last > first:
                parts.append(self.read(shard)[positions[first:last] - shard.start])
        return pl.concat(parts)


def _collected(query: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Run a query on a file; a damaged one may make polars panic, which is not an Exception."""
    try:
        return query.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(
            f"The file '{path.name}' cannot be read as Parquet",
            found=next(iter(str(error).splitlines()), ""),
            expected="a complete Parquet file",
            next_step="It may be truncated or have the wrong ending; download or copy it again",
        ) from error
