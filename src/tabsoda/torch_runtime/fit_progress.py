"""The progress of a fit over all of its stages."""

from __future__ import annotations

from collections.abc import Mapping

from tabsoda.progress import Progress

_PARTS = 1000


class FitProgress:
    """Converts the progress of stages to the progress of the whole fit.

    Parameters
    ----------
    progress : callable or None
        Called as ``progress(done, total, what)``, in thousandths of the whole.
    shares : mapping of str to float
        The stages in their order, and how long each takes relative to the others.

    Examples
    --------
    >>> calls = []
    >>> progress = FitProgress(lambda *one: calls.append(one), {"training": 3.0, "regressing": 1.0})
    >>> progress.stage("training")(1, 2, "round 1")
    >>> progress.stage("regressing")(1, 2, "set 1")
    >>> calls
    [(375, 1000, 'round 1'), (875, 1000, 'set 1')]
    """

    def __init__(self, progress: Progress | None, shares: Mapping[str, float]) -> None:
        self._progress = progress
        self._shares = dict(shares)

    def stage(self, name: str) -> Progress:
        """Return the progress callback of a stage."""
        whole = sum(self._shares.values()) or 1.0
        names = list(self._shares)
        before = sum(self._shares[one] for one in names[: names.index(name)])

        def progress(done: int, total: int, what: str) -> None:
            if self._progress is not None:
                place = before + self._shares[name] * done / max(total, 1)
                self._progress(round(_PARTS * place / whole), _PARTS, what)

        return progress
