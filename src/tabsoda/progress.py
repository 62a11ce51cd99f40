"""Progress: the types of the callbacks, and the progress of work that has several stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

# progress(done, total, what)
Progress = Callable[[int, int, str], None]
# progress(done, total), within one stage
StageProgress = Callable[[int, int], None]


class StagedProgress:
    """Converts the progress of stages to the progress of the whole.

    Parameters
    ----------
    progress : callable or None
        Called as ``progress(done, total, what)``, in thousandths of the whole.
    shares : mapping of str to float
        The stages in their order, and how long each takes relative to the others.

    Examples
    --------
    >>> calls = []
    >>> shares = {"training": 3.0, "regressing": 1.0}
    >>> progress = StagedProgress(lambda *one: calls.append(one), shares)
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
                self._progress(round(1000 * place / whole), 1000, what)

        return progress
