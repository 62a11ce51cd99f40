"""``tabsoda impute``: fill the missing answers of a survey file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, progress
from tabsoda.cli.impute_job import Job
from tabsoda.cli.impute_rules import require_accepted_mining
from tabsoda.cli.impute_shards import ShardOptions, impute_in_shards
from tabsoda.cli.impute_text import (
    cost_text,
    no_skips_text,
    plan_facts,
    show_plan,
    show_result,
)
from tabsoda.cli.whole_numbers import WHOLE
from tabsoda.errors import InputError
from tabsoda.imputations.run_folder import check_folder, claim_folder

# Runs expected to take longer than this tell so before they start.
_LONG_SECONDS = 20


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
        Treat ordinals as bits, like nominals (TabSODA-N).
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
    files = {
        "data": data,
        "survey": survey,
        "codebook": codebook,
        "rules": rules,
        "skip_mask": skip_mask,
        "model": None if model is None else model / "model.json",
        "model_tensors": None if model is None else model / "model.safetensors",
    }
    inputs = {name: path for name, path in files.items() if path is not None}
    fitting = {"seed": seed, "quality": quality, "preset": preset, "set": changes or None}
    flags = {"mine": mine or None, "bits": bits or None}
    _check_options(inputs, {**fitting, **flags})
    require_accepted_mining(mine=mine, accept_all=accept_all)
    options: dict[str, Any] = {
        "unlisted": unlisted,
        "accept_all": accept_all,
        "gate_policy": gate_policy or ("follow" if model is None else None),
    }
    if model is None:
        options |= {
            "seed": seed or 0,
            "quality": None if preset else quality or "balanced",
            "preset": preset,
            "set": list(changes),
            "mine": mine,
            "bits": bits,
        }
    job = Job(inputs, model, options, draws, device)
    shards = ShardOptions(shard_rows, fit_rows, engine, jobs)
    if shards.wanted and not dry_run:
        impute_in_shards(job, _required(output_folder), shards, as_json=as_json, force=force)
        return
    if not dry_run:
        folder = _required(output_folder)
        run = job.identity()
        check_folder(folder, list(inputs.values()), run, force=force)
    job.prepare()
    if dry_run:
        facts = plan_facts(job.source, job.cost(), job.fillable(), job.followed_rules())
        emit_json(facts) if as_json else show_plan(facts)
        return
    cost = job.cost()
    if not as_json:
        states = job.source.states
        for line in no_skips_text(int(states.missing.sum()), int(states.skipped.sum())):
            sys.stderr.write(f"{line}\n")
    if cost.seconds > _LONG_SECONDS and not as_json:
        sys.stderr.write(f"{cost_text(cost.seconds, cost.memory_bytes)}\n")
    checkpoint = claim_folder(folder, run)
    job.rehearse(folder)
    result, seconds = job.run(checkpoint)
    from tabsoda.cli.impute_outputs import write_outputs

    manifest = write_outputs(
        folder,
        result,
        job.imputer,
        inputs,
        {"draws": draws, **job.options},
        seconds,
        skipped_by_rules=int((job.source.states.skipped & ~job.known_skips).sum()),
    )
    if report:
        from tabsoda.reporting.report import PAGE, write_report

        with progress("Reporting") as told:
            write_report(
                result, folder / PAGE, manifest=manifest, imputer=job.imputer, progress=told
            )
    if as_json:
        emit_json(manifest)
    else:
        show_result(result, manifest, folder)


def _check_options(inputs: dict[str, Path], fitting: dict[str, Any]) -> None:
    """Raise where options contradict each other, or a file is not there."""
    given = [name for name, value in fitting.items() if value is not None]
    if "model" in inputs and given:
        raise InputError(
            f"The option --{given[0]} is about fitting, but --model is fitted already",
            next_step=f"Leave out --{given[0]}, or leave out --model",
        )
    if "quality" in given and "preset" in given:
        raise InputError(
            "The options --quality and --preset both say where the settings start from",
            next_step="Leave out one of them",
        )
    if "mine" in given and ("rules" in inputs or "skip_mask" in inputs):
        raise InputError(
            "The option --mine looks for rules, but skips are given already",
            next_step="Leave out --mine, or leave out --rules and --skip-mask",
        )
    for name, path in inputs.items():
        is_model = name.startswith("model")
        if not path.is_file():
            raise InputError(
                f"There is no model in '{path.parent}'"
                if is_model
                else f"The file '{path}' does not exist",
                expected=f"a file '{path.name}' there" if is_model else None,
                next_step="--model takes the folder 'model' of an earlier result"
                if is_model
                else "Check its name",
            )


def _required(folder: Path | None) -> Path:
    if folder is None:
        raise InputError(
            "There is no output folder", next_step="Add -o FOLDER, or --dry-run to write nothing"
        )
    return folder
