"""Group the results of a study into one series of replications per condition and method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tabsoda.bench.studies.cells import OWN_VIEW
from tabsoda.bench.tables.replications import PairedDifference, paired_difference

_NAN = float("nan")
_CONDITION = ("survey", "mechanism", "track", "label", "skip_view", "method")
_VIEWS = {"blind": ", skips blank", "level": ", skips a level", OWN_VIEW: ""}


@dataclass(frozen=True)
class Series:
    """The replications of a method under one condition.

    Attributes
    ----------
    survey, mechanism, track, label, skip_view, method : str
    cells : mapping of int to dict
        Results by replication.
    """

    survey: str
    mechanism: str
    track: str
    label: str
    skip_view: str
    method: str
    cells: Mapping[int, dict[str, Any]]

    @property
    def title(self) -> str:
        """The method's name and its view of skips."""
        return self.label + _VIEWS.get(self.skip_view, "")

    @property
    def condition(self) -> tuple[str, str, str]:
        """Survey, mechanism and track: what compared methods have in common."""
        return self.survey, self.mechanism, self.track

    @property
    def identity(self) -> dict[str, str]:
        """The settings that identify the series."""
        return {name: getattr(self, name) for name in _CONDITION}

    def values(self, metric: str, scope: str = "all") -> dict[int, float]:
        """Return a metric by replication; NaN where nothing was scored."""
        return {
            number: _number(cell["metrics"][scope][metric])
            for number, cell in sorted(self.cells.items())
        }

    @property
    def seconds(self) -> list[float]:
        """The method's own time, by replication."""
        return [cell["seconds"] for _, cell in sorted(self.cells.items())]

    def minus(self, other: Series, metric: str) -> PairedDifference:
        """Compare with another method on the replications both have."""
        ours, theirs = self.values(metric), other.values(metric)
        shared = sorted(ours.keys() & theirs.keys())
        return paired_difference([ours[n] for n in shared], [theirs[n] for n in shared])


def group(cells: Iterable[dict[str, Any]]) -> list[Series]:
    """Group results into series, ordered as the results are."""
    groups: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
    for cell in cells:
        settings = cell["settings"]
        key = tuple(str(settings[name]) for name in _CONDITION)
        groups.setdefault(key, {})[settings["replication"]] = cell
    return [
        Series(**dict(zip(_CONDITION, key, strict=True)), cells=found)
        for key, found in groups.items()
    ]


def over_surveys(
    series: Iterable[Series], bases: Mapping[str, Series], metric: str
) -> PairedDifference:
    """Compare a method with another over surveys, each survey one unit.

    Parameters
    ----------
    series : iterable of Series
        Of one method under one mechanism and track.
    bases : mapping of str to Series
        The series to compare with, by survey; other surveys are left out.
    metric : str
    """
    gaps = [one.minus(bases[one.survey], metric).mean for one in series if one.survey in bases]
    return paired_difference(gaps, [0.0] * len(gaps))


def _number(value: float | None) -> float:
    return _NAN if value is None else float(value)
