"""``tabsoda review``: approve, reject or edit routing rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from tabsoda.cli.console import emit_json, output
from tabsoda.cli.rule_text import paragraph
from tabsoda.cli.shared_options import WHOLE
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.skips.rule_set import RuleSet


def review(
    rules: Path,
    data: Path | None = None,
    /,
    *,
    survey: Path | None = None,
    codebook: Path | None = None,
    unlisted: Literal["error", "missing"] = "error",
    by: str | None = None,
    accept_all: Annotated[bool, Parameter(negative="")] = False,
    min_precision: Annotated[float | None, Parameter(validator=Number(gte=0, lte=1))] = None,
    suppress_below: Annotated[int, WHOLE, Parameter(validator=Number(gte=0))] = 0,
    port: Annotated[int, WHOLE, Parameter(validator=Number(gte=0, lte=65535))] = 0,
    no_browser: Annotated[bool, Parameter(negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Compare every routing rule with the data, and approve, reject or edit it.

    Opens a page in the browser that only this machine can reach. Every decision is saved in the
    rules file at once, with who, when and why. Edits of the description (survey.toml) are listed
    next to the rules; approving one changes its line in that file. Press Ctrl-C to end.

    With --accept-all or --min-precision no page is opened and no data are needed. If data are
    given, --min-precision evaluates every rule on them.

    Parameters
    ----------
    rules
        The rules file, as tabsoda mine -o writes it.
    data
        The survey: CSV, Excel, Parquet, SPSS, Stata or SAS.
    survey
        The survey's description: survey.toml or schema.json. Guessed if not given.
    codebook
        A DDI codebook (XML) that fills in labels.
    unlisted
        How to treat values that the description does not list: as an error, or as missing answers.
    by
        Name of the reviewer. [default: your login name]
    accept_all
        Approve every rule that nobody has reviewed.
    min_precision
        Approve the unreviewed rules with at least this precision, such as .99, by the lower Wilson
        bound in the rules file, or in the data if they are given.
    suppress_below
        Hide counts below this number on the page. The rules file still contains the miner's counts.
    port
        Port to serve the page on; 0 takes any free port.
    no_browser
        Print the address only.
    as_json
        Write the result as JSON.
    """
    from tabsoda.reading import read_survey
    from tabsoda.review.reviewer import login_name, save_rules
    from tabsoda.skips.review_policy import approve_unread
    from tabsoda.skips.rule_set import RuleSet

    who = by if by is not None else login_name()
    if accept_all or min_precision is not None:
        if accept_all and min_precision is not None:
            raise InputError(
                "The options --accept-all and --min-precision contradict each other",
                next_step="Leave out one of them",
            )
        before = RuleSet.from_toml(rules)
        table = None
        if data is not None:
            table = read_survey(data, survey, codebook=codebook, unlisted=unlisted).table
        after, approved = approve_unread(before, by=who, min_precision=min_precision, table=table)
        if approved:
            save_rules(after, rules)
    else:
        if data is None:
            raise InputError(
                "No data to compare the rules with",
                next_step=f"Name the survey: tabsoda review {rules} DATA; or approve without"
                " looking, with --accept-all or --min-precision",
            )
        before = RuleSet.from_toml(rules)
        _serve(rules, data, survey, codebook, unlisted, who, suppress_below, port, no_browser)
        after = RuleSet.from_toml(rules)
        approved = [r.identifier for r in after if _status(after, r) != _status(before, r)]
    _show_counts(after, approved, rules, as_json=as_json)


def _serve(
    rules: Path,
    data: Path,
    survey: Path | None,
    codebook: Path | None,
    unlisted: Literal["error", "missing"],
    by: str,
    suppress_below: int,
    port: int,
    no_browser: bool,
) -> None:
    try:
        from tabsoda.review.server import ReviewServer
    except ModuleNotFoundError as error:
        raise InputError(
            "The review page needs packages that are not installed",
            found=f"no module '{error.name}'",
            next_step="Install them with: pip install 'tabsoda[review]'",
        ) from error
    from tabsoda.reading import read_survey
    from tabsoda.review.session import ReviewSession

    source = read_survey(data, survey, codebook=codebook, unlisted=unlisted)
    session = ReviewSession(rules, source, by, suppress_below, survey)
    console = output()

    def announce(address: str) -> None:
        done, total = session.progress
        console.print(f"{done} of {total} rules are reviewed. The page is at", markup=False)
        # Not wrapped: a broken address cannot be clicked or copied.
        console.print(address, markup=False, soft_wrap=True)
        console.print("Press Ctrl-C when you are done.", markup=False)

    ReviewServer(session, port).run(announce, browse=not no_browser)


def _show_counts(rules: RuleSet, changed: list[str], file: Path, *, as_json: bool) -> None:
    counts = {
        status: sum(rule.status.value == status for rule in rules)
        for status in ("approved", "rejected", "proposed")
    }
    if as_json:
        emit_json({"file": str(file), "rules": len(rules), **counts, "changed": changed})
        return
    console = output()
    text = (
        f"{file}: {counts['approved']:,} rules approved, {counts['rejected']:,} rejected,"
        f" {counts['proposed']:,} not reviewed; {len(changed):,} changed now."
    )
    console.print(paragraph(text, console.width), markup=False, no_wrap=True, crop=False)


def _status(rules: RuleSet, rule: Any) -> str:
    """Return the decision on a rule and its date; empty if the set does not contain the rule."""
    found = next((r for r in rules if r.identifier == rule.identifier), None)
    return "" if found is None else f"{found.status.value} {found.at}"
