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
from tabsoda.cli.shared_options import (
    WHOLE,
    AsJson,
    CodebookFile,
    DataFile,
    DescriptionFile,
    Unlisted,
)
from tabsoda.errors import InputError


def impute(
    data: DataFile,
    /,
    *,
    survey: DescriptionFile = None,
    codebook: CodebookFile = None,
    unlisted: Unlisted = "error",
    rules: Path | None = None,
    skip_mask: Path | None = None,
    mine: Annotated[bool, Parameter(negative="")] = False,
    screen: Literal["purity", "paper"] | None = None,
    miner: str | None = None,
    accept_all: Annotated[bool, Parameter(negative="")] = False,
    gate_policy: Literal["follow", "keep"] | None = None,
    edits: Literal["missing", "unconstrained"] | None = None,
    output_folder: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    draws: Annotated[int, WHOLE, Parameter(name=["--draws", "-m"], validator=Number(gte=0))] = 5,
    seed: Annotated[int | None, WHOLE] = None,
    quality: Literal["fast", "balanced", "best", "tiny"] | None = None,
    preset: Literal["small", "path", "nsduh"] | None = None,
    changes: Annotated[tuple[str, ...], Parameter(name="--set", negative="")] = (),
    bits: Annotated[bool, Parameter(negative="")] = False,
    interaction: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    straight_lines: Annotated[bool, Parameter(negative="")] = False,
    ignore_design: Annotated[bool, Parameter(negative="")] = False,
    model: Path | None = None,
    device: str = "auto",
    shard_rows: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=1))] = None,
    fit_rows: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=2))] = None,
    engine: Literal["local", "joblib", "ray"] | None = None,
    jobs: Annotated[int | None, WHOLE, Parameter(validator=Number(gte=1))] = None,
    report: Annotated[bool, Parameter(name="--report", negative="--no-report")] = True,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    as_json: AsJson = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Impute the missing answers of a survey; skipped questions stay empty.

    Writes to the output folder: point.parquet (ordinals by mode, numbers by mean),
    point_median.parquet (ordinals and numbers by median), imputations/ (one completed table for
    each draw), states.parquet, model/, settings.json and manifest.json; then report.html and
    report.json. After an interruption, the same command continues from the last finished stage
    or draw.

    Parameters
    ----------
    rules
        Reviewed routing rules (rules.toml) that say which blanks are skips; see tabsoda review.
    skip_mask
        A mask (Parquet or CSV) that says which cells are skips. With --rules, a cell is a skip
        if either says so.
    mine
        Mine the routing rules first. Mined rules are unreviewed, so --accept-all is required.
        With --preset, --screen paper and --gate-policy keep this is TabSODA+SKIP of the paper.
    screen
        With --mine: how candidate rules are screened, by their purity or as in the paper.
        [default: purity]
    miner
        With --mine: settings of the miner: default, path, nsduh-50, nsduh-100, nsduh-200,
        small-survey. [default: default]
    accept_all
        Use rules that nobody has reviewed; the manifest lists them. Without this option,
        unreviewed rules end the run with exit code 3.
    gate_policy
        How to treat questions that depend on a missing answer, where rules are known. follow:
        each draw imputes that answer first, then skips or imputes the questions that depend on
        it. keep: impute every missing cell, as in the paper. [default: follow]
    edits
        What to do with cells for which no value satisfies the edits of the description: leave them
        missing, or impute them unconstrained. Both are counted. [default: missing]
    output_folder
        Folder to write to.
    draws
        How many completed tables to draw.
    seed
        The same seed gives the same imputations. [default: 0]
    quality
        How much time to spend: fast, balanced or best; tiny is for tests and first tries, and its
        estimates are poor. [default: balanced]
    preset
        Use the engine of the paper instead, for comparison: path and nsduh have the settings of
        the paper, small has a smaller network for a laptop.
    changes
        Change one setting, such as training.max_steps=500; may be repeated.
    bits
        With --preset: encode ordinals as bits, like nominals (TabSODA-N).
    interaction
        A term that the analysis will need, such as AGE:SEX, or AGE:AGE for a curve; may be
        repeated. Draws then have it whether or not the answers show it.
    straight_lines
        Draw from regressions without interactions and curves.
    ignore_design
        Do not use weights, strata and clusters as predictors.
    model
        Impute with this fitted model (OUT/model of an earlier run) instead of fitting one.
    device
        auto, cpu or cuda.
    shard_rows
        Keep at most this many rows in memory and write every table in shards; Parquet only.
        --fit-rows, --engine and --jobs also switch to shards. [default: 50000]
    fit_rows
        In shards: fit on at most this many rows, sampled by a hash of their content.
        [default: 100000]
    engine
        In shards: where they run: local (this process), joblib (several processes) or ray (a
        cluster). [default: local]
    jobs
        In shards: how many run at a time.
    report
        Also write report.html and report.json.
    dry_run
        Only show what would be imputed, and the time and memory it would take.
    force
        Overwrite the files of an earlier run in the folder.
    """
    options = ImputerOptions(
        survey=survey,
        rules=rules,
        model=model,
        mine=mine,
        screen=screen,
        miner=miner,
        accept_all=accept_all,
        bits=bits,
        interactions=interaction,
        straight_lines=straight_lines,
        ignore_design=ignore_design,
        gate_policy=gate_policy,
        edit_policy=edits,
        seed=seed,
        quality=quality,
        preset=preset,
        changes=changes,
        device=device,
    )
    options.check(has_mask=skip_mask is not None)
    reading: dict[str, Any] = {
        # Without a model, the imputer itself reads the description.
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
    with _announce_kept_work(folder):
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
def _announce_kept_work(folder: Path) -> Iterator[None]:
    """After an interruption, print that finished work is kept, if there is any."""
    from tabsoda.results.run_folder import CHECKPOINT

    try:
        yield
    except KeyboardInterrupt:
        if (folder / CHECKPOINT).is_dir():
            sys.stderr.write(
                "Finished stages and draws are kept: run the same command again to continue.\n"
            )
        raise


def _required(folder: Path | None) -> Path:
    if folder is None:
        raise InputError(
            "No output folder was given", next_step="Add -o FOLDER, or --dry-run to write nothing"
        )
    return folder
