"""``tabsoda diagnose``: how well the answers of a file can be imputed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda._internal.files import make_folder, write_text
from tabsoda.cli.console import emit_json, output, progress, show
from tabsoda.cli.outputs import check_outputs, write_together
from tabsoda.cli.rule_text import columns, paragraph, short_name
from tabsoda.cli.shared_options import (
    WHOLE,
    AsJson,
    CodebookFile,
    DataFile,
    DescriptionFile,
    Unlisted,
)
from tabsoda.errors import InputError
from tabsoda.event_texts import detail
from tabsoda.events import EventLog

if TYPE_CHECKING:
    from tabsoda.bench.methods.contract import ImputationMethod
    from tabsoda.survey import Survey

_SHOWN = 20
# MissForest takes several times as long as all others together; --methods adds it.
_METHODS = ("mode", "boosting")


def diagnose(
    data: DataFile,
    /,
    *,
    survey: DescriptionFile = None,
    codebook: CodebookFile = None,
    unlisted: Unlisted = "error",
    rules: Path | None = None,
    skip_mask: Path | None = None,
    share: Annotated[float, Parameter(validator=Number(gt=0, lt=1))] = 0.1,
    methods: str | None = None,
    rows: Annotated[int, WHOLE, Parameter(validator=Number(gte=10))] = 5000,
    seed: Annotated[int, WHOLE] = 0,
    quality: Literal["fast", "balanced", "best", "tiny"] | None = None,
    preset: Literal["small", "path", "nsduh"] | None = None,
    changes: Annotated[tuple[str, ...], Parameter(name="--set", negative="")] = (),
    device: str = "auto",
    output_folder: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    as_json: AsJson = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Hide some answers, impute them, and report per question how well they are predicted.

    Compares with the overall distribution of answers (numbers: the mean) and with gradient
    boosting on the same cells, by proper scores. With -o it writes diagnosis.html, a page with a
    chart, and diagnosis.json.

    Parameters
    ----------
    rules
        Routing rules (rules.toml) that say which blanks are skips.
    skip_mask
        A mask (Parquet or CSV) that says which cells are skips.
    share
        Share of the answers to hide.
    methods
        Names separated by commas, such as mode,boosting,missforest,mice,default-engine; mode, the
        overall distribution of answers, is always included. tabsoda is the method of the paper.
        [default: mode,boosting,default-engine; with --preset tabsoda instead of default-engine]
    rows
        Use at most this many respondents, sampled from the file.
    seed
        The same seed hides the same answers.
    quality
        How much time the default engine spends: fast, balanced or best; tiny is for tests and
        first tries, and its estimates are poor. [default: balanced]
    preset
        Compare the method of the paper, with these settings: small, path or nsduh.
    changes
        Change one setting of the default engine, or with --preset of the paper's, such as
        training.max_steps=500; may be repeated.
    device
        auto, cpu or cuda.
    output_folder
        Folder to write to.
    force
        Overwrite existing files in the folder.
    """
    from tabsoda.diagnosis.diagnosing import diagnose as diagnose_table

    chosen = _methods(methods, quality, preset, changes, device)
    given = [path for path in (data, survey, codebook, rules, skip_mask) if path is not None]
    files = [] if output_folder is None else _outputs(output_folder, given, force=force)
    source = _read(data, survey, codebook, unlisted, rules, skip_mask)
    with progress("Diagnosing") as update:
        found = diagnose_table(
            source.table,
            chosen,
            share=share,
            most_rows=rows,
            seed=seed,
            progress=update,
            events=source.events,
        )
    if files:
        _write(files, found, source.source)
    if as_json:
        emit_json(found)
        return
    show(_text(found, files, output().width))


