"""The options of commands that describe the design of the sample."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from tabsoda.analysis.design_request import DesignRequest
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
        return self.request().of(result)

    def request(self) -> DesignRequest:
        """Return the same as plain values, without the command line."""
        from tabsoda.analysis.design_request import DesignRequest

        return DesignRequest(**asdict(self))


def ignored_design(result: Imputations) -> str | None:
    """Return a line on the described design that --no-design ignores; None if there is none."""
    from tabsoda.schema.column import ColumnRole

    if result.survey is None:
        return None
    roles = (ColumnRole.WEIGHT, ColumnRole.STRATUM, ColumnRole.CLUSTER)
    names = [column.name for role in roles for column in result.survey.schema.of_role(role)]
    return f"Not used from the description: {', '.join(names)} (--no-design)" if names else None
