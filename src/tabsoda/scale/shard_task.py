"""The task of one shard: read, impute, write, in this process or another one."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda._internal.randomness import row_hashes
from tabsoda._internal.threads import worker_threads
from tabsoda._internal.write_errors import keeping_in, writing_to
from tabsoda.errors import InputError, TabSODAError
from tabsoda.results.manifest import result_counts
from tabsoda.results.record import record_tables, words_of
from tabsoda.results.result_folder import RECORD
from tabsoda.results.saving import STATE_NAMES
from tabsoda.scale.parquet_rows import ParquetRows, Shard
from tabsoda.scale.shard_folder import ROW_ID, ShardFolder
from tabsoda.survey import Survey

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.results.imputations import Imputations


@dataclass(frozen=True)
class ShardJob:
    """The common input of all shards of a run; small enough to send with every task.

    Attributes
    ----------
    data : Path
    skip_mask : Path or None
    folder : ShardFolder
        Contains the fitted model.
    draws : int
    unlisted : str
    device : str
    """

    data: Path
    skip_mask: Path | None
    folder: ShardFolder
    draws: int
    unlisted: str
    device: str

    def survey(self, imputer: TabSODAImputer, shard: Shard) -> Survey:
        """Read a shard with the imputer's description, and apply its rules."""
        from tabsoda.reading import read_survey

        frame = ParquetRows.open(self.data).read(shard)
        mask = None if self.skip_mask is None else ParquetRows.open(self.skip_mask).read(shard)
        survey = read_survey(frame, imputer.schema_, skip_mask=mask, unlisted=self.unlisted)
        return imputer.prepare(survey)


def content_hashes(job: ShardJob, shard: Shard) -> NDArray[np.uint64]:
    """Hash the rows of a shard as they will be imputed, to count equal rows in the file."""
    from tabsoda.routing.policy import Gates

    imputer = _loaded(job.folder.model, job.device)
    gates = Gates(imputer.gate_policy, imputer.rules_, imputer.routes_)
    survey = imputer.as_modelled(job.survey(imputer, shard))
    table = gates.reopened(imputer.engine_, survey).table
    return row_hashes(table.values, table.states.states)


def impute_shard(
    job: ShardJob, shard: Shard, occurrences: NDArray[np.int64]
) -> dict[str, Any] | TabSODAError:
    """Impute a shard and write its tables; return its record, or the error in its rows.

    Parameters
    ----------
    job : ShardJob
    shard : Shard
    occurrences : ndarray of int64, shape (n_rows,)
        How many equal rows come before each row in the whole file.
    """
    try:
        # One thread: sums split over threads round differently on other machines, and other shards
        # use the other cores.
        with worker_threads(1):
            imputer = _loaded(job.folder.model, job.device)
            survey = job.survey(imputer, shard)
            with keeping_in(job.folder.root):
                result = imputer.impute_survey(
                    survey,
                    job.draws,
                    occurrences=occurrences,
                    checkpoint=job.folder.draws_of(shard),
                )
            known = set(imputer.events_)
            record = _record(result, shard)
            record["events"] = [one.to_dict() for one in result.events if one not in known]
            with writing_to(job.folder.root):
                job.folder.write(shard, _tables(result, imputer, shard), record)
    except TabSODAError as error:
        return error
    return record


def _loaded(model: Path, device: str) -> TabSODAImputer:
    """Load the model once per process; again if it was replaced."""
    return _loaded_once(model, device, (model / "model.safetensors").stat().st_mtime_ns)


@functools.lru_cache(maxsize=1)
def _loaded_once(model: Path, device: str, written: int) -> TabSODAImputer:
    from tabsoda.imputer import TabSODAImputer

    return TabSODAImputer.load(model, device)


def _tables(result: Imputations, imputer: TabSODAImputer, shard: Shard) -> dict[str, pl.DataFrame]:
    tables = {"point": result.point("mode"), "point_median": result.point("median")}
    for number in range(1, len(result) + 1):
        tables[f"imputations/{number:03d}"] = result.complete(number)
    broken = _broken_columns(result, imputer)
    tables = {name: table.cast(broken) for name, table in tables.items()}
    states = result.table.states
    tables["states"] = words_of(states.states, STATE_NAMES, states.names)
    ids = pl.Series(ROW_ID, np.arange(shard.start + 1, shard.stop + 1))
    tables = {name: table.insert_column(0, ids) for name, table in tables.items()}
    record = record_tables(result, shard.start)
    return tables | {f"{RECORD}/{name}": table for name, table in record.items()}


def _broken_columns(result: Imputations, imputer: TabSODAImputer) -> dict[str, Any]:
    """Return the integer columns that may get fractional numbers and become Float64.

    All shards of a table must have the same types.
    """
    if result.survey is None:
        return {}
    numbers = imputer.engine_.fractional_columns
    types = result.survey.frame.schema
    # Behind the questions, the model has predictors of the sampling design.
    names = [result.table.names[at] for at in numbers if at < result.table.shape[1]]
    return {name: pl.Float64 for name in names if types[name].is_integer()}


def _record(result: Imputations, shard: Shard) -> dict[str, Any]:
    counts = result_counts(result)
    del counts["questions"]
    return {
        "number": shard.number,
        "first_row": shard.start + 1,
        "last_row": shard.stop,
        "counts": counts,
        "imputed_by_variable": result.counts(),
        "questions": list(result.table.names),
        "routing": None if result.routing is None else result.routing.to_dict(),
        "edits": None if result.edits is None else result.edits.to_dict(),
    }


def check_row_id(names: list[str]) -> None:
    """Raise if a column of the file has the name of the row id."""
    if ROW_ID in names:
        raise InputError(
            "has a name that is reserved for the row number in sharded tables",
            column=ROW_ID,
            next_step="Rename the column",
        )
