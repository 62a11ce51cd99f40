"""Warnings: what to look at before the imputations are used, the most serious first.

Each is a simple test of the summary against a stated limit; none proves that a result is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tabsoda.report.comparison import FEWEST_CELLS

_FAR, _MOSTLY_IMPUTED, _ONE_ANSWER = 0.25, 0.5, 0.99
_STILL_MOVING, _UNCALIBRATED, _OFTEN_BLANK = 0.25, 0.10, 0.25
_NAMED = 6


def find_flags(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the warnings.

    Parameters
    ----------
    summary : dict
        Counts, variables, rules, convergence and calibration of a report.

    Returns
    -------
    list of dict
        ``text``, ``columns`` (the columns concerned; may be empty) and ``section`` (of the page).
    """
    return [
        *_about_skips(summary["counts"], summary["variables"]),
        *_about_tables(summary["counts"], summary["draws"], summary["conflicts"]),
        *_about_rules(summary["routing"]),
        *_about_variables(summary["variables"]),
        *_about_conflicts(summary["conflicts"]),
        *_about_convergence(summary["convergence"]),
        *_about_calibration(summary["calibration"]),
    ]


def _flag(text: str, section: str, columns: Sequence[str] = ()) -> dict[str, Any]:
    return {"text": text, "columns": list(columns), "section": section}


def _about_skips(
    counts: dict[str, Any], variables: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    enough = [one for one in variables if (one["imputed"] or 0) >= FEWEST_CELLS]
    blank = [one["name"] for one in enough if _imputed_share(one) > _OFTEN_BLANK]
    if counts["skipped"] == 0 and blank:
        yield _flag(
            "No blank is known to be a skip, and more than a quarter of the answers are missing in"
            f" {_names(blank)}. If the questionnaire skips these questions for some respondents,"
            " answers were imputed that never existed: mine the rules (tabsoda mine) or supply"
            " them.",
            "map",
            blank,
        )


def _about_tables(
    counts: dict[str, Any], draws: int, conflicts: dict[str, Any] | None
) -> Iterator[dict[str, Any]]:
    if draws == 0:
        yield _flag(
            "No draws were made: the point estimates give standard errors that are too small.",
            "summary",
        )
    elif draws < 5:
        yield _flag(
            f"Only {draws} draws were made; pooled standard errors are unsteady below five,"
            " and twenty are usual.",
            "summary",
        )
    left, by_rules = counts["left_missing"], (conflicts or {"left_missing": 0})["left_missing"]
    # Cells for which rules allow no answer have their own warning.
    unanswered = None if left is None or by_rules is None else left - by_rules
    if unanswered is None or unanswered:
        amount = "Some" if unanswered is None else f"{unanswered:,}"
        yield _flag(
            f"{amount} cells stay missing because nobody answered their question.", "variables"
        )


def _about_rules(routing: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    proposed = 0 if routing is None else routing["statuses"].get("proposed", 0)
    if proposed:
        total = len(routing["rules"])  # type: ignore[index]
        yield _flag(f"{proposed:,} of {total:,} rules were applied without a review.", "rules")


def _about_variables(variables: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    enough = [one for one in variables if (one["imputed"] or 0) >= FEWEST_CELLS]
    mostly = [one["name"] for one in enough if _imputed_share(one) > _MOSTLY_IMPUTED]
    if mostly:
        yield _flag(
            f"More than half of those who were asked did not answer: {_names(mostly)}.",
            "variables",
            mostly,
        )
    single = [one["name"] for one in enough if _is_single(one)]
    if single:
        yield _flag(
            f"Nearly all imputed answers are the same although observed ones vary:"
            f" {_names(single)}.",
            "variables",
            single,
        )
    far = [
        one["name"]
        for one in enough
        if (one["distance"] or 0) > _FAR and one["name"] not in set(single)
    ]
    if far:
        yield _flag(
            f"Imputed answers differ a lot from observed ones (distance above {_FAR}):"
            f" {_names(far)}. People who do not answer may differ from those who do;"
            " check whether a difference of this size is plausible.",
            "variables",
            far,
        )
    outside = [one["name"] for one in enough if _outside(one) > 0.01]
    if outside:
        yield _flag(
            f"Some imputed numbers lie outside the observed range: {_names(outside)}.",
            "variables",
            outside,
        )


def _cells(count: int | None) -> str:
    """Return the subject and verb of a sentence about some cells."""
    if count is None:
        return "Some cells were"
    return "1 cell was" if count == 1 else f"{count:,} cells were"


def _about_conflicts(conflicts: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    rules = [] if conflicts is None else conflicts["by_rule"]
    clashing = [one["rule"] for one in rules if one["left_missing"] is None or one["left_missing"]]
    if clashing:
        count = conflicts["left_missing"]  # type: ignore[index]
        one = len(clashing) == 1
        yield _flag(
            f"{_cells(count)} left missing because no answer"
            f" is consistent with the observed answers and {'the rule' if one else 'the rules'}"
            f" {_names(clashing)}: check whether {'it is' if one else 'they are'} correct.",
            "conflicts",
        )
    if conflicts and conflicts["policy"] == "keep" and any(conflicts["counts"].values()):
        yield _flag(
            "Draws did not follow the rules: a completed table can hold an answer to a question"
            " that the drawn answer of its gate skips.",
            "conflicts",
        )


def _about_convergence(convergence: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    changes = [one["change"] for one in (convergence or {"rounds": []})["rounds"]]
    changes = [change for change in changes if change is not None]
    if len(changes) > 1 and changes[-1] > _STILL_MOVING and changes[-1] > 0.8 * changes[-2]:
        yield _flag(
            f"Imputations still moved by {changes[-1]:.2f} standard deviations in the last round;"
            " more rounds may change them.",
            "convergence",
        )


def _about_calibration(calibration: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    if calibration is None:
        return
    error = calibration["calibration_error"]
    if error is not None and error > _UNCALIBRATED:
        yield _flag(
            f"Predicted probabilities are off by {error:.0%} on average; see the calibration"
            " curve.",
            "calibration",
        )
    no_better = [one["name"] for one in calibration["variables"] if one["gain"] < 0]
    if no_better:
        yield _flag(
            "Predicted no better than by the most frequent answer or the mean, although the model"
            f" was trained on these answers: {_names(no_better)}.",
            "calibration",
            no_better,
        )


def _imputed_share(variable: dict[str, Any]) -> float:
    states = variable["states"]
    if states["missing"] is None or states["answered"] is None:
        return 0.0
    return states["missing"] / max(states["missing"] + states["answered"], 1)


def _is_single(variable: dict[str, Any]) -> bool:
    shares = variable.get("shares") or []
    return any(
        (one["imputed"] or 0) >= _ONE_ANSWER
        and one["observed"] is not None
        and one["observed"] < 0.8
        for one in shares
    )


def _outside(variable: dict[str, Any]) -> float:
    return (variable.get("numbers") or {}).get("outside") or 0.0


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
