"""From errors to advice: which imputations can be trusted, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.evaluation.replications import paired_difference

OURS = "tabsoda"
# Of fewer hidden answers nothing is said.
FEWEST_CELLS = 20
_NAMED = 6

ADVICE = {
    "good": "better than the mode, and no method here is clearly better",
    "behind": "better than the mode, but another method here is clearly better",
    "unclear": "better than the mode on the hidden answers, but that may be chance",
    "no better": "no better than the mode: do not rest a finding on imputed answers",
    "too few": f"fewer than {FEWEST_CELLS} answers could be hidden: nothing can be said",
    "constant": "everybody gave the same answer: there is nothing to find out",
}


def judge(per_cell: Mapping[str, NDArray[np.float64]], reference: str) -> dict[str, Any]:
    """Judge one question.

    The method judged is TabSODA, or the last one where it is not among them. It is clearly better
    than another where the 95 % interval of the mean difference over the hidden cells is below
    zero.

    Parameters
    ----------
    per_cell : mapping of str to ndarray, shape (n_cells,)
        The loss of each hidden cell, by method.
    reference : str
        The method that has to be beaten.

    Returns
    -------
    dict
        ``verdict``, ``advice``, ``best`` (the method with the least error; None of too few).

    Examples
    --------
    >>> wrong = np.ones(50)
    >>> judge({"mode": wrong, "tabsoda": wrong * 0}, "mode")["verdict"]
    'good'
    >>> judge({"mode": wrong, "tabsoda": wrong}, "mode")["verdict"]
    'no better'
    """
    judged = OURS if OURS in per_cell else list(per_cell)[-1]
    ours, theirs = per_cell[judged], per_cell[reference]
    if ours.size < FEWEST_CELLS:
        return {"verdict": "too few", "advice": ADVICE["too few"], "best": None}
    best = min(per_cell, key=lambda name: float(per_cell[name].mean()))
    if not theirs.any() and not ours.any():
        verdict = "constant"
    elif ours.mean() >= theirs.mean():
        verdict = "no better"
    elif not _clearly_less(ours, theirs):
        verdict = "unclear"
    elif best != judged and _clearly_less(per_cell[best], ours):
        verdict = "behind"
    else:
        verdict = "good"
    return {"verdict": verdict, "advice": ADVICE[verdict], "best": best}


def summarise_verdicts(variables: Sequence[dict[str, Any]], methods: Sequence[str]) -> list[str]:
    """Say in a few sentences what the verdicts come to."""
    judged = OURS if OURS in methods else methods[-1]
    by_verdict: dict[str, list[str]] = {}
    for one in variables:
        by_verdict.setdefault(one["verdict"], []).append(one["name"])
    judged_on = ("good", "behind", "unclear", "no better")
    known = [one for one in variables if one["verdict"] in judged_on]
    if not known:
        return [
            "Too few answers could be hidden to say anything: give more rows or a larger share."
        ]
    better = len(by_verdict.get("good", [])) + len(by_verdict.get("behind", []))
    sentences = [
        f"{judged} is clearly better than the mode for {better:,} of {_questions(len(known))}."
    ]
    if "unclear" in by_verdict:
        sentences.append(
            f"Of {_questions(len(by_verdict['unclear']))} it is better on the hidden answers, which"
            " may be chance: more rows or a larger share would tell."
        )
    if "no better" in by_verdict:
        names = by_verdict["no better"]
        sentences.append(
            "No better than the mode, so do not rest a finding on their imputed answers:"
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
        sentences.append(
            f"Of {_questions(unsaid)} too few answers could be hidden to say anything."
        )
    return sentences


def _clearly_less(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> bool:
    gap = paired_difference(ours.tolist(), theirs.tolist())
    if gap.se == 0:
        return gap.mean < 0
    return gap.mean < 0 and gap.is_clear


def _questions(count: int) -> str:
    return f"{count:,} question{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
