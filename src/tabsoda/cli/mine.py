"""``tabsoda mine``: find the routing rules of a survey."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, progress, show
from tabsoda.cli.outputs import Writer, check_outputs, write_together
from tabsoda.cli.rule_text import (
    columns,
    events_text,
    first_groups,
    paragraph,
    rivals_text,
    rules_heading,
    rules_text,
)
from tabsoda.cli.shared_options import AsJson, CodebookFile, DataFile, DescriptionFile, Unlisted
from tabsoda.errors import InputError
from tabsoda.event_texts import to_dicts_with_text
from tabsoda.events import EventLog
from tabsoda.skips.rule_set import RuleSet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tabsoda.survey import Survey

_RULES_SHOWN = 40
_GRAPHS = (".json", ".mmd", ".dot")


def mine(
    data: DataFile,
    /,
    *,
    survey: DescriptionFile = None,
    codebook: CodebookFile = None,
    unlisted: Unlisted = "error",
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    mask: Path | None = None,
    graph: Path | None = None,
    reference: Path | None = None,
    screen: Literal["purity", "paper"] = "purity",
    preset: str = "default",
    as_json: AsJson = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Find the routing rules of a survey and write them as sentences.

    Skips that the file's own codes mark are known while mining. With --reference they are read as
    blanks, so that the comparison with the reference does not benefit from them.

    Parameters
    ----------
    output_file
        The rules file to write, such as rules.toml.
    mask
        The skip mask to write (.parquet or .csv): true where a cell is skipped.
    graph
        The routing graph to write: .json, .mmd (Mermaid) or .dot (Graphviz).
    reference
        A known skip mask to compare with, in the format that --mask writes.
    screen
        How candidate rules are screened: by their purity, or as in the paper.
    preset
        Settings of the miner: default, path, nsduh-50, nsduh-100, nsduh-200, small-survey.
    force
        Overwrite outputs that exist.
    """
    inputs = [path for path in (data, survey, codebook, reference) if path is not None]
    check_outputs([path for path in (output_file, mask, graph) if path], inputs, force=force)
    if mask is not None and mask.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(
            f"The mask '{mask}' has an unknown ending",
            found=mask.suffix or "none",
            expected=".parquet or .csv",
        )
    if graph is not None and graph.suffix not in _GRAPHS:
        raise InputError(
            f"The graph '{graph}' has an unknown ending",
            found=repr(graph.suffix),
            expected=" or ".join(_GRAPHS),
        )

    from tabsoda.bench.metrics.skip_metrics import skip_metrics
    from tabsoda.reading import read_survey
    from tabsoda.reading.skip_masks import load_mask
    from tabsoda.skips.mining import mine_survey
    from tabsoda.skips.settings import MinerSettings

    settings = MinerSettings.preset(preset)
    source = read_survey(data, survey, codebook=codebook, unlisted=unlisted)
    names, n_rows = source.table.names, source.table.shape[0]
    truth = None
    if reference is not None:
        truth = load_mask(reference, names, n_rows, all_names=source.schema.names)
        # Raises if the reference marks an answered cell as skipped.
        source.states.with_skips(truth)
    with progress("Mining") as update:
        found = mine_survey(
            source,
            settings,
            screen=screen,
            ignore_known_skips=truth is not None,
            progress=update,
        )
    rules, mined = found.rules, found.mined
    events = EventLog([*source.events, *mined.events])
    result = _summary(rules, source, mined.explained)
    if truth is not None:
        result["reference"] = skip_metrics(found.found, truth, ~source.states.answered)
    write_together(_writers(rules, mined.states.skipped, names, output_file, mask, graph))
    if as_json:
        emit_json(result | {"rules": rules.table(), "events": to_dicts_with_text(events)})
    else:
        _show(result, rules, events, output_file)


