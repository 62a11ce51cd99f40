"""Convergence of the fit: the loss, and how far imputations moved per round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# A loss curve with more points than this is thinned: a screen cannot show more.
_MOST_POINTS = 400


def describe_convergence(history: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Summarise the rounds of a fit.

    Parameters
    ----------
    history : sequence of mapping
        One entry per round, from the engine. Missing values are left out.

    Returns
    -------
    dict or None
        ``rounds`` (number, epochs, loss, change, seconds), ``losses`` of all rounds in order,
        ``starts`` (where in them each round begins) and ``thinned`` (the interval between the
        epochs shown). None without a history.

    Examples
    --------
    >>> found = describe_convergence([{"round": 1, "loss": 2.0, "losses": [3.0, 2.0]},
    ...                               {"round": 2, "loss": 1.5, "losses": [1.5], "change": 0.1}])
    >>> found["losses"], found["starts"], found["rounds"][1]["change"]
    ([3.0, 2.0, 1.5], [1, 3], 0.1)
    """
    if not history:
        return None
    losses: list[float] = []
    starts = []
    for entry in history:
        starts.append(len(losses) + 1)
        losses += [float(loss) for loss in entry.get("losses", [])]
    every = max(1, -(-len(losses) // _MOST_POINTS))
    return {
        "rounds": [
            {
                "round": entry.get("round", number),
                "epochs": entry.get("epochs"),
                "loss": entry.get("loss"),
                "change": entry.get("change"),
                "seconds": _seconds(entry),
            }
            for number, entry in enumerate(history, 1)
        ],
        "losses": losses[::every],
        "starts": [(start - 1) // every + 1 for start in starts] if losses else [],
        "thinned": every,
    }


def _seconds(entry: Mapping[str, Any]) -> float | None:
    parts = [entry[key] for key in ("training_seconds", "imputing_seconds") if key in entry]
    return round(sum(parts), 1) if parts else None
