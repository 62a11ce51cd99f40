"""``impute_shards``: fit on a sample of a file, then impute all of it in shards."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tabsoda._internal.files import file_hash, write_json
from tabsoda._internal.folder_lock import hold_folder
from tabsoda._internal.parallel import checked_workers, run_tasks
from tabsoda._internal.randomness import count_occurrences
from tabsoda._internal.write_errors import keeping_in, writing_to
from tabsoda.errors import InputError, TabSODAError
from tabsoda.imputer.checkpoint import save_whole
from tabsoda.imputer.run_identity import imputer_identity
from tabsoda.progress import Progress
from tabsoda.results.rehearsal import rehearse
from tabsoda.results.result_folder import RECORD
from tabsoda.results.run_folder import RESULTS, check_folder, claim_folder
from tabsoda.scale.manifest import build_manifest, write_shared_record
from tabsoda.scale.parquet_rows import ParquetRows, Shard
from tabsoda.scale.row_sample import sample_positions
from tabsoda.scale.shard_folder import ShardFolder
from tabsoda.scale.shard_task import (
    ShardJob,
    check_row_id,
    content_hashes,
    impute_shard,
)
from tabsoda.survey import InputFile

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer


def impute_shards(
    data: str | Path,
    imputer: TabSODAImputer | dict[str, dict[str, Any]] | None,
    folder: str | Path,
    *,
    m: int = 5,
    shard_rows: int = 50_000,
    fit_rows: int = 100_000,
    skip_mask: str | Path | None = None,
    unlisted: str = "error",
    engine: str = "local",
    jobs: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Impute a Parquet file that need not fit in memory.

    The imputations do not depend on ``engine`` and ``shard_rows``, up to the last bits of numbers.
    After an interruption, the same call continues after the last finished shard.

    Parameters
    ----------
    data : path
        A Parquet file.
    imputer : TabSODAImputer, dict of dict or None
        A fitted imputer is used directly. An unfitted one, or one made from ``settings`` given
        as a dict, is fitted on at most ``fit_rows`` rows of the file. Without a description, the
        meaning of the columns is also guessed from those rows, and values that do not occur in
        them count as ``unlisted``.
    folder : path
        Contains ``point``, ``point_median``, ``imputations/001``, ... and ``states``, each a
        folder of Parquet files whose first column ``.id`` is the row in the file, from 1;
        ``model``, ``record`` (for :func:`tabsoda.results.result_folder.load_result`) and
        ``manifest.json``. A folder with a manifest is complete.
    m : int
        Number of draws.
    shard_rows : int
        Rows in memory at a time, in each process.
    fit_rows : int
        Sampled by a hash of their content: independent of the order of the file and the shards.
    skip_mask : path, optional
        A Parquet file of booleans, row by row as the data.
    unlisted : {"error", "missing"}
        As in :func:`tabsoda.read_survey`.
    engine : {"local", "joblib", "ray"}
        Where shards run: this process; processes of this machine; a Ray cluster, whose machines
        must all have access to the paths.
    jobs : int, optional
        Number of shards at a time.
    force : bool
        Overwrite the files of an earlier run.
    progress : callable, optional
        Called as ``progress(done, total, what)``.

    Returns
    -------
    dict
        The manifest.

    Examples
    --------
    >>> import tempfile
    >>> from tabsoda.datasets import make_survey
    >>> with tempfile.TemporaryDirectory() as place:
    ...     make_survey(n_rows=300, n_columns=12).to_frame().write_parquet(f"{place}/in.parquet")
    ...     settings = {"training": {"max_steps": 20}, "trees": {"effort": "none"}}
    ...     manifest = impute_shards(f"{place}/in.parquet", settings, f"{place}/out", m=1,
    ...                              shard_rows=100)
    ...     pl.read_parquet(f"{place}/out/point/*.parquet").height, len(manifest["shards"])
    (300, 3)
    """
    engine = checked_workers(engine)
    run = _Run.of(data, imputer, folder, m, shard_rows, fit_rows, skip_mask, unlisted)
    started = time.perf_counter()
    run.check(force=force)
    with hold_folder(run.folder.root):
        run.claim(force=force)
        with keeping_in(run.folder.root):
            run.fit(progress)
        job = run.job(m, unlisted)
        records = _impute_all(job, run.source.shards(shard_rows), engine, jobs, progress)
        return _finish(run, records, started)


def _finish(run: _Run, records: list[dict[str, Any]], started: float) -> dict[str, Any]:
    """Write what all shards share, the manifest last, and remove the checkpoint."""
    root = run.folder.root
    files = {name: InputFile.of(path) for name, path in run.inputs.items()}
    seconds = time.perf_counter() - started
    manifest = build_manifest(run.identity, files, run.imputer, records, seconds)
    with writing_to(root):
        write_shared_record(root / RECORD, manifest, run.imputer, records[0]["questions"])
        for part in (RECORD, "model"):
            for path in sorted((root / part).rglob("*")):
                if path.is_file():
                    name = path.relative_to(root).as_posix()
                    manifest["outputs_sha256"].setdefault(name, file_hash(path))
        write_json(root / "manifest.json", manifest)
    shutil.rmtree(run.folder.checkpoint, ignore_errors=True)
    return manifest