def _summary(rules: RuleSet, source: Survey, found: NDArray[np.bool_]) -> dict[str, Any]:
    from tabsoda.skips.forward import was_asked
    from tabsoda.skips.rules import count_conditions

    # Counted as in tabsoda check: refusals and "don't know" are not blank.
    blank = ~was_asked(source.states)
    partly_blank = source.states.answered.any(axis=0) & blank.any(axis=0)
    return {
        "source": rules.provenance.source,
        "screen": rules.provenance.screen,
        "rows": source.table.shape[0],
        "variables": source.table.shape[1],
        "partly_blank": int(partly_blank.sum()),
        "mined": len(rules.targets),
        "n_rules": len(rules),
        # As the paper counts its rules.
        "n_conditions": count_conditions(rules),
        "n_rules_with_rivals": sum(bool(rule.rivals) for rule in rules),
        "blank_cells": int(blank.sum()),
        "skipped_cells": int(found.sum()),
        "skipped_by_code": int(source.states.skipped.sum()),
    }


def _writers(
    rules: RuleSet,
    skipped: NDArray[np.bool_],
    names: tuple[str, ...],
    output_file: Path | None,
    mask: Path | None,
    graph: Path | None,
) -> dict[Path, Writer]:
    writers: dict[Path, Writer] = {}
    if output_file is not None:
        from tabsoda.skips.rule_files import dump_rules

        writers[output_file] = partial(_write_text, text=dump_rules(rules))
    if mask is not None:
        import polars as pl

        frame = pl.DataFrame(skipped, schema=list(names))
        writers[mask] = frame.write_csv if mask.suffix.lower() == ".csv" else frame.write_parquet
    if graph is not None:
        drawn = rules.graph()
        text = {
            ".json": lambda: json.dumps(drawn.to_dict(), indent=2, ensure_ascii=False) + "\n",
            ".mmd": drawn.to_mermaid,
            ".dot": drawn.to_dot,
        }[graph.suffix]()
        writers[graph] = partial(_write_text, text=text)
    return writers


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _show(
    result: Mapping[str, Any], rules: RuleSet, events: EventLog, output_file: Path | None
) -> None:
    console = output()
    width = console.width
    lines = [paragraph(text, width) for text in _opening(result)] + [""]
    if len(rules):
        groups = first_groups(rules, _RULES_SHOWN)
        lines += [rules_heading(width), *rules_text(groups, rules.column_of, width), ""]
        lines += _rest(len(rules) - sum(map(len, groups)), output_file, width)
        lines += rivals_text(rules, width)
    if len(events):
        lines += ["Automatic decisions:", *events_text(events, width), ""]
    if "reference" in result:
        lines += _comparison(result)
    show(lines)


def _opening(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{result['source']}: {result['rows']:,} respondents, {result['variables']:,} questions,"
        f" {result['partly_blank']:,} of them blank for some respondents and answered by others."
    )
    different = "condition" if result["n_conditions"] == 1 else "different conditions"
    yield (
        f"Rules found: {result['n_rules']:,}, with {result['n_conditions']:,} {different}."
        f" Questions they skip: {result['mined']:,}."
        f" Blank cells they explain: {result['skipped_cells']:,} of {result['blank_cells']:,}."
    )
    if result["skipped_by_code"]:
        yield f"The file's own codes mark {result['skipped_by_code']:,} cells as skips."
    if result["n_rules"]:
        yield (
            "In the table, blank and asked count the respondents for whom a rule fires. Refusals"
            ' and "don\'t know" count as asked, known skips as blank.'
        )


def _rest(left: int, output_file: Path | None, width: int) -> list[str]:
    if output_file is not None:
        more = f"The other {left:,} rules and all evidence are in" if left else "Evidence is in"
        return [
            paragraph(
                f"{more} {output_file}. Approve or reject the rules with tabsoda review.", width
            ),
            "",
        ]
    if left:
        return [paragraph(f"{left:,} more rules; -o rules.toml writes all of them.", width), ""]
    return []


def _comparison(result: Mapping[str, Any]) -> list[str]:
    """Lay out the paper's table for this survey."""
    sides = result["reference"]["all_cells"], result["reference"]["blanks"]
    rows = [["", "all cells", "blanks only"]]
    for name in ("precision", "recall", "f1", "fpr", "accuracy"):
        numbers = ["-" if side[name] is None else f"{side[name]:.4f}" for side in sides]
        rows.append([{"f1": "F1", "fpr": "FPR"}.get(name, name), *numbers])
    counts = f"variables {result['variables']}, mined {result['mined']}, rules {result['n_rules']}"
    counts += f", conditions {result['n_conditions']}"
    return [f"Against the reference: {counts}", *columns(rows), ""]
