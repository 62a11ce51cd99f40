"""The options of commands that describe the design of the sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from tabsoda.analysis.sample_design import SampleDesign
    from tabsoda.results.imputations import Imputations


@Parameter(name="*")
@dataclass(frozen=True)
class DesignOptions:
    """The design of the sample; what is not given comes from the description.

    Attributes
    ----------
    weights
        The column with the survey weights. Respondents with a blank weight are left out.
    strata
        The column with the strata.
    clusters
        The column with the clusters (primary sampling units).
    population
        The number of clusters in the population of the stratum, or the share that was sampled: a
        column or one number. Without clusters, respondents are counted.
    nest
        Clusters of the same number in different strata are different clusters.
    lonely
        What to do with strata that have only one cluster: fail, remove (no variance), adjust
        (centre at the overall mean) or average (the mean of the other strata).
    no_design
        Ignore the columns with the roles weight, stratum and cluster in the description.
    """

    weights: Annotated[str | None, Parameter(name=["--weights", "--weight"])] = None
    strata: str | None = None
    clusters: str | None = None
    population: str | None = None
    nest: Annotated[bool, Parameter(negative="")] = False
    lonely: Literal["fail", "remove", "adjust", "average"] = "fail"
    no_design: Annotated[bool, Parameter(name="--no-design", negative="")] = False

    def of(self, result: Imputations) -> SampleDesign:
        """Return the design for a result."""
        from tabsoda.analysis.sample_design import SampleDesign

        parts: dict[str, Any] = {
            "weights": self.weights,
            "strata": self.strata,
            "clusters": self.clusters,
            "population": self._population(),
        }
        given = {name: part for name, part in parts.items() if part is not None}
        given |= {"nest": self.nest, "lonely": self.lonely}
        return SampleDesign(**given) if self.no_design else SampleDesign.described(result, **given)

    def _population(self) -> str | float | None:
        if self.population is None:
            return None
        try:
            return float(self.population)
        except ValueError:
            return self.population


def ignored_design(result: Imputations) -> str | None:
    """Return a line on the described design that --no-design ignores; None if there is none."""
    from tabsoda.schema.column import ColumnRole

    if result.survey is None:
        return None
    roles = (ColumnRole.WEIGHT, ColumnRole.STRATUM, ColumnRole.CLUSTER)
    names = [column.name for role in roles for column in result.survey.schema.of_role(role)]
    return f"Not used from the description: {', '.join(names)} (--no-design)" if names else None
