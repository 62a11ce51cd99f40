"""Turn scores into verdicts: which questions the other answers predict, and how well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.held_out import clearly_lower

# The method that a verdict is on, the first that ran.
OURS = ("default-engine", "tabsoda")
# Minimum number of hidden answers for a verdict.
FEWEST_CELLS = 20
_NAMED = 6

ADVICE = {
    "good": "the other answers predict it, and no method compared is clearly better",
    "behind": "the other answers predict it, but another method is clearly better",
    "unclear": "predicted slightly better than by its overall distribution, perhaps by chance",
    "no better": (
        "the other answers do not predict it: imputed answers follow its overall distribution and"
        " carry no association with other questions"
    ),
    "too few": f"fewer than {FEWEST_CELLS} answers could be hidden: too few to judge",
    "constant": "all respondents gave the same answer",
}


def judge(per_cell: Mapping[str, NDArray[np.float64]], reference: str) -> dict[str, Any]:
    """Judge one question.

    The verdict is on the default engine, else on TabSODA, else on the last method. It is clearly
    better than another where the 95 % interval of the mean difference over the hidden cells is
    below zero.

    Parameters
    ----------
    per_cell : mapping of str to ndarray, shape (n_cells,)
        The score of each hidden cell, by method; lower is better.
    reference : str
        The method that has to be beaten.

    Returns
    -------
    dict
        ``verdict``, ``advice``, ``best`` (the method with the lowest score; None if too few).

    Examples
    --------
    >>> wrong = np.ones(50)
    >>> judge({"mode": wrong, "default-engine": wrong * 0}, "mode")["verdict"]
    'good'
    >>> judge({"mode": wrong, "default-engine": wrong}, "mode")["verdict"]
    'no better'
    """
    judged = _judged(list(per_cell))
    ours, theirs = per_cell[judged], per_cell[reference]
    if ours.size < FEWEST_CELLS:
        return {"verdict": "too few", "advice": ADVICE["too few"], "best": None}
    best = min(per_cell, key=lambda name: float(per_cell[name].mean()))
    if not theirs.any() and not ours.any():
        verdict = "constant"
    elif ours.mean() >= theirs.mean():
        verdict = "no better"
    elif not clearly_lower(ours, theirs):
        verdict = "unclear"
    elif best != judged and clearly_lower(per_cell[best], ours):
        verdict = "behind"
    else:
        verdict = "good"
    return {"verdict": verdict, "advice": ADVICE[verdict], "best": best}


def summarise_verdicts(variables: Sequence[dict[str, Any]], methods: Sequence[str]) -> list[str]:
    """Summarise the verdicts in a few sentences."""
    judged = _judged(methods)
    by_verdict: dict[str, list[str]] = {}
    for one in variables:
        by_verdict.setdefault(one["verdict"], []).append(one["name"])
    judged_on = ("good", "behind", "unclear", "no better")
    known = [one for one in variables if one["verdict"] in judged_on]
    if not known:
        return ["Too few answers could be hidden to judge: use more rows or a larger share."]
    better = len(by_verdict.get("good", [])) + len(by_verdict.get("behind", []))
    sentences = [
        f"{judged} clearly predicts better than the overall distribution of answers for {better:,}"
        f" of {_questions(len(known))}."
    ]
    if "unclear" in by_verdict:
        sentences.append(
            f"For {_questions(len(by_verdict['unclear']))} the gain may be due to chance; more rows"
            " or a larger share of hidden answers would show."
        )
    if "no better" in by_verdict:
        names = by_verdict["no better"]
        sentences.append(
            "The other answers do not predict these questions, so their imputed answers follow the"
            " overall distribution and carry no association with other questions:"
            f" {_listed(names)}."
        )
    behind = [one for one in variables if one["verdict"] == "behind"]
    if behind:
        best = sorted({str(one["best"]) for one in behind})
        sentences.append(
            f"{' or '.join(best)} is clearly better than {judged} for"
            f" {_questions(len(behind))}:"
            f" {_listed([one['name'] for one in behind])}."
        )
    unsaid = len(by_verdict.get("too few", []))
    if unsaid:
        sentences.append(f"For {_questions(unsaid)} too few answers could be hidden to judge.")
    return sentences


def _judged(methods: Sequence[str]) -> str:
    """Return the method that a verdict is on."""
    return next((name for name in OURS if name in methods), methods[-1])


def _questions(count: int) -> str:
    return f"{count:,} question{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
