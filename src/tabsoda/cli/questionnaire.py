"""``tabsoda questionnaire``: description and routing rules from the form itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tabsoda.cli.console import emit_json, output, show
from tabsoda.cli.outputs import check_outputs, write_together
from tabsoda.cli.rule_text import paragraph
from tabsoda.cli.shared_options import AsJson, Unlisted
from tabsoda.event_texts import to_dicts_with_text

if TYPE_CHECKING:
    from tabsoda.questionnaire import SurveyWithForm
    from tabsoda.questionnaire.form import Untranslated
    from tabsoda.skips.checking import CheckResult

_SHOWN = 20
_NAMED = 6


def questionnaire(
    form: Path,
    data: Path,
    /,
    *,
    survey: Path | None = None,
    unlisted: Unlisted = "error",
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    rules: Path | None = None,
    as_json: AsJson = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Read a survey's description and routing rules from its questionnaire form.

    The rules are those of the form: they need no mining and no review. Constraints become bounds
    and edits of the description. Conditions that cannot be translated are listed, never guessed.

    Parameters
    ----------
    form
        An XLSForm workbook (ODK, KoboToolbox, SurveyCTO), a Qualtrics survey (.qsf) or a DDI
        codebook (.xml).
    data
        The answers that were collected with it: CSV, Excel, SPSS, Stata, SAS or Parquet.
    survey
        A description that has priority over the form: survey.toml or schema.json.
    output_file
        The description to write, such as survey.toml.
    rules
        The rules file to write, such as rules.toml.
    force
        Overwrite outputs that exist.
    """
    outputs = [path for path in (output_file, rules) if path is not None]
    inputs = [path for path in (form, data, survey) if path is not None]
    check_outputs(outputs, inputs, force=force)

    from tabsoda.questionnaire import read_survey_with_form
    from tabsoda.schema.files import description_form, save_schema
    from tabsoda.skips.checking import check

    if output_file is not None:
        description_form(output_file)
    found = read_survey_with_form(data, form, survey, unlisted=unlisted)
    checked = check(found.survey.table, found.rules)
    writers: dict[Path, Any] = {}
    if output_file is not None:
        writers[output_file] = lambda path: save_schema(found.survey.schema, path)
    if rules is not None:
        writers[rules] = found.rules.to_toml
    write_together(writers)
    if as_json:
        emit_json(_summary(found, checked))
        return
    show(_lines(found, checked, outputs, output().width))


def _summary(found: SurveyWithForm, checked: CheckResult) -> dict[str, Any]:
    return {
        "form": found.form.source,
        "kind": found.form.kind,
        "questions": len(found.form.questions),
        "not_in_data": list(found.absent),
        "rules": found.rules.table(),
        "bounds": _n_bounds(found),
        "edits": [edit.rule for edit in found.survey.schema.edits],
        "untranslated": [vars(one) for one in found.untranslated],
        "check": checked.to_dict(),
        "events": to_dicts_with_text(found.survey.events),
    }


def _lines(
    found: SurveyWithForm, checked: CheckResult, written: list[Path], width: int
) -> Iterator[str]:
    n_questions, n_absent = len(found.form.questions), len(found.absent)
    yield paragraph(
        f"{found.form.source} ({found.form.kind}): {n_questions:,} questions,"
        f" {n_questions - n_absent:,} of them in {found.survey.source or 'the data'}."
        f" Rules: {len(found.rules):,}. Bounds: {_n_bounds(found):,}."
        f" Edits: {len(found.survey.schema.edits):,}.",
        width,
    )
    yield ""
    for sentence in found.rules.sentences()[:_SHOWN]:
        yield paragraph(sentence, width, "  ", "      ")
    if len(found.rules) > _SHOWN:
        yield f"  and {len(found.rules) - _SHOWN:,} more rules; --json lists all"
    yield from _untranslated(found, width)
    if found.absent:
        names = ", ".join(found.absent[:_SHOWN])
        more = f" and {n_absent - _SHOWN:,} more" if n_absent > _SHOWN else ""
        yield ""
        yield paragraph(f"Not in the data ({n_absent:,}): {names}{more}", width, "", "  ")
    yield ""
    totals = checked.totals
    yield paragraph(
        f"The data against these rules: {totals['skipped']:,} skips;"
        f" {totals['answered_although_skipped']:,} answers to questions that were not to be shown;"
        f" {totals['unexplained']:,} blanks that no rule explains. tabsoda check lists them.",
        width,
    )
    for path in written:
        yield f"Written: {path}"


def _n_bounds(found: SurveyWithForm) -> int:
    bounds = [(column.minimum, column.maximum) for column in found.survey.schema]
    return sum(bound is not None for both in bounds for bound in both)


def _untranslated(found: SurveyWithForm, width: int) -> Iterator[str]:
    """List what was not translated, questions with the same reason together."""
    if not found.untranslated:
        return
    groups: dict[tuple[str, str], list[Untranslated]] = {}
    for one in found.untranslated:
        groups.setdefault((one.part, one.why), []).append(one)
    yield ""
    yield f"Not translated ({len(found.untranslated):,}):"
    for (part, why), group in list(groups.items())[:_SHOWN]:
        names = ", ".join(dict.fromkeys(one.question for one in group[:_NAMED]))
        more = f" and {len(group) - _NAMED:,} more" if len(group) > _NAMED else ""
        text = f": {group[0].text}" if len(group) == 1 else ""
        yield paragraph(f"{names}{more}, {part}{text}", width, "  ", "      ")
        yield paragraph(why, width, " " * 6)
    if len(groups) > _SHOWN:
        yield f"  and {len(groups) - _SHOWN:,} more reasons; --json lists all"
