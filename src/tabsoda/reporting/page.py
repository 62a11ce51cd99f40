"""The page: one self-contained HTML file from nothing but the summary.

Every text of the survey is escaped by the template engine, and the page forbids itself any
script but its own and any request at all.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tabsoda.reporting import charts
from tabsoda.reporting.routing import routing_graph

# What keeps the page below 5 MB whatever the survey: the JSON holds the rest.
_CARD_CHARACTERS = 1_800_000
_MOST_LISTED, _MOST_RULES, _MOST_DECISIONS = 2000, 800, 100
_LONGEST_TEXT = 300


def render_page(summary: dict[str, Any]) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    summary : dict
        As :func:`tabsoda.reporting.summary.summarise_result` makes it.
    """
    environment = page_environment(summary["suppressed_below"])
    template = environment.get_template("report.html")
    style, script = page_asset("report.css"), page_asset("report.js")
    cards, left_out = _cards(environment, summary)
    return template.render(
        report=summary,
        style=Markup(style),
        script=Markup(script),
        policy=page_policy(style, script),
        sections=_sections(summary),
        cards=cards,
        cards_left_out=left_out,
        listed=summary["variables"][:_MOST_LISTED],
        rules=(summary["routing"] or {"rules": []})["rules"][:_MOST_RULES],
        decisions=summary["events"][:_MOST_DECISIONS],
        graph=_graph(summary["routing"]),
        change_curve=_change_curve(summary["convergence"]),
        loss_curve=_loss_curve(summary["convergence"]),
        reliability=_reliability(summary["calibration"]),
    )


def _sections(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the sections that there is something to put into: anchor and heading."""
    routing = summary["routing"]
    known = [
        ("summary", "Summary", True),
        ("map", "Answered, missing, skipped", True),
        ("routing", "Routing", routing is not None and routing["groups"]),
        ("rules", "Rules", routing is not None and routing["rules"]),
        ("conflicts", "Gate conflicts", summary["conflicts"]),
        ("questions", "Every question", True),
        ("variables", "Observed and imputed", summary["counts"]["imputed"] != 0),
        ("convergence", "Convergence", summary["convergence"]),
        ("calibration", "Calibration", summary["calibration"]),
        ("decisions", "Decisions", summary["events"]),
        ("methods", "Methods", True),
    ]
    return [(anchor, heading) for anchor, heading, shown in known if shown]


def _cards(environment: Environment, summary: dict[str, Any]) -> tuple[list[Markup], int]:
    """Render the imputed questions one by one until the page is full enough."""
    template = environment.get_template("variable.html")
    imputed = [one for one in summary["variables"] if one["imputed"] != 0]
    cards: list[Markup] = []
    room = _CARD_CHARACTERS
    for number, variable in enumerate(imputed):
        card = template.render(variable=variable, anchor=f"v{number}")
        room -= len(card.encode())
        if room < 0:
            break
        cards.append(Markup(card))
    return cards, len(imputed) - len(cards)


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
    """Return the content security policy: our own style and script, pictures inside, no network."""
    hashes = [
        base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def page_environment(suppressed_below: int = 0) -> Environment:
    """Return the template engine with our filters; everything it is given is escaped."""
    environment = Environment(
        loader=PackageLoader("tabsoda.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": lambda count: f"<{suppressed_below}" if count is None else f"{count:,}",
        "percent": _percent,
        "amount": lambda value: _amount(value, suppressed_below),
        "cut": _cut,
        "figure": _figure,
    }
    environment.globals |= {
        "share_bars": charts.share_bars,
        "state_bar": _state_bar,
        "densities": charts.densities,
    }
    return environment


def page_asset(name: str) -> str:
    """Return one of our own files, such as the style sheet."""
    return (files("tabsoda.reporting") / "templates" / name).read_text(encoding="utf-8")


def _state_bar(states: dict[str, int | None]) -> Markup:
    counts = [states[name] or 0 for name in ("answered", "missing", "skipped")]
    total = sum(counts) or 1
    return charts.state_bar(*(count / total for count in counts))


def _percent(share: float | None) -> str:
    """Write a share; small ones keep a digit, withheld ones are a dash."""
    if share is None:
        return "–"
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def _amount(value: float | None, suppressed_below: int) -> str:
    """Write a count or an average of counts."""
    if value is None:
        return f"<{suppressed_below}"
    return f"{value:,.1f}".removesuffix(".0")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}"


def _cut(text: Any, longest: int = _LONGEST_TEXT) -> str:
    """Make a text one line that can be read: no control characters, no end of it out of sight."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
