"""Counts of the paired differences that are clear, and a list of those against the reference.

A table of hundreds of intervals hides what matters: how many favour whom, and which do not favour
the method that is being proposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tabsoda.evaluation.collected import Series
from tabsoda.evaluation.imputation_metrics import METRICS
from tabsoda.evaluation.replications import PairedDifference, paired_difference
from tabsoda.evaluation.table_formats import Entry, Table
from tabsoda.evaluation.tables import ABLATION, HEADINGS, MEAN_METRICS

_EVERY_SURVEY = ""


class Difference(NamedTuple):
    """A method minus the reference in one metric, under one condition."""

    survey: str
    mechanism: str
    track: str
    title: str
    metric: str
    gap: PairedDifference

    @property
    def favours_method(self) -> bool:
        """Whether the method is ahead, clearly or not."""
        return (self.gap.mean > 0) == METRICS[self.metric]


def clear_table(series: Sequence[Series], reference: str) -> Table:
    """Count clear differences of every baseline to a method, survey by survey and over surveys."""
    within = differences(series, reference)
    over = over_surveys(within)
    rows = []
    lines = dict.fromkeys((one.track, one.title) for one in within)
    for track, title in sorted(lines, key=lambda line: line[0]):
        entries = [Entry(title), Entry(track)]
        for several in (within, over):
            mine = [one for one in several if (one.track, one.title) == (track, title)]
            clear = [one for one in mine if one.gap.is_clear]
            theirs = sum(one.favours_method for one in clear)
            counts = (len(mine), len(clear) - theirs, theirs)
            entries += [Entry(f"{count:,}") for count in counts]
        rows.append(tuple(entries))
    favoured = (f"for {reference}", "for the method")
    counted = ("Survey by survey", *favoured, "Over surveys", *favoured)
    header = ("Method", "Followers of hidden gates", *counted)
    note = (
        "How many paired differences have a 95 % t interval, and in how many of them it excludes "
        f"zero; every mechanism, {len(MEAN_METRICS)} metrics."
    )
    return Table(f"Clear differences to {reference}", header, tuple(rows), note)


def against_table(series: Sequence[Series], reference: str) -> Table:
    """List the differences survey by survey that are clearly in favour of a baseline."""
    every = differences(series, reference)
    rows = []
    for one in every:
        if one.gap.is_clear and one.favours_method:
            gap = one.gap
            text = f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
            names = (one.survey, one.mechanism.upper(), one.track, one.title, HEADINGS[one.metric])
            rows.append((*map(Entry, names), Entry(text), Entry(f"{gap.p_value:.3f}")))
    header = ("Survey", "Mechanism", "Followers", "Method", "Metric", "Difference", "p")
    note = (
        f"{len(rows):,} of {len(every):,} differences to {reference}, by 95 % t intervals of each "
        "alone; p is not corrected for their number."
    )
    title = f"Surveys on which a method is clearly ahead of {reference}"
    return Table(title, header, tuple(rows), note, left=5)


def differences(series: Iterable[Series], reference: str) -> list[Difference]:
    """Return every baseline's differences that have an interval, survey by survey."""
    every = list(series)
    bases = {one.condition: one for one in every if one.label == reference}
    return [
        Difference(*one.condition, one.title, metric, gap)
        for one in every
        if one.method not in ABLATION and one.condition in bases
        for metric in MEAN_METRICS
        if (gap := one.minus(bases[one.condition], metric)).n > 1
    ]


def over_surveys(within: Iterable[Difference]) -> list[Difference]:
    """Average over surveys, each survey one unit; what two surveys or more have."""
    groups: dict[tuple[str, str, str, str], list[float]] = {}
    for one in within:
        key = (one.mechanism, one.track, one.title, one.metric)
        groups.setdefault(key, []).append(one.gap.mean)
    return [
        Difference(_EVERY_SURVEY, *key, paired_difference(gaps, [0.0] * len(gaps)))
        for key, gaps in groups.items()
        if len(gaps) > 1
    ]
