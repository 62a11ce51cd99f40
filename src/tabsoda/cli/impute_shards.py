"""``tabsoda impute --shard-rows``: a Parquet file some rows at a time, here or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.cli.console import output, progress, show
from tabsoda.cli.progress_lines import duration_text
from tabsoda.cli.rule_text import columns, paragraph
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.cli.impute_options import ImputerOptions

DEFAULT_ROWS = 50_000
DEFAULT_FIT_ROWS = 100_000


@dataclass(frozen=True)
class ShardOptions:
    """How a file is split and where the shards run; None where an option was not given."""

    shard_rows: int | None = None
    fit_rows: int | None = None
    engine: str | None = None
    jobs: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether any of the options was given."""
        given = (self.shard_rows, self.fit_rows, self.engine, self.jobs)
        return any(value is not None for value in given)


def impute_in_shards(
    data: Path,
    options: ImputerOptions,
    folder: Path,
    draws: int,
    shards: ShardOptions,
    reading: dict[str, Any],
    *,
    force: bool,
) -> dict[str, Any]:
    """Impute a file in shards; return the manifest.

    Parameters
    ----------
    data : Path
    options : ImputerOptions
    folder : Path
    draws : int
    shards : ShardOptions
    reading : dict
        Arguments of :func:`tabsoda.read_survey`.
    force : bool
    """
    from tabsoda.scale import impute_shards

    _check_inputs(options, reading)
    with progress("Imputing") as update:
        return impute_shards(
            data,
            options.imputer(),
            folder,
            m=draws,
            shard_rows=shards.shard_rows or DEFAULT_ROWS,
            fit_rows=shards.fit_rows or DEFAULT_FIT_ROWS,
            skip_mask=reading["skip_mask"],
            unlisted=reading["unlisted"],
            engine=shards.engine or "local",
            jobs=shards.jobs,
            force=force,
            progress=update,
        )


def _check_inputs(options: ImputerOptions, reading: dict[str, Any]) -> None:
    if reading["codebook"] is not None:
        raise InputError(
            "The option --codebook cannot be combined with shards",
            next_step="Write a survey.toml with tabsoda inspect --codebook first, and pass it with"
            " --survey",
        )
    fixed = [name for name in ("survey", "rules") if getattr(options, name) is not None]
    if options.model is not None and fixed:
        raise InputError(
            f"The option --{fixed[0]} cannot be combined with --model in shards",
            next_step="Leave it out: the model contains its own",
        )


def show_shards(manifest: dict[str, Any], folder: Path) -> None:
    """Print what was imputed, and the files written."""
    counts, n_shards = manifest["counts"], len(manifest["shards"])
    text = (
        f"Imputed: {counts['imputed']:,} missing answers of {counts['rows']:,} respondents, in"
        f" {n_shards:,} shard{'s' * (n_shards != 1)} and {duration_text(manifest['seconds'])}."
        f" Unchanged: {counts['answered']:,} answers and {counts['skipped']:,} skipped cells."
    )
    n_draws = manifest["options"]["draws"]
    draws = [["  imputations/", f"{n_draws} draw{'s' * (n_draws != 1)}, one folder per draw"]] * (
        n_draws > 0
    )
    contents = [
        ["  point/", "one table: ordinals by mode, numbers by mean"],
        ["  point_median/", "the same: ordinals and numbers by median"],
        *draws,
        ["  states/", "answered, missing or skipped, cell by cell"],
        ["  model/", "to impute new rows without fitting again: --model"],
        ["  record/", "for tabsoda report, pool and export, if it fits in memory"],
        ["  manifest.json", "seed, versions, hashes, counts, decisions"],
    ]
    note = (
        "Every table is a folder of Parquet files; .id is the row in the file. To write a report,"
        f" run tabsoda report {folder}."
    )
    width = output().width
    lines = [paragraph(text, width), "", f"In {folder}:", *columns(contents, left=2), ""]
    show([*lines, paragraph(note, width)])
