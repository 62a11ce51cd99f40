"""``tabsoda report``: a page to read before using imputations, and to publish with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, output, progress, show
from tabsoda.cli.outputs import check_outputs
from tabsoda.cli.rule_text import paragraph
from tabsoda.cli.shared_options import WHOLE


def report(
    result_folder: Annotated[Path, Parameter(name="OUT")],
    /,
    *,
    strata: Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=True)] = (),
    suppress_below: Annotated[int, WHOLE, Parameter(validator=Number(gte=0))] = 0,
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Report on imputations: warnings, routing, observed against imputed, calibration, methods.

    Writes one self-contained web page and a JSON file with the same content next to it. Without
    -o it replaces the report that tabsoda impute wrote to its folder.

    Parameters
    ----------
    result_folder
        The output folder of tabsoda impute.
    strata
        Columns: also compare observed and imputed answers within their groups.
    suppress_below
        Withhold counts below this number, for a report to be published; 0 withholds none.
    output_file
        The page to write, such as report.html. [default: OUT/report.html]
    as_json
        Write the summary as JSON.
    force
        Overwrite the file named by -o.
    """
    from tabsoda.analysis.saved_sensitivity import load_analyses
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.report.report import PAGE, SUMMARY, check_page, write_report
    from tabsoda.results.result_folder import load_manifest, load_result

    page = check_page(output_file or result_folder / PAGE) if result_folder.is_dir() else None
    if output_file is not None and page is not None:
        # The JSON is named after the page and must not overwrite a part of the result.
        parts_of_result = [p for p in result_folder.iterdir() if p.name not in (PAGE, SUMMARY)]
        check_outputs([page, page.with_suffix(".json")], parts_of_result, force=force)
    with progress("Reading") as update:
        update(0, 1, "")
        manifest, result = load_manifest(result_folder), load_result(result_folder)
        # A result that was loaded and saved again has no model.
        model = result_folder / "model"
        imputer = TabSODAImputer.load(model) if model.is_dir() else None
        analyses = load_analyses(result_folder)
    page = page or result_folder / PAGE
    with progress("Reporting") as update:
        summary = write_report(
            result,
            page,
            manifest=manifest,
            imputer=imputer,
            strata=strata,
            suppress_below=suppress_below,
            sensitivity=analyses,
            progress=update,
        )
    if as_json:
        emit_json(summary)
        return
    show(_text(summary, page, output().width))


def _text(summary: dict[str, Any], page: Path, width: int) -> Iterator[str]:
    flags = summary["flags"]
    if flags:
        yield f"Check before using the imputations ({len(flags)}):"
        yield from (paragraph(flag["text"], width, "  ") for flag in flags)
    else:
        yield paragraph("No warnings. That does not prove that the imputations are right.", width)
    yield ""
    yield f"Report: {page}"
    yield f"        {page.with_suffix('.json')}"
