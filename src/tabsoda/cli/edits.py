"""``tabsoda edits``: propose edits that the answers of a survey show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, show
from tabsoda.cli.outputs import check_description, write_together
from tabsoda.cli.rule_text import paragraph
from tabsoda.cli.shared_options import CodebookFile, DataFile, DescriptionFile, Unlisted

if TYPE_CHECKING:
    from tabsoda.edits.proposals import Proposal

_SHOWN = 40


def edits(
    data: DataFile,
    /,
    *,
    survey: DescriptionFile = None,
    codebook: CodebookFile = None,
    unlisted: Unlisted = "error",
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    accept_all: Annotated[bool, Parameter(negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Propose edits that the answers show: orders, sums, bounds and exclusions.

    With -o, the whole description is written with the proposals as `[[edit]]` entries that are not
    approved. Read them, remove the wrong ones, and write `approved = true` for the right ones: only
    approved edits are applied.

    Parameters
    ----------
    output_file
        The description to write, such as edited.toml.
    accept_all
        Write all proposals as approved, without anybody having read them.
    as_json
        Write the proposals as JSON.
    force
        Overwrite the output if it exists.
    """
    check_description(output_file, (data, survey, codebook), force=force)

    from tabsoda.edits.proposals import propose_edits
    from tabsoda.reading import read_survey
    from tabsoda.schema.files import save_schema

    source = read_survey(data, survey, codebook=codebook, unlisted=unlisted)
    proposals = propose_edits(source.schema, source.table)
    if output_file is not None:
        added = tuple(replace(one.edit, approved=accept_all) for one in proposals)
        whole = replace(source.schema, edits=(*source.schema.edits, *added))
        write_together({output_file: lambda path: save_schema(whole, path)})
    if as_json:
        emit_json({"source": source.source, "proposals": [one.to_dict() for one in proposals]})
        return
    show(_lines(proposals, output_file, output().width, accepted=accept_all))


def _lines(
    proposals: tuple[Proposal, ...], written: Path | None, width: int, *, accepted: bool
) -> Iterator[str]:
    if not proposals:
        yield "The answers show no edits beyond those of the description."
    else:
        yield f"{len(proposals):,} edits that the answers show:"
    for one in proposals[:_SHOWN]:
        yield paragraph(one.sentence, width, "  ", "      ")
    if len(proposals) > _SHOWN:
        yield f"  and {len(proposals) - _SHOWN} more; --json lists all"
    if written is not None:
        step = "All are approved." if accepted else "Write approved = true for those that hold."
        yield ""
        yield paragraph(f"Written: {written}. {step}", width)
    elif proposals:
        yield ""
        yield paragraph("Add -o edited.toml to write them into the description.", width)
