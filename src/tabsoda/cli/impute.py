"""``tabsoda impute``: fill the missing answers of a survey file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, progress
from tabsoda.cli.impute_options import ImputerOptions
from tabsoda.cli.impute_shards import ShardOptions, impute_in_shards, show_shards
from tabsoda.cli.impute_text import announce_plan, show_plan, show_result
from tabsoda.cli.whole_numbers import WHOLE
from tabsoda.errors import InputError


def impute(
    data: Path,
    /,
    *,
    survey: Path | None = None,
    codebook: Path | None = None,
    unlisted: Literal["error", "missing"] = "error",
    rules: Path | None = None,
    skip_mask: Path | None = None,
    mine: Annotated[bool, Parameter(negative="")] = False,
    accept_all: Annotated[bool, Parameter(negative="")] = False,
    gate_policy: Literal["follow", "keep"] | None = None,
    output_folder: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    draws: Annotated[int, WHOLE, Parameter(name=["--draws", "-m"], validator=Number(gte=0))] = 5,
    seed: Annotated[int | None, WHOLE] = None,
    quality: Literal["fast", "balanced", "best"] | None = None,
    preset: Literal["small", "path", "nsduh"] | None = None,
    changes: Annotated[tuple[str, ...], Parameter(name="--set", negative="")] = (),
    bits: Annotated[bool, Parameter(negative="")] = False,
    model: Path | None = None,
    device: str = "auto",
    shard_rows: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=1))] = None,
    fit_rows: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=2))] = None,
    engine: Literal["local", "joblib", "ray"] | None = None,
    jobs: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=1))] = None,
    report: Annotated[bool, Parameter(name="--report", negative="--no-report")] = True,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Impute the missing answers of a survey; skipped questions stay empty.

    Writes to the output folder: point.parquet (ordinals by mode, numbers by mean),
    point_median.parquet (ordinals and numbers by median), imputations/ (one completed table for
    each draw), states.parquet, model/, settings.json and manifest.json; then report.html and
    report.json. Interrupted, the same command continues after the last finished round or draw.

    Parameters
    ----------
    data
        The survey: CSV, Parquet, SPSS, Stata or SAS.
    survey
        Its description: survey.toml or schema.json. Guessed where absent.
    codebook
        A DDI codebook (XML) that fills in labels.
    unlisted
        Values the description does not list: an error, or missing answers.
    rules
        Routing rules (rules.toml) that say which blanks are skips; reviewed ones, see tabsoda
        review.
    skip_mask
        A mask (Parquet or CSV) that says which cells are skips. With --rules, a cell is a skip
        if either says so.
    mine
        Mine the routing rules first (TabSODA+SKIP). Nobody has reviewed them, so --accept-all
        must be given, too.
    accept_all
        Use rules that nobody has reviewed; the manifest says which. Without it: exit code 3.
    gate_policy
        Questions that hang on a missing answer, where rules are known. follow: each draw imputes
        that answer first, and then skips or imputes what hangs on it. keep: imputes whatever is
        missing, as in the paper. [default: follow]
    output_folder
        Folder to write to.
    draws
        Completed tables to draw.
    seed
        The same seed gives the same imputations. [default: 0]
    quality
        How much time to spend: fast, balanced or best. [default: balanced]
    preset
        Other settings instead, for comparison: path and nsduh repeat the paper's, small is the
        paper's network for a laptop.
    changes
        A setting that differs from that, such as training.max_steps=500; may be repeated.
    bits
        With --preset: encode ordinals as bits, like nominals (TabSODA-N).
    model
        A fitted model (OUT/model of an earlier run): impute with it, without fitting.
    device
        auto, cpu or cuda.
    shard_rows
        Keep so many rows in memory at a time, and write every table in shards; Parquet only.
        This, --fit-rows, --engine or --jobs asks for shards. [default: 50000]
    fit_rows
        In shards: fit on so many rows at most, chosen by what they hold. [default: 100000]
    engine
        In shards: this process, joblib's processes, or a Ray cluster. [default: local]
    jobs
        In shards: how many at a time.
    report
        Write report.html and report.json, too.
    dry_run
        Only tell what would be imputed, and what it would take.
    as_json
        Write the result as JSON.
    force
        Overwrite what an earlier run left in the folder.
    """
    options = ImputerOptions(
        survey=survey,
        rules=rules,
        model=model,
        mine=mine,
        accept_all=accept_all,
        bits=bits,
        gate_policy=gate_policy,
        seed=seed,
        quality=quality,
        preset=preset,
        changes=changes,
        device=device,
    )
    options.check(has_mask=skip_mask is not None)
    reading: dict[str, Any] = {
        # A description to fit with belongs to the imputer.
        "description": None if model is None else survey,
        "codebook": codebook,
        "skip_mask": skip_mask,
        "unlisted": unlisted,
    }
    shards = ShardOptions(shard_rows, fit_rows, engine, jobs)
    if shards.wanted and not dry_run:
        folder = _required(output_folder)
        manifest = impute_in_shards(data, options, folder, draws, shards, reading, force=force)
        emit_json(manifest) if as_json else show_shards(manifest, folder)
        return

    from tabsoda.imputer.file_imputation import impute_file, plan_file
    from tabsoda.results.result_folder import load_manifest

    if dry_run:
        plan = plan_file(data, options.imputer(), m=draws, progress=progress, **reading)
        emit_json(plan.to_dict()) if as_json else show_plan(plan.to_dict())
        return
    folder = _required(output_folder)
    with _saying_what_is_kept(folder):
        result = impute_file(
            data,
            options.imputer(),
            folder,
            m=draws,
            report=report,
            force=force,
            announce=None if as_json else announce_plan,
            progress=progress,
            **reading,
        )
    manifest = load_manifest(folder)
    if as_json:
        emit_json(manifest)
    else:
        show_result(result, manifest, folder)


@contextmanager
def _saying_what_is_kept(folder: Path) -> Iterator[None]:
    """Say after an interruption that finished work is kept, where there is any."""
    from tabsoda.results.run_folder import CHECKPOINT

    try:
        yield
    except KeyboardInterrupt:
        if (folder / CHECKPOINT).is_dir():
            sys.stderr.write(
                "Finished rounds and draws are kept: run the same command again to continue.\n"
            )
        raise


def _required(folder: Path | None) -> Path:
    if folder is None:
        raise InputError(
            "There is no output folder", next_step="Add -o FOLDER, or --dry-run to write nothing"
        )
    return folder
