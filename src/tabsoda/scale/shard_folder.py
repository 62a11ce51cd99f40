"""The folder of a result in shards, and which shards are finished."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import file_hash, make_private, write_json, write_parquet
from tabsoda.scale.parquet_rows import Shard

if TYPE_CHECKING:
    import polars as pl

# Column with the row of the file, from 1, as in the long table of all draws.
ROW_ID = ".id"


@dataclass(frozen=True)
class ShardFolder:
    """A result folder: ``point/part-00000.parquet``, ``imputations/001/part-00000.parquet``, ...

    Attributes
    ----------
    root : Path
    checkpoint : Path
        Contains the records of finished shards during the run.
    """

    root: Path
    checkpoint: Path

    @property
    def model(self) -> Path:
        """Folder of the fitted model."""
        return self.root / "model"

    def draws_of(self, shard: Shard) -> Path:
        """Folder for the finished draws of a shard until its tables are written."""
        return self.checkpoint / "draws" / f"{shard.number:05d}"

    def write(self, shard: Shard, tables: dict[str, pl.DataFrame], record: dict[str, Any]) -> None:
        """Write a shard's tables, each atomically, and then mark the shard as finished."""
        hashes = {}
        for name, table in tables.items():
            path = self.root / name / f"part-{shard.number:05d}.parquet"
            make_private(path.parent)
            write_parquet(path, table)
            hashes[path.relative_to(self.root).as_posix()] = file_hash(path)
        make_private(self._record(shard).parent)
        write_json(self._record(shard), {**record, "outputs_sha256": hashes})
        shutil.rmtree(self.draws_of(shard), ignore_errors=True)

    def finished(self, shard: Shard) -> dict[str, Any] | None:
        """Return the record of a shard whose tables are whole, else None."""
        try:
            content = json.loads(self._record(shard).read_text(encoding="utf-8"))
            hashes = content["outputs_sha256"].items()
            whole = all(file_hash(self.root / name) == expected for name, expected in hashes)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        return content if whole else None

    def _record(self, shard: Shard) -> Path:
        return self.checkpoint / "shards" / f"{shard.number:05d}.json"