@dataclass(eq=False)
class _Run:
    """One run, from its files to the fitted model."""

    source: ParquetRows
    imputer: TabSODAImputer
    folder: ShardFolder
    inputs: dict[str, Path]
    identity: dict[str, Any]
    fit_rows: int
    shard_rows: int

    @classmethod
    def of(
        cls,
        data: str | Path,
        given: TabSODAImputer | dict[str, dict[str, Any]] | None,
        folder: str | Path,
        m: int,
        shard_rows: int,
        fit_rows: int,
        skip_mask: str | Path | None,
        unlisted: str,
    ) -> _Run:
        from tabsoda.imputer import TabSODAImputer

        imputer = given
        if not isinstance(imputer, TabSODAImputer):
            imputer = TabSODAImputer(settings=imputer)
        for name, value, least in (("m", m, 0), ("fit_rows", fit_rows, 2)):
            if not isinstance(value, int | np.integer) or value < least:
                raise InputError(
                    f"The parameter {name} is invalid",
                    found=repr(value),
                    expected=f"a whole number, {least} or more",
                )
        source = ParquetRows.open(data)
        source.shards(shard_rows)
        check_row_id(pl.scan_parquet(source.path, glob=False).collect_schema().names())
        inputs = {"data": source.path}
        if skip_mask is not None:
            inputs["skip_mask"] = Path(skip_mask)
            _check_same_rows(source, ParquetRows.open(skip_mask))
        root = Path(folder)
        identity = {name: file_hash(path) for name, path in inputs.items()} | {
            "draws": m,
            "shard_rows": shard_rows,
            "fit_rows": fit_rows,
            "unlisted": unlisted,
            **imputer_identity(imputer, root),
        }
        shards = ShardFolder(root, root / ".checkpoint")
        return cls(source, imputer, shards, inputs, identity, fit_rows, shard_rows)

    def check(self, *, force: bool) -> None:
        """Raise if the result could not or should not be written to the folder."""
        check_folder(self.folder.root, list(self.inputs.values()), self.identity, force=force)

    def claim(self, *, force: bool) -> None:
        """Claim the folder for this run; unfinished work of the same run is kept."""
        root = self.folder.root
        self.check(force=force)
        if force:
            for name in RESULTS:
                if (root / name).is_dir():
                    shutil.rmtree(root / name)
                (root / name).unlink(missing_ok=True)
            shutil.rmtree(self.folder.checkpoint, ignore_errors=True)
        claim_folder(root, self.identity)

    def fit(self, progress: Progress | None) -> None:
        """Fit the imputer unless it is fitted, and save the model for the tasks of the shards."""
        from tabsoda.imputer import TabSODAImputer

        if self.folder.model.is_dir():
            self.imputer = TabSODAImputer.load(self.folder.model, self.imputer.device)
            return
        if not hasattr(self.imputer, "engine_"):
            self._fit_on_sample(progress)
        save_whole(self.imputer, self.folder.model, self.folder.checkpoint)

    def _fit_on_sample(self, progress: Progress | None) -> None:
        from tabsoda.reading import read_survey

        imputer, seed = self.imputer, self.imputer.random_state
        positions = sample_positions(self.source, self.fit_rows, self.shard_rows, int(seed))
        frame = self.source.take(positions, self.shard_rows)
        mask = None
        if "skip_mask" in self.inputs:
            mask = ParquetRows.open(self.inputs["skip_mask"]).take(positions, self.shard_rows)
        unlisted = self.identity["unlisted"]
        survey = read_survey(frame, imputer.description, skip_mask=mask, unlisted=unlisted)
        if positions.size < self.source.n_rows:
            n_rows = self.source.n_rows
            survey.events.add("fitted_on_sample", rows=positions.size, of_rows=n_rows)
        survey = imputer.prepare(survey, progress=progress)
        rehearse(
            survey,
            self.folder.root,
            self.identity["draws"],
            settings=imputer.settings_for(*survey.table.shape).to_dict(),
            rules=survey.rules,
            n_rows=self.source.n_rows,
        )
        imputer.fit(survey, checkpoint=self.folder.checkpoint, progress=progress)
        # Saved with the model, so that a continued run still has them.
        imputer.engine_.events = imputer.events_

    def job(self, m: int, unlisted: str) -> ShardJob:
        """Return the input of the tasks; paths are absolute, because workers may run elsewhere."""
        root = self.folder.root.resolve()
        mask = self.inputs.get("skip_mask")
        return ShardJob(
            self.source.path.resolve(),
            None if mask is None else mask.resolve(),
            ShardFolder(root, root / self.folder.checkpoint.name),
            m,
            unlisted,
            self.imputer.device,
        )


def _impute_all(
    job: ShardJob, shards: list[Shard], engine: str, jobs: int | None, progress: Progress | None
) -> list[dict[str, Any]]:
    """Impute the shards that are not finished, and return the records of all."""
    finished = {shard.number: job.folder.finished(shard) for shard in shards}
    left = [shard for shard in shards if finished[shard.number] is None]
    if left:
        # Equal rows are distinguished by their order in the whole file.
        hashes = np.concatenate([content_hashes(job, shard) for shard in shards])
        occurrences = count_occurrences(hashes)
        tasks = [(job, shard, occurrences[shard.start : shard.stop]) for shard in left]
        for done, (_, outcome) in enumerate(run_tasks(impute_shard, tasks, engine, jobs), 1):
            if isinstance(outcome, TabSODAError):
                raise outcome
            if progress is not None:
                total = len(shards)
                place = total - len(left) + done
                progress(place, total, f"shard {place} of {total}")
    return [_required(job.folder.finished(shard), shard) for shard in shards]


def _required(record: dict[str, Any] | None, shard: Shard) -> dict[str, Any]:
    if record is None:
        raise InputError(
            f"The tables of shard {shard.number} are missing in the output folder",
            next_step="All machines must write to the same folder; run the same command again",
        )
    return record


def _check_same_rows(data: ParquetRows, mask: ParquetRows) -> None:
    if mask.n_rows != data.n_rows:
        raise InputError(
            f"The skip mask '{mask.path.name}' and the data have different numbers of rows",
            found=f"{mask.n_rows} rows",
            expected=f"{data.n_rows} rows, in the order of the data",
        )
