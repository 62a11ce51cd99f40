"""``tabsoda impute``: fill the missing answers of a survey file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, output, progress
from tabsoda.cli.rule_text import columns, events_text, paragraph
from tabsoda.errors import InputError, OutputExistsError

if TYPE_CHECKING:
    from tabsoda.em.cost import Cost
    from tabsoda.imputations.imputations import Imputations
    from tabsoda.survey import Survey
    from tabsoda.table import CodedTable

# Runs expected to take longer than this tell so before they start.
_LONG_SECONDS = 20
_VARIABLES_SHOWN = 12


def impute(
    data: Path,
    /,
    *,
    survey: Path | None = None,
    codebook: Path | None = None,
    rules: Path | None = None,
    skip_mask: Path | None = None,
    mine: Annotated[bool, Parameter(negative="")] = False,
    output_folder: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    draws: Annotated[int, Parameter(name=["--draws", "-m"], validator=Number(gte=0))] = 5,
    seed: int = 0,
    preset: Literal["small", "path", "nsduh"] = "small",
    bits: Annotated[bool, Parameter(negative="")] = False,
    device: str = "auto",
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Impute the missing answers of a survey; skipped questions stay empty.

    Writes to the output folder: point.parquet (ordinals by mode), point_median.parquet (ordinals
    by median), imputations/ (one completed table a draw), states.parquet, model/, settings.json
    and manifest.json. Interrupted, the same command goes on after the last finished round.

    Parameters
    ----------
    data
        The survey: CSV, Parquet, SPSS, Stata or SAS.
    survey
        Its description: survey.toml or schema.json. Guessed where absent.
    codebook
        A DDI codebook (XML) that fills in labels.
    rules
        Routing rules (rules.toml) that say which blanks are skips.
    skip_mask
        A mask (Parquet or CSV) that says which cells are skips.
    mine
        Mine the routing rules first (TabSODA+SKIP).
    output_folder
        Folder to write to.
    draws
        Completed tables to draw.
    seed
        The same seed gives the same imputations.
    preset
        Settings: small for a laptop; path and nsduh as in the paper.
    bits
        Treat ordinals as bits, like nominals (TabSODA-N).
    device
        auto, cpu or cuda.
    dry_run
        Only tell what would be imputed, and what it would take.
    as_json
        Write the result as JSON.
    force
        Overwrite what an earlier run left in the folder.
    """
    if mine and (rules is not None or skip_mask is not None):
        raise InputError(
            "The option --mine looks for rules, but skips are given already",
            next_step="Leave out --mine, or leave out --rules and --skip-mask",
        )
    if not dry_run:
        _check_folder(output_folder, [data], force=force)
    source = _read(data, survey, codebook, rules, skip_mask, mine=mine)
    settings = {"encoding": {"ordinal": "bits"}} if bits else {}
    cost = _cost(source.table, preset, settings, draws, device)
    if dry_run:
        _show_plan(source, cost, as_json=as_json)
        return
    folder = _required(output_folder)
    if cost.seconds > _LONG_SECONDS and not as_json:
        sys.stderr.write(f"{_cost_text(cost)}\n")
    result, model, seconds = _run(source, settings, preset, draws, seed, device, folder)
    from tabsoda.cli.impute_outputs import write_outputs

    manifest = write_outputs(
        folder,
        result,
        model,
        inputs={
            name: path
            for name, path in {
                "data": data,
                "survey": survey,
                "codebook": codebook,
                "rules": rules,
                "skip_mask": skip_mask,
            }.items()
            if path is not None
        },
        options={"draws": draws, "seed": seed, "preset": preset, "mine": mine, "bits": bits},
        seconds=seconds,
    )
    if as_json:
        emit_json(manifest)
    else:
        _show_result(result, manifest, folder)


def _check_folder(folder: Path | None, inputs: list[Path], *, force: bool) -> None:
    """Raise before any work is done where the result could not be kept."""
    folder = _required(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"The output '{folder}' is a file", expected="a folder")
    if any(path.resolve().parent == folder.resolve() for path in inputs):
        raise InputError(
            f"The folder '{folder}' holds the data itself",
            next_step="Choose a folder of its own for the result",
        )
    if not folder.exists():
        return
    left_over = {path.name for path in folder.iterdir()} - {".checkpoint"}
    if left_over and not force:
        raise OutputExistsError(
            f"The folder '{folder}' is not empty",
            found=", ".join(sorted(left_over)[:3]),
            next_step="Choose another folder, or add --force to overwrite an earlier result",
        )


def _required(folder: Path | None) -> Path:
    if folder is None:
        raise InputError(
            "There is no output folder", next_step="Add -o FOLDER, or --dry-run to write nothing"
        )
    return folder


def _read(
    data: Path,
    survey: Path | None,
    codebook: Path | None,
    rules: Path | None,
    skip_mask: Path | None,
    *,
    mine: bool,
) -> Survey:
    from tabsoda.reading import read_survey

    source = read_survey(data, survey, codebook=codebook, skip_mask=skip_mask)
    if rules is not None:
        from tabsoda.skips.rule_set import RuleSet

        source = source.with_states(RuleSet.from_toml(rules).apply(source.table))
    if mine:
        from tabsoda.skips.miner import SkipMiner

        with progress("Mining") as report:
            mined = SkipMiner().mine(source.table, report)
        source.events.extend(mined.events)
        source.events.add("skips", "rules mined", detail=f"{len(mined.rules)} rules")
        source = source.with_states(mined.states)
    return source


