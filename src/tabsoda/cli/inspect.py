"""``tabsoda inspect``: show what is in a survey file, and propose its description."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output
from tabsoda.cli.outputs import check_description, write_together
from tabsoda.cli.rule_text import one_line, short_name, without_name
from tabsoda.cli.shared_options import AsJson, DataFile, DescriptionFile, Unlisted
from tabsoda.event_texts import to_dicts_with_text

_FLAGS_SHOWN = 8
# A wrong role loses a question, so every guess is shown.
_SHOWN_IN_FULL = ("role_guessed",)
_NUMBER = re.compile(r"\d+(?:,\d{3})*")
_NAME_WIDTH = 18
_MARKS = {"doubtful": "??", "likely": "?"}


def inspect(
    data: DataFile,
    /,
    *,
    survey: DescriptionFile = None,
    codebook: Path | None = None,
    settings: Annotated[tuple[str, ...], Parameter(name="--set", negative="")] = (),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    unlisted: Unlisted = "error",
    as_json: AsJson = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Show what is in a survey file, and propose its description.

    Parameters
    ----------
    codebook
        A DDI codebook (XML) that fills in labels, categories, missing codes and universes.
    settings
        A correction for one or more columns, such as `Q12_*.kind=ordinal`, `Q12_*.levels=1,2,3`,
        `INT*.role=ignore`, `Q7.missing.97=refused`, `missing.-9=refused` or `blanks=skip`; may be
        repeated.
    output_file
        The description to write, such as survey.toml.
    force
        Overwrite the output if it exists.
    """
    check_description(output_file, (data, survey, codebook), force=force)

    from tabsoda.edits.blocks import find_blocks
    from tabsoda.reading import read_survey
    from tabsoda.reading.inspection import summarize
    from tabsoda.schema.files import save_schema

    description = _description(survey, settings)
    source = read_survey(data, description, codebook=codebook, unlisted=unlisted)
    blocks = [block.to_dict() for block in find_blocks(source.schema)]
    edits = [{"rule": one.rule, "approved": one.approved} for one in source.schema.edits]
    derived = [{"name": one.name, "formula": one.formula} for one in source.schema.derivations]
    summary = summarize(source) | {"blocks": blocks, "edits": edits, "derived": derived}
    if output_file is not None:
        write_together({output_file: lambda path: save_schema(source.schema, path)})
    if as_json:
        emit_json(summary | {"events": to_dicts_with_text(source.events)})
        return
    console = output()
    for line in _lines(summary, console.width):
        console.print(line, markup=False, soft_wrap=True)
    if output_file is not None:
        step = "Read it, correct the guesses" if survey is None else "It is complete"
        console.print(f"\nWritten: {output_file}. {step}.", markup=False, soft_wrap=True)
    elif survey is None:
        hint = "\nAdd -o survey.toml to save this as a description that you can correct."
        console.print(hint, markup=False, soft_wrap=True)


def _description(survey: Path | None, settings: tuple[str, ...]) -> Any:
    """Return the description, its own corrections first, then those of the command line."""
    from dataclasses import replace

    from tabsoda.schema.correction_form import parse_settings
    from tabsoda.schema.description import Description
    from tabsoda.schema.files import load_description

    given = Description(None) if survey is None else load_description(survey)
    return replace(given, corrections=(*given.corrections, *parse_settings(settings)))


def _lines(summary: dict[str, Any], width: int) -> Iterator[str]:
    for line in _head(summary):
        yield from _wrapped(line, width, "")
    variables = summary["variables"]
    keys = _reason_keys(variables)
    doubtful = [v for v in variables if v["confidence"] == "doubtful"]
    if doubtful:
        yield ""
        yield f"Check these first ({_plural(len(doubtful), 'doubtful kind')}):"
        yield from _table(doubtful, keys, width)
    others = [v for v in variables if v["confidence"] != "doubtful"]
    if others:
        yield ""
        yield from _table(others, keys, width)
    if keys:
        yield ""
        yield from _reasons(keys, variables, width)
    corrected = [v for v in variables if v["guessed"]]
    if corrected:
        yield ""
        yield from _corrected(corrected, width)
    if summary["blocks"]:
        yield ""
        yield from _blocks(summary["blocks"], width)
    yield ""
    yield from _flags(summary["flags"], width)


def _blocks(blocks: list[dict[str, Any]], width: int) -> Iterator[str]:
    """List questions that are asked together."""
    yield "Asked together:"
    for block in blocks[:_FLAGS_SHOWN]:
        names = block["names"]
        span = f"{names[0]} to {names[-1]} ({len(names)} questions)"
        text = "" if names[0].startswith(block["text"]) else f": {one_line(block['text'], 60)}"
        yield from _wrapped(f"{block['kind']} {span}{text}", width)
    if len(blocks) > _FLAGS_SHOWN:
        yield f"  ... and {len(blocks) - _FLAGS_SHOWN} more; --json lists them all"


def _head(summary: dict[str, Any]) -> Iterator[str]:
    cells = summary["cells"]
    total = max(1, sum(cells.values()))
    name = summary["source"] or "table"
    yield f"{name}: {summary['rows']:,} rows, {summary['columns']:,} columns"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(summary["kinds"].items()))
    yield f"Questions: {kinds}"
    sure = Counter(v["confidence"] for v in summary["variables"] if v["confidence"])
    if sure:
        counts = [f"{sure[word]} {word}" for word in ("doubtful", "likely", "certain")]
        yield f"Kinds guessed: {', '.join(counts)}"
    others = {role: n for role, n in summary["roles"].items() if role != "question"}
    if others:
        yield "Others: " + ", ".join(f"{n} {role}" for role, n in others.items())
    if summary["edits"]:
        approved = sum(edit["approved"] for edit in summary["edits"])
        yield f"Edits: {approved} approved, {len(summary['edits']) - approved} proposed"
    if summary["derived"]:
        yield "Derived: " + ", ".join(one["name"] for one in summary["derived"])
    yield "Cells: " + ", ".join(
        f"{count:,} {state} ({count / total:.1%})" for state, count in cells.items()
    )


