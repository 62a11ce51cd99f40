"""``tabsoda demo``: the whole workflow on the embedded survey, step by step."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda._internal.files import atomic_path, make_folder, write_text
from tabsoda.cli.console import emit_json, output, progress
from tabsoda.cli.rule_text import columns, paragraph
from tabsoda.cli.shared_options import WHOLE
from tabsoda.errors import InputError, OutputExistsError

if TYPE_CHECKING:
    from tabsoda.datasets import SyntheticSurvey
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.survey import Survey

# The summary is also a text file, so its width does not depend on the terminal.
_WIDTH = 80
_SENTENCES_SHOWN = 8


@dataclass
class Demo:
    """The state that the steps share.

    Attributes
    ----------
    folder : Path
        Where everything is written.
    truth : SyntheticSurvey
        The survey as generated, with its true answers and rules.
    read : Survey
        The survey as read from its file.
    survey : Survey
        The same survey with the mined skips.
    rules : RuleSet
        The routing as mined.
    sections : list of Section
        The findings of the steps.
    """

    folder: Path
    truth: SyntheticSurvey
    read: Survey
    survey: Survey
    rules: RuleSet
    sections: list[Section] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """One step's findings: a title, lines of text, and the same facts as plain values."""

    title: str
    lines: tuple[str, ...]
    facts: dict[str, Any]


def demo(
    *,
    output_folder: Annotated[Path, Parameter(name=["--output", "-o"])],
    rows: Annotated[int, WHOLE, Parameter(validator=Number(gte=50))] = 1500,
    seed: Annotated[int, WHOLE] = 0,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Run the whole workflow on an embedded survey whose true answers are known.

    Parameters
    ----------
    output_folder
        Folder to write to.
    rows
        Number of respondents in the embedded survey.
    seed
        Seed of the survey; another seed gives another survey.
    as_json
        Write the result as JSON.
    force
        Overwrite the files of an earlier run in the folder.
    """
    _prepare(output_folder, force=force)
    run = _start(output_folder, rows, seed)
    for step in _STEPS:
        run.sections.append(step(run))
    text = "\n".join(_summary(run)) + "\n"
    write_text(output_folder / "summary.txt", text)
    if as_json:
        emit_json({section.title: section.facts for section in run.sections})
    else:
        output().print(text, end="", markup=False, no_wrap=True, overflow="ignore", crop=False)


def _prepare(folder: Path, *, force: bool) -> None:
    """Create the folder, or raise before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"The output '{folder}' is a file", expected="a folder")
    if folder.exists() and any(folder.iterdir()) and not force:
        raise OutputExistsError(
            f"The folder '{folder}' is not empty",
            next_step="Choose another folder, or add --force to write into it",
        )
    make_folder(folder)


def _start(folder: Path, rows: int, seed: int) -> Demo:
    """Write the survey as a user would receive it, and read it back."""
    from tabsoda.datasets import make_survey
    from tabsoda.reading import read_survey
    from tabsoda.schema import Reason
    from tabsoda.skips.rule_set import RuleSet

    truth = make_survey(rows, seed=seed, spelled_out=(Reason.REFUSED, Reason.DONT_KNOW))
    data, _, description, _ = truth.write(folder, ("csv", "sav"))
    survey = read_survey(data, description)
    return Demo(folder, truth, survey, survey, RuleSet((), ()))


def inspect_step(run: Demo) -> Section:
    """Describe the content of the file."""
    from tabsoda.schema import ColumnKind

    table, schema = run.survey.table, run.survey.schema
    kinds = {kind.value: len(schema.of_kind(kind)) for kind in ColumnKind}
    answered, declined = int(table.states.answered.sum()), _n_declined(run.survey)
    blank = table.values.size - answered - declined
    lines = (
        f"{table.shape[0]:,} respondents were asked {table.shape[1]} questions about health and"
        f" habits: {kinds['ordinal']} ordinal, {kinds['nominal']} nominal and"
        f" {kinds['continuous']} numeric. The survey is synthetic, so the true answers are known.",
        *_counts(
            ("cells", table.values.size),
            ("answered", answered),
            ("refused or don't know", declined),
            ("blank, for reasons not in the file", blank),
        ),
    )
    facts = {"rows": table.shape[0], **kinds, "answered": answered, "declined": declined}
    return Section("What is in the file", lines, facts | {"blank": blank})


def mine_step(run: Demo) -> Section:
    """Find the routing rules from the blanks alone."""
    import polars as pl

    from tabsoda.skips.mining import mine_survey

    table = run.survey.table
    with progress("Mining") as update:
        result = mine_survey(run.survey, progress=update)
    run.rules, mined = result.rules, result.mined
    run.survey = run.survey.with_states(mined.states)
    run.rules.to_toml(run.folder / "rules.toml")
    skipped = mined.states.skipped
    with atomic_path(run.folder / "mined_skip.parquet") as temporary:
        pl.DataFrame(skipped, schema=list(table.names)).write_parquet(temporary)
    sentences = run.rules.sentences()
    missing = int(mined.states.missing.sum())
    lines = (
        f"{len(run.rules)} routing rules were found; they skip {len(run.rules.targets)} questions."
        " Some of them:",
        *(f"  {sentence}" for sentence in _spread(sentences, _SENTENCES_SHOWN)),
        "With these rules, every cell has one of three states:",
        *_counts(
            ("answered", int(mined.states.answered.sum())),
            ("skipped: the question did not apply", int(skipped.sum())),
            ("missing: to be imputed", missing),
        ),
    )
    facts = {"rules": len(run.rules), "skipped": int(skipped.sum()), "missing": missing}
    return Section("The routing, found from the blanks", lines, facts)