def _cost(
    table: CodedTable, preset: str, settings: dict[str, Any], draws: int, device: str
) -> Cost:
    from tabsoda._internal.devices import matrix_precision, resolve_device
    from tabsoda.em.cost import estimate_cost
    from tabsoda.encoding.layout import n_bits
    from tabsoda.settings import Settings

    widths = [n_bits(column.n_levels) if column.is_categorical else 1 for column in table.columns]
    incomplete = int(table.states.missing.any(axis=1).sum())
    chosen = resolve_device(device)
    return estimate_cost(
        Settings.preset(preset).replace(**settings),
        table.shape[0],
        table.shape[1],
        incomplete,
        sum(widths),
        draws,
        chosen,
        matrix_precision(chosen),
    )


def _run(
    source: Survey,
    settings: dict[str, Any],
    preset: str,
    draws: int,
    seed: int,
    device: str,
    folder: Path,
) -> tuple[Imputations, Any, float]:
    from tabsoda.imputer import TabSODAImputer

    imputer = TabSODAImputer(
        preset=preset, settings=settings, random_state=seed, device=device, n_imputations=draws
    )
    checkpoint = folder / ".checkpoint"
    start = time.perf_counter()
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)
        with progress("Fitting") as report:
            imputer.fit(source, checkpoint=checkpoint, report=report)
        with progress("Imputing") as report:
            result = imputer.impute(source, report=report)
    except OSError as error:
        raise InputError(
            f"The folder '{folder}' cannot be written to", found=error.strerror or str(error)
        ) from error
    except KeyboardInterrupt:
        sys.stderr.write("Finished rounds are kept: the same command goes on after them.\n")
        raise
    return result, imputer, time.perf_counter() - start


def _cost_text(cost: Cost) -> str:
    seconds = cost.seconds
    if seconds < 90:
        duration = f"{seconds:.0f} seconds"
    elif seconds < 5400:
        duration = f"{seconds / 60:.0f} minutes"
    else:
        duration = f"{seconds / 3600:.1f} hours"
    return f"This takes about {duration} at most, and {cost.memory_bytes / 2**30:.1f} GiB."


def _show_plan(source: Survey, cost: Cost, *, as_json: bool) -> None:
    """Tell per variable how many cells would be imputed."""
    states, names = source.states, source.table.names
    missing, skipped = states.missing.sum(axis=0), states.skipped.sum(axis=0)
    if as_json:
        emit_json(
            {
                "rows": states.shape[0],
                "to_impute": {n: int(m) for n, m in zip(names, missing, strict=True)},
                "seconds": round(cost.seconds, 1),
                "memory_bytes": int(cost.memory_bytes),
            }
        )
        return
    console = output()
    rows = [["variable", "kind", "answered", "skipped", "to impute"]]
    answered = states.answered.sum(axis=0)
    for position, column in enumerate(source.table.columns):
        counts = (answered[position], skipped[position], missing[position])
        rows.append([column.name, column.kind.value, *(f"{int(n):,}" for n in counts)])
    lines = [
        *columns(rows, left=2),
        "",
        f"{int(missing.sum()):,} of {states.states.size:,} cells would be imputed.",
        _cost_text(cost),
        "Nothing was written.",
    ]
    for line in lines:
        console.print(line, markup=False, no_wrap=True, overflow="ignore", crop=False)


def _show_result(result: Imputations, manifest: dict[str, Any], folder: Path) -> None:
    console = output()
    width = console.width
    counts = manifest["counts"]
    most = sorted(result.counts().items(), key=lambda item: -item[1])[:_VARIABLES_SHOWN]
    most = [(name, n) for name, n in most if n]
    lines = [
        paragraph(
            f"{counts['imputed']:,} missing answers of {counts['rows']:,} respondents were imputed"
            f" {len(result)} times, and {counts['skipped']:,} skipped cells left alone.",
            width,
        ),
        "",
        *columns(
            [["most imputed", "cells", "share"]]
            + [[name, f"{n:,}", f"{n / counts['rows']:.1%}"] for name, n in most]
        ),
        "",
    ]
    if counts["left_missing"]:
        text = f"{counts['left_missing']:,} cells stay missing: nobody answered their question."
        lines += [paragraph(text, width), ""]
    lines += ["Decisions taken on the way:", *events_text(result.events, width), ""]
    lines += [
        f"In {folder}:",
        *columns(
            [
                ["  point.parquet", "best single table, ordinals by mode"],
                ["  point_median.parquet", "the same, ordinals by median"],
                ["  imputations/", f"{len(result)} draws, for analyses that are pooled"],
                ["  states.parquet", "answered, missing or skipped, cell by cell"],
                ["  model/", "to impute new rows without fitting again"],
                ["  manifest.json", "seed, versions, hashes, counts, decisions"],
            ],
            left=2,
        ),
    ]
    for line in lines:
        console.print(line, markup=False, no_wrap=True, overflow="ignore", crop=False)
