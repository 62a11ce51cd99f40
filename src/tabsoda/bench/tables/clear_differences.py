"""Count clear paired differences, and list those against the reference method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.bench.tables.collected import Series, over_surveys
from tabsoda.bench.tables.paper_tables import HEADINGS, MEAN_METRICS, OWN_METHODS
from tabsoda.bench.tables.replications import PairedDifference
from tabsoda.bench.tables.table_formats import Entry, Table

_COUNTED = (
    "How many paired differences have a 95 % t interval, and in how many of them it excludes "
    f"zero; every mechanism, {len(MEAN_METRICS)} metrics."
)


class Difference(NamedTuple):
    """A method minus the reference in one metric.

    Attributes
    ----------
    series : Series
        The method's series on one survey; for a difference over surveys, on the first of them.
    metric : str
    gap : PairedDifference
    """

    series: Series
    metric: str
    gap: PairedDifference

    @property
    def favours_method(self) -> bool:
        """Whether the method is better, clearly or not."""
        return (self.gap.mean > 0) == METRICS[self.metric]


def clear_table(series: Sequence[Series], reference: str) -> Table:
    """Count clear differences of every baseline to a method, survey by survey and over surveys."""
    counted = (survey_differences(series, reference), overall_differences(series, reference))
    lines = dict.fromkeys((one.series.track, one.series.title) for some in counted for one in some)
    rows = []
    for line in sorted(lines, key=lambda line: line[0]):
        entries = [Entry(line[1]), Entry(line[0])]
        for several in counted:
            mine = [one for one in several if (one.series.track, one.series.title) == line]
            entries += _counts(mine)
        rows.append(tuple(entries))
    favoured = (f"for {reference}", "for the method")
    counts = ("Survey by survey", *favoured, "Over surveys", *favoured)
    header = ("Method", "Followers of hidden gates", *counts)
    return Table(f"Clear differences to {reference}", header, tuple(rows), _COUNTED)


def clear_by_survey_table(series: Sequence[Series], reference: str) -> Table:
    """Count clear differences of all baselines to a method on each survey."""
    every = survey_differences(series, reference)
    lines = dict.fromkeys((one.series.track, one.series.survey) for one in every)
    rows = tuple(
        (
            Entry(survey),
            Entry(track),
            *_counts(
                one for one in every if (one.series.track, one.series.survey) == (track, survey)
            ),
        )
        for track, survey in sorted(lines)
    )
    favoured = (f"for {reference}", "for another method")
    header = ("Survey", "Followers of hidden gates", "Differences", *favoured)
    return Table(f"Clear differences to {reference}, by survey", header, rows, _COUNTED)


def _counts(differences: Iterable[Difference]) -> list[Entry]:
    """Return the number of differences, and of those clearly for and against the reference."""
    every = list(differences)
    clear = [one for one in every if one.gap.is_clear]
    theirs = sum(one.favours_method for one in clear)
    return [Entry(f"{n:,}") for n in (len(every), len(clear) - theirs, theirs)]


def against_table(series: Sequence[Series], reference: str) -> Table:
    """List the differences survey by survey that are clearly in favour of a baseline."""
    every = survey_differences(series, reference)
    rows = []
    for own, metric, gap in (one for one in every if one.gap.is_clear and one.favours_method):
        text = f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
        names = (own.survey, own.mechanism.upper(), own.track, own.title, HEADINGS[metric])
        rows.append((*map(Entry, names), Entry(text), Entry(f"{gap.p_value:.3f}")))
    header = ("Survey", "Mechanism", "Followers", "Method", "Metric", "Difference", "p")
    note = (
        f"{len(rows):,} of {len(every):,} differences to {reference}, by 95 % t intervals of each "
        "alone; p is not corrected for their number."
    )
    title = f"Surveys on which a method is clearly ahead of {reference}"
    return Table(title, header, tuple(rows), note, left=5)


def survey_differences(series: Sequence[Series], reference: str) -> list[Difference]:
    """Return every baseline's differences that have an interval, survey by survey."""
    bases = {one.condition: one for one in series if one.label == reference}
    return [
        Difference(one, metric, gap)
        for one in series
        if one.method not in OWN_METHODS and one.condition in bases
        for metric in MEAN_METRICS
        if (gap := one.minus(bases[one.condition], metric)).n > 1
    ]


def overall_differences(series: Sequence[Series], reference: str) -> list[Difference]:
    """Return every baseline's differences over surveys that have an interval."""
    found = []
    for mechanism, track in dict.fromkeys((one.mechanism, one.track) for one in series):
        here = [one for one in series if (one.mechanism, one.track) == (mechanism, track)]
        bases = {one.survey: one for one in here if one.label == reference}
        for title in dict.fromkeys(one.title for one in here if one.method not in OWN_METHODS):
            own = [one for one in here if one.title == title]
            gaps = ((metric, over_surveys(own, bases, metric)) for metric in MEAN_METRICS)
            found += [Difference(own[0], metric, gap) for metric, gap in gaps if gap.n > 1]
    return found