def check_step(run: Demo) -> Section:
    """Check the data against the rules."""
    from tabsoda.skips.checking import check

    result = check(run.survey.table, run.rules)
    broken = result.violations
    lines = [
        f"{result.n_answered_although_skipped} answers were given to questions that a rule skips;"
        f" {len(broken)} rules are affected. These answers are kept."
    ]
    if broken:
        first, rows = broken[0], ", ".join(str(row) for row in broken[0].example_rows[:5])
        lines.append(
            f"  Most often: {first.sentence}, but {first.answered} answered (rows {rows})."
        )
    open_columns = [f"{c.column} {c.unexplained:,}" for c in result.unexplained[:5]]
    lines.append(
        f"Questions with the most blanks that no rule explains: {', '.join(open_columns)}."
    )
    return Section("The data against the rules", tuple(lines), dict(result.totals))


def compare_step(run: Demo) -> Section:
    """Compare the mined skips with the true ones, which only a synthetic survey has."""
    from tabsoda.bench.metrics.skip_metrics import skip_metrics

    blank = ~run.truth.table.states.answered
    planted = run.truth.true_table.states.skipped
    found = skip_metrics(run.survey.states.skipped, planted, blank)["blanks"]
    # The true rules also need the answers to the gates: where a gate is blank, they cannot fire.
    best = skip_metrics(run.truth.rules.apply(run.truth.table).skipped, planted, blank)["blanks"]
    lines = (
        f"Of all cells marked as skipped, {_percent(found['precision'])} are true skips"
        " (precision).",
        f"Of all true skips, {_percent(found['recall'])} were found (recall); the true rules find"
        f" {_percent(best['recall'])}, because some gates are blank.",
    )
    return Section("The rules against the truth", lines, {"mined": found, "true_rules": best})


def impute_step(run: Demo) -> Section:
    """Impute the missing answers, and compare them with the true ones."""
    from tabsoda.cli.demo_imputation import impute_survey, score_lines, scores_against_truth

    result = impute_survey(run.read, run.rules, run.folder / "imputed")
    scores = scores_against_truth(result, run.truth)
    states = run.survey.states
    filled = ~np.isnan(result.point_values())
    imputed, touched = int((filled & states.missing).sum()), int((filled & states.skipped).sum())
    lines = (
        f"{imputed:,} missing answers were imputed, once as a best guess and {len(result)} times as"
        f" plausible draws. Of {int(states.skipped.sum()):,} skipped cells, {touched} were filled.",
        "Some missing questions depend on an answer that is also missing. That answer was imputed"
        f" first; {scores['left_empty']:,} cells were then skipped,"
        f" {scores['left_empty_rightly']:,} of them correctly. Of the imputed cells,"
        f" {scores['skipped_in_truth']:,} are true skips.",
        f"Best guesses compared with {scores['scored']:,} true answers; mode/mean fills in the most"
        " frequent answer or the mean:",
        *score_lines(scores),
        "No model can predict every answer: respondents with the same other answers still differ."
        " The draws carry this uncertainty into an analysis; the best guesses do not.",
    )
    facts = {"n_imputed": imputed, "touched_skips": touched, **scores}
    return Section("The missing answers, imputed", lines, facts)


_STEPS: tuple[Callable[[Demo], Section], ...] = (
    inspect_step,
    mine_step,
    check_step,
    compare_step,
    impute_step,
)


def _summary(run: Demo) -> Iterable[str]:
    for number, section in enumerate(run.sections, start=1):
        yield f"{number}. {section.title}"
        for line in section.lines:
            yield _wrapped(line)
        yield ""
    yield f"In {run.folder}:"
    yield from columns(
        [
            ["   imputed/report.html", "the report; open it first, in a browser"],
            ["   survey.csv", "the survey, with survey.toml; survey.sav for SPSS"],
            ["   rules.toml", "the rules with their evidence, to approve or reject"],
            ["   mined_skip.parquet", "the skips found; skip.parquet holds the true ones"],
            ["   imputed/point.parquet", "the survey with best guesses filled in"],
            ["   imputed/imputations", "the survey with draws filled in, five times"],
            ["   imputed/manifest.json", "seed, versions, hashes, counts, decisions"],
            ["   summary.txt", "this text"],
        ],
        left=2,
    )
    yield ""
    yield "To do the same on a page in the browser, run in that folder:"
    yield f"   {_program()} desk survey.sav"


def _program() -> str:
    """Return the name of this program, or its path if a shell would not find it."""
    path = Path(sys.argv[0])
    if shutil.which("tabsoda") is not None or path.name != "tabsoda" or not path.is_file():
        return "tabsoda"
    return shlex.quote(str(path.absolute()))


def _wrapped(line: str) -> str:
    """Indent a line, and wrap it if it is too long; short lines keep their layout."""
    if len(line) + 3 <= _WIDTH:
        return f"   {line}"
    is_item = line.startswith(" ")
    return paragraph(line, _WIDTH, "     " if is_item else "   ", "  " if is_item else "")


def _counts(*rows: tuple[str, int]) -> tuple[str, ...]:
    return tuple(f"  {row}" for row in columns([[name, f"{n:,}"] for name, n in rows]))


def _spread(items: tuple[str, ...], n_shown: int) -> tuple[str, ...]:
    """Choose a few evenly spaced items."""
    stride = max(1, len(items) // n_shown)
    return items[::stride][:n_shown]


def _percent(share: float | int | None) -> str:
    return "-" if share is None else f"{share:.2%}"


def _n_declined(survey: Survey) -> int:
    from tabsoda.skips.forward import was_asked

    return int((was_asked(survey.states) & ~survey.states.answered).sum())