def _bare(reason: str) -> str:
    """Remove the examples and everything after a semicolon."""
    return re.sub(r" \(.*?\)", "", reason).split(";")[0].strip()


def _generic(reason: str) -> str:
    """Return a form that is equal for reasons that differ only in numbers and examples."""
    return _NUMBER.sub("#", _bare(reason))


def _with_ranges(reasons: list[str]) -> str:
    """Merge reasons that differ only in numbers into one, with the range of each number."""
    bare = [_bare(reason) for reason in reasons]
    ranges = []
    found = ([int(one.replace(",", "")) for one in _NUMBER.findall(text)] for text in bare)
    for numbers in zip(*found, strict=True):
        low, high = min(numbers), max(numbers)
        ranges.append(f"{low:,}" if low == high else f"{low:,} to {high:,}")
    return _NUMBER.sub(lambda _: ranges.pop(0), bare[0])


def _reason_keys(variables: list[dict[str, Any]]) -> dict[str, str]:
    """Assign a letter to each kind of reason, to show in the table: a, b, ..., z, aa, ..."""
    reasons = dict.fromkeys(_generic(v["reason"]) for v in variables if v["is_guess"])
    letters = string.ascii_lowercase
    names = [*letters, *("".join(pair) for pair in product(letters, repeat=2))]
    return dict(zip(reasons, names, strict=False))


def _table(variables: list[dict[str, Any]], keys: dict[str, str], width: int) -> Iterator[str]:
    name_width = _name_width([variable["name"] for variable in variables], width)
    label_width = max(0, width - name_width - 55)
    heading = ("variable", "kind", "levels", "answered", "missing", "skipped", "")
    yield _row(heading, name_width)
    for variable in variables:
        key = keys.get(_generic(variable["reason"]), "") if variable["is_guess"] else ""
        mark = _MARKS.get(variable["confidence"], "")
        label = without_name(variable["label"], variable["name"])
        counts = [f"{variable[state]:,}" if state in variable else "" for state in heading[3:6]]
        cells = (
            short_name(variable["name"], name_width),
            variable["kind"] or variable["role"],
            str(len(variable["levels"]) or ""),
            *counts,
            f"{key + mark:<5}{one_line(label, label_width)}",
        )
        yield _row(cells, name_width)


def _name_width(names: list[str], width: int) -> int:
    """Return how many characters of the names to show: enough to distinguish them, if they fit.

    Examples
    --------
    >>> _name_width(["age", "a_long_name_of_a_question"], 80)
    18
    >>> _name_width(["trust_in_institutions_1", "trust_in_institutions_2"], 80)
    18
    """
    shown = max(len("variable"), min(_NAME_WIDTH, max(map(len, names))))
    while len({short_name(name, shown) for name in names}) < len(set(names)) and shown < width - 55:
        shown += 1
    return shown


def _row(cells: tuple[str, ...], name_width: int) -> str:
    name, kind, levels, answered, missing, skipped, rest = cells
    start = f"{name:<{name_width}}  {kind:<10} {levels:>6} "
    return f"{start} {answered:>9} {missing:>8} {skipped:>8}  {rest}".rstrip()


def _reasons(keys: dict[str, str], variables: list[dict[str, Any]], width: int) -> Iterator[str]:
    yield from _wrapped("Guesses (the letter in the table; ? likely, ?? doubtful):", width, "")
    for reason, key in keys.items():
        guesses = [v["reason"] for v in variables if v["is_guess"]]
        same = [guess for guess in guesses if _generic(guess) == reason]
        text = _with_ranges(same).removeprefix("guess: ")
        yield from _wrapped(f"{key:<2} {text} ({len(same)})", width)


def _corrected(variables: list[dict[str, Any]], width: int) -> Iterator[str]:
    """List the corrections, with the original guesses."""
    yield "Set by you, with the original guess:"
    groups: dict[tuple[str, str], list[str]] = {}
    for variable in variables:
        groups.setdefault((variable["reason"], variable["guessed"]), []).append(variable["name"])
    for (reason, guessed), names in groups.items():
        more = len(names) - _FLAGS_SHOWN
        shown = ", ".join(names[:_FLAGS_SHOWN]) + (f" and {more} more" if more > 0 else "")
        yield from _wrapped(f"{shown}: {reason}; guessed {guessed}", width)


def _flags(flags: list[dict[str, Any]], width: int) -> Iterator[str]:
    if not flags:
        yield "No warnings."
        return
    yield "Check these:"
    groups: dict[str, list[dict[str, Any]]] = {}
    for flag in flags:
        groups.setdefault(flag["flag"], []).append(flag)
    for name, group in groups.items():
        named = [flag for flag in group if flag["variable"]]
        yield f"* {name}" + (f" ({_plural(len(named), 'variable')})" if named else "")
        shown = len(group) if group[0]["kind"] in _SHOWN_IN_FULL else _FLAGS_SHOWN
        for flag in group[:shown]:
            start = f"{flag['variable']}: " if flag["variable"] else ""
            yield from _wrapped(f"  {start}{flag['detail']}", width, "  ")
        if len(group) > shown:
            yield f"    ... and {len(group) - shown} more; --json lists them all"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("s" if count != 1 else "")


def _wrapped(text: str, width: int, indent: str = "  ") -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + "   ", break_on_hyphens=False
    )