def _methods(
    names: str | None,
    quality: str | None,
    preset: str | None,
    changes: tuple[str, ...],
    device: str,
) -> dict[str, ImputationMethod]:
    """Build the methods, the mode first: the others are compared with it.

    Raises if no method listed uses an option that was given.
    """
    from tabsoda.bench.methods.registry import method
    from tabsoda.cli.impute_settings import parse_settings
    from tabsoda.engines import settings_for

    ours = "tabsoda" if preset else "default-engine"
    listed = [*_METHODS, ours] if names is None else [n.strip() for n in names.split(",")]
    ordered = dict.fromkeys(["mode", *filter(None, listed)])
    for option, given, engine in (
        ("--quality", quality, "default-engine"),
        ("--preset", preset, "tabsoda"),
        ("--set", changes, ours),
    ):
        if given and not any(name.startswith(engine) for name in ordered):
            raise InputError(
                f"No method in --methods uses {option}",
                found=", ".join(ordered),
                next_step=f"Add {engine}, or leave out {option}",
            )
    settings = parse_settings(changes, settings_for(preset or quality or "balanced", 1, 1))
    options: dict[str, dict[str, Any]] = {
        "tabsoda": {"preset": preset} if preset else {},
        "default-engine": {"quality": quality} if quality else {},
    }
    options[ours] |= {"settings": settings}

    def chosen(name: str) -> dict[str, Any]:
        engine = next((one for one in options if name.startswith(one)), None)
        return {} if engine is None else options[engine] | {"device": device}

    return {name: method(name, **chosen(name)) for name in ordered}


def _outputs(folder: Path, inputs: list[Path], *, force: bool) -> list[Path]:
    make_folder(folder)
    files = [folder / "diagnosis.html", folder / "diagnosis.json"]
    check_outputs(files, inputs, force=force)
    return files


def _read(
    data: Path,
    survey: Path | None,
    codebook: Path | None,
    unlisted: Literal["error", "missing"],
    rules: Path | None,
    skip_mask: Path | None,
) -> Survey:
    from tabsoda.reading import read_survey
    from tabsoda.skips.review_policy import apply_rules
    from tabsoda.skips.rule_set import RuleSet

    rule_set = None if rules is None else RuleSet.from_toml(rules)
    source = read_survey(data, survey, codebook=codebook, skip_mask=skip_mask, unlisted=unlisted)
    return source if rule_set is None else apply_rules(source, rule_set)


def _write(files: list[Path], found: dict[str, Any], source: str) -> None:
    from tabsoda.diagnosis.picture import render_diagnosis

    page, text = render_diagnosis(found, source), json.dumps(found, indent=2, ensure_ascii=False)
    write_together(
        {
            files[0]: lambda path: write_text(path, page),
            files[1]: lambda path: write_text(path, text + "\n"),
        }
    )


def _text(found: dict[str, Any], files: list[Path], width: int) -> Iterator[str]:
    names = [one["name"] for one in found["methods"]]
    yield paragraph(
        f"{found['hidden']:,} answers of {found['rows']:,} respondents were hidden and imputed.",
        width,
    )
    events = EventLog.from_dicts(found["events"])
    sampled = [detail(event) for event in events if event.kind == "rows_sampled"]
    yield from (paragraph(f"A sample: {text}.", width) for text in sampled)
    yield ""
    known = [one for one in found["variables"] if one["verdict"] != "too few"]
    known.sort(key=lambda one: -(one["methods"][names[-1]]["relative"] or 0.0))
    room = max(width - 22 - sum(max(len(name), 5) + 2 for name in names), 8)
    head = ["question", "hidden", *names, "verdict"]
    lines = [head]
    for one in known[:_SHOWN]:
        errors = [_error(one["methods"][name]["error"]) for name in names]
        lines.append(
            [short_name(one["name"], min(room, 24)), f"{one['hidden']:,}", *errors, one["verdict"]]
        )
    if known:
        yield "Score, lower is better (nominal: Brier; ordinal: ranked probability, in levels;"
        yield "numbers: error in standard deviations); the smallest gains over mode, the"
        yield "overall distribution of answers, first:"
        widest = max(len(line[-1]) for line in lines)
        yield from columns([[*line[:-1], line[-1].ljust(widest)] for line in lines])
        if len(known) > _SHOWN:
            yield f"and {len(known) - _SHOWN} more questions; --json lists all"
        yield ""
    yield from (paragraph(sentence, width) for sentence in found["summary"])
    if files:
        yield ""
        yield from (
            f"{label} {path}" for label, path in zip(("Chart:", " JSON:"), files, strict=True)
        )


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
