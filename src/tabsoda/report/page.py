"""The page: one self-contained HTML file made only from the summary.

The template engine escapes every text of the survey, and the page's content security policy
allows no script but its own and no network request.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tabsoda.report import charts
from tabsoda.report.routing import routing_graph
from tabsoda.report.sensitivity import analysis_picture

# Limits that keep the page below 5 MB for any survey; the JSON contains the rest.
_CARD_CHARACTERS = 1_800_000
_MOST_LISTED, _MOST_FEW, _MOST_RULES, _MOST_DECISIONS = 2000, 400, 800, 100
_MOST_ANALYSES, _MOST_SHIFTS = 40, 60
_LONGEST_TEXT = 300
# Questions with fewer imputed cells share one table: a chart of three cells shows nothing.
FEW_CELLS = 10


def render_page(summary: dict[str, Any]) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    summary : dict
        From :func:`tabsoda.report.summary.summarise_result`.
    """
    environment = page_environment(summary["suppressed_below"])
    template = environment.get_template("report.html")
    style, script = page_asset("report.css"), page_asset("report.js")
    imputed = [one for one in summary["variables"] if _is_imputed(one)]
    few = [one for one in imputed if one["imputed"] is not None and one["imputed"] < FEW_CELLS]
    cards, left_out = _cards(environment, [one for one in imputed if one not in few])
    return template.render(
        report=summary,
        style=Markup(style),
        script=Markup(script),
        policy=page_policy(style, script),
        sections=_sections(summary),
        cards=cards,
        cards_left_out=left_out,
        few=few[:_MOST_FEW],
        few_left_out=max(len(few) - _MOST_FEW, 0),
        few_cells=FEW_CELLS,
        listed=summary["variables"][:_MOST_LISTED],
        rules=(summary["routing"] or {"rules": []})["rules"][:_MOST_RULES],
        decisions=summary["events"][:_MOST_DECISIONS],
        graph=_graph(summary["routing"]),
        change_curve=_change_curve(summary["convergence"]),
        loss_curve=_loss_curve(summary["convergence"]),
        reliability=_reliability(summary["calibration"]),
        most_shifts=_MOST_SHIFTS,
        analyses=[
            (one, analysis_picture(one)) for one in (summary["sensitivity"] or [])[:_MOST_ANALYSES]
        ],
    )


def _sections(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the anchor and heading of every section with content."""
    routing = summary["routing"]
    known = [
        ("summary", "Summary", True),
        ("map", "Answered, missing, skipped", True),
        ("routing", "Routing", routing is not None and routing["groups"]),
        ("rules", "Rules", routing is not None and routing["rules"]),
        ("conflicts", "Gate conflicts", summary["conflicts"]),
        ("questions", "Every question", True),
        ("variables", "Observed and imputed", any(map(_is_imputed, summary["variables"]))),
        ("convergence", "Convergence", _has_rounds(summary["convergence"])),
        ("calibration", "Calibration", summary["calibration"]),
        ("sensitivity", "Sensitivity", summary["sensitivity"]),
        ("decisions", "Decisions", summary["events"]),
        ("methods", "Methods", True),
    ]
    return [(anchor, heading) for anchor, heading, shown in known if shown]


def _cards(environment: Environment, variables: list[dict[str, Any]]) -> tuple[list[Markup], int]:
    """Render questions one by one until the page is full; return how many did not fit."""
    template = environment.get_template("variable.html")
    cards: list[Markup] = []
    room = _CARD_CHARACTERS
    for number, variable in enumerate(variables):
        card = template.render(variable=variable, anchor=f"v{number}")
        room -= len(card.encode())
        if room < 0:
            break
        cards.append(Markup(card))
    return cards, len(variables) - len(cards)


def _is_imputed(variable: dict[str, Any]) -> bool:
    """Return whether a question has imputed cells; a withheld count is a small one."""
    return bool(variable["imputed"] != 0)


def _has_rounds(convergence: dict[str, Any] | None) -> bool:
    """Return whether a fit had several rounds; a single round cannot converge."""
    return convergence is not None and len(convergence["rounds"]) > 1


def _typical(variable: dict[str, Any]) -> list[str]:
    """Return the most frequent answer, or the mean, among observed and among imputed answers."""
    numbers = variable.get("numbers")
    if numbers is not None:
        sides = (numbers["observed"], numbers["imputed"])
        return [f"mean {_figure(one['mean'])}" if one else "–" for one in sides]
    return [_most_frequent(variable, side) for side in ("observed", "imputed")]


def _most_frequent(variable: dict[str, Any], side: str) -> str:
    rows = [row for row in variable["shares"] if row[side]]
    if not rows:
        return "–"
    best = max(rows, key=lambda row: row[side])
    name = " ".join(part for part in (best["level"], best["label"]) if part)
    return f"{_cut(name, 40)} ({_percent(best[side])})"


def _graph(routing: dict[str, Any] | None) -> Markup | None:
    return routing_graph(routing["groups"]) if routing and routing["groups"] else None


def _change_curve(convergence: dict[str, Any] | None) -> Markup | None:
    rounds = (convergence or {"rounds": []})["rounds"]
    changes = [one["change"] for one in rounds if one["change"] is not None]
    if not changes:
        return None
    return charts.lines(changes, "How far imputations moved, by round", "round", dots=True)


def _loss_curve(convergence: dict[str, Any] | None) -> Markup | None:
    if not convergence or not convergence["losses"]:
        return None
    every = convergence["thinned"]
    across = "epoch" if every == 1 else f"every {every}th epoch"
    losses = [loss for loss in convergence["losses"] if loss is not None]
    return charts.lines(losses, "Training loss", across, starts=convergence["starts"], zero=False)


def _reliability(calibration: dict[str, Any] | None) -> Markup | None:
    if not calibration or not calibration["bins"]:
        return None
    return charts.reliability_curve(calibration["bins"])


def page_policy(style: str, script: str) -> str:
    """Return the content security policy: own style and script, embedded images, no network."""
    hashes = [
        base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def page_environment(suppressed_below: int = 0) -> Environment:
    """Return the template environment with our filters; it escapes all input."""
    environment = Environment(
        loader=PackageLoader("tabsoda.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "count": lambda count: f"<{suppressed_below}" if count is None else f"{count:,}",
        "percent": _percent,
        "amount": lambda value: _amount(value, suppressed_below),
        "cut": _cut,
        "figure": _figure,
        "typical": _typical,
    }
    environment.filters |= filters
    environment.globals |= {
        "share_bars": charts.share_bars,
        "state_bar": _state_bar,
        "densities": charts.densities,
    }
    return environment


def page_asset(name: str) -> str:
    """Return a file of the package, such as the style sheet."""
    return (files("tabsoda.report") / "templates" / name).read_text(encoding="utf-8")


def _state_bar(states: dict[str, int | None]) -> Markup:
    counts = [states[name] or 0 for name in ("answered", "missing", "skipped")]
    total = sum(counts) or 1
    return charts.state_bar(*(count / total for count in counts))


def _percent(share: float | None) -> str:
    """Format a share as a percentage; small ones keep a digit, withheld ones are a dash."""
    if share is None:
        return "–"
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def _amount(value: float | None, suppressed_below: int) -> str:
    """Format a count or an average of counts."""
    if value is None:
        return f"<{suppressed_below}"
    return f"{value:,.1f}".removesuffix(".0")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}"


def _cut(text: Any, longest: int = _LONGEST_TEXT) -> str:
    """Return a text as one line without control characters, cut to a length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
