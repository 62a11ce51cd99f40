"""The design of the sample: weights, strata, clusters and population, by name or as arrays.

Without a design, the roles in the survey's description are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.linearisation import LONELY, Lonely, Sample
from tabsoda.analysis.replicates import ReplicateWeights
from tabsoda.analysis.variables import find_variable
from tabsoda.analysis.weights import design_column, row_weights
from tabsoda.errors import InputError
from tabsoda.schema.codes import plain
from tabsoda.schema.column import ColumnRole

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
_ROLES = {
    "weights": ColumnRole.WEIGHT,
    "strata": ColumnRole.STRATUM,
    "clusters": ColumnRole.CLUSTER,
}


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """How the respondents were sampled, as in R's ``svydesign``.

    Attributes
    ----------
    weights : str, array, ReplicateWeights or None
        A column of the survey, or the weights themselves. Respondents with a blank weight are left
        out. With replicate weights, strata and clusters are not used.
    strata : str, array or None
        The stratum of each respondent.
    clusters : str, array or None
        The primary sampling unit of each respondent. Further stages need not be given.
    population : str, float, mapping, array or None
        The number of clusters (respondents, without clusters) in the population, or the share that
        was sampled: a column, one number, or a number for each stratum. None if clusters were
        drawn with replacement or are a small part of the population.
    nest : bool
        Whether clusters of the same number in different strata are different clusters.
    lonely : {"fail", "remove", "adjust", "average"}
        What to do with strata that have only one cluster; see R's ``survey.lonely.psu``.

    Examples
    --------
    >>> SampleDesign(weights="FINALWGT", strata="REGION", clusters="PSU").lonely
    'fail'
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None
    population: Any = None
    nest: bool = False
    lonely: Lonely = "fail"

    def __post_init__(self) -> None:
        if self.lonely not in LONELY:
            raise InputError(
                "Unknown way to treat strata with one cluster",
                found=repr(self.lonely),
                expected=", ".join(LONELY),
            )

    @classmethod
    def described(cls, result: Imputations, **changes: Any) -> SampleDesign:
        """Return the design in the survey's description, by the roles of its columns.

        Parameters
        ----------
        result : Imputations
        **changes
            Attributes to use in place of the described ones.
        """
        schema = None if result.survey is None else result.survey.schema
        found: dict[str, Any] = {}
        for attribute, role in _ROLES.items():
            names = [] if schema is None else [column.name for column in schema.of_role(role)]
            if attribute in changes:
                continue
            if len(names) > 1:
                raise InputError(
                    f"The description has more than one column with the role {role.value}",
                    found=", ".join(names[:6]) + (" and more" if len(names) > 6 else ""),
                    expected=f"one, or a choice among them in {attribute}",
                    next_step=f"Name one ({attribute}={names[0]}), or ignore the design",
                )
            if names:
                found[attribute] = names[0]
        return cls(**(found | changes))

    @property
    def is_empty(self) -> bool:
        """Whether nothing about the sample is known."""
        parts = (self.weights, self.strata, self.clusters, self.population)
        return all(part is None for part in parts)


# None to treat respondents as a simple random sample.
DesignChoice = SampleDesign | Literal["described"] | None


def find_sample(
    result: Imputations, weights: Any = None, design: DesignChoice = "described"
) -> Sample | ReplicateWeights | None:
    """Return the sample of a result; None for a simple random sample.

    Parameters
    ----------
    result : Imputations
    weights : str, array or ReplicateWeights, optional
        Used in place of the weights of the design.
    design : SampleDesign, "described" or None
        By default the roles in the description; None for a simple random sample.
    """
    changes = {} if weights is None else {"weights": weights}
    if isinstance(design, str):
        if design != "described":
            raise InputError(
                "The design is invalid",
                found=repr(design),
                expected="a SampleDesign, 'described' or None",
            )
        # Replicate weights contain the design.
        replicated = isinstance(weights, ReplicateWeights)
        given = SampleDesign(**changes) if replicated else SampleDesign.described(result, **changes)
    else:
        given = replace(design or SampleDesign(), **changes)
    if given.is_empty:
        return None
    found = row_weights(result, given.weights)
    if isinstance(found, ReplicateWeights):
        return found
    return _sample(result, given, found)


def _sample(result: Imputations, design: SampleDesign, weights: Array | None) -> Sample:
    n_rows = result.table.shape[0]
    weights = np.ones(n_rows) if weights is None else weights
    sampled = ~np.isnan(weights)
    strata, names = _codes(result, design.strata, "strata", sampled)
    clusters, cluster_names = (
        (np.arange(n_rows), ())
        if design.clusters is None
        else _codes(result, design.clusters, "clusters", sampled)
    )
    if design.nest:
        clusters = np.unique(np.column_stack([strata, clusters]), axis=0, return_inverse=True)[1]
        clusters = np.asarray(clusters).reshape(-1)
    elif design.clusters is not None:
        _check_nested(strata[sampled], clusters[sampled], names, cluster_names)
    sample = Sample(weights, strata, clusters, np.zeros(len(names)), names, design.lonely)
    sizes = sample.clusters_in(sampled)
    sample = replace(sample, fractions=_fractions(result, design.population, sample, sizes))
    facts = _facts(design, sizes, _is_described(result, design))
    return replace(sample, notes=_notes(facts), facts=facts)


def _codes(
    result: Imputations, given: Any, option: str, sampled: NDArray[np.bool_]
) -> tuple[Codes, tuple[str, ...]]:
    """Return a number from 0 for each row, and the name of each number."""
    n_rows = result.table.shape[0]
    if given is None:
        return np.zeros(n_rows, dtype=np.int64), ("1",)
    if isinstance(given, str):
        variable = find_variable(result, given, option)
        if variable.is_imputed:
            raise InputError(
                f"cannot be the {option} of the design",
                column=given,
                found="imputed answers",
                expected="a column that is known for every respondent",
            )
        values, levels = variable.coded(1), tuple(map(str, variable.column.levels))
    else:
        values, levels = _numbered(given)
    if values.shape != (n_rows,):
        raise InputError(
            f"The {option} do not match the table",
            found=f"shape {values.shape}",
            expected=f"{n_rows} values, one per row",
        )
    blank = np.isnan(values) & sampled
    if blank.any():
        raise InputError(
            f"has blanks, but is used as {option}"
            if isinstance(given, str)
            else f"Some {option} are blank",
            column=given if isinstance(given, str) else None,
            found=f"{int(blank.sum()):,} respondents with a weight, the first in row"
            f" {int(np.flatnonzero(blank)[0]) + 1}",
            expected="a value for every respondent with a weight",
            next_step="Fill it in; or make their weight blank, so that they are left out",
        )
    # Rows outside the sample get the first code, which nothing uses.
    known = np.where(np.isnan(values), values[sampled][0] if sampled.any() else 0.0, values)
    found, numbers = np.unique(known, return_inverse=True)
    names = [levels[int(v)] if levels else str(plain(float(v))) for v in found]
    return numbers.astype(np.int64), tuple(names)


def _numbered(given: Any) -> tuple[Array, tuple[str, ...]]:
    """Return a number for each value of an array, NaN for blanks, and the values by number."""
    texts = [
        None if value is None or value != value else str(plain(value))
        for value in np.asarray(given).tolist()
    ]
    levels = tuple(sorted({text for text in texts if text is not None}))
    place = {text: number for number, text in enumerate(levels)}
    return np.array([np.nan if text is None else place[text] for text in texts]), levels


def _check_nested(
    strata: Codes, clusters: Codes, names: tuple[str, ...], cluster_names: tuple[str, ...]
) -> None:
    pairs = np.unique(np.column_stack([clusters, strata]), axis=0)
    repeated = np.flatnonzero(np.diff(pairs[:, 0]) == 0)
    if len(repeated):
        first, second = pairs[repeated[0]], pairs[repeated[0] + 1]
        raise InputError(
            f"Cluster {cluster_names[first[0]]} is in more than one stratum",
            found=f"strata {names[first[1]]} and {names[second[1]]};"
            f" {len(np.unique(pairs[repeated, 0])):,} such clusters",
            expected="each cluster in one stratum",
            next_step="If clusters are numbered anew in every stratum, use nest; otherwise"
            " correct the columns",
        )


def _fractions(result: Imputations, population: Any, sample: Sample, sizes: Codes) -> Array:
    """Return the share of its clusters that was sampled in every stratum, shape (n_strata,)."""
    if population is None:
        return np.zeros(len(sizes))
    given = _population(result, population, sample)
    wrong = ~(np.isfinite(given) & (given > 0))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"The population of stratum {sample.names[place]} is invalid",
            found=f"{given[place]:g}",
            expected="a number of clusters, or the share that was sampled",
        )
    fractions = given if (given <= 1).all() else sizes / given
    if (fractions > 1 + 1e-12).any():
        place = int(np.flatnonzero(fractions > 1 + 1e-12)[0])
        raise InputError(
            f"The population of stratum {sample.names[place]} is smaller than its sample",
            found=f"{given[place]:g} in the population, {sizes[place]} in the sample",
            expected="at least as many clusters as in the sample, in every stratum",
        )
    return np.minimum(fractions, 1.0)


def _population(result: Imputations, population: Any, sample: Sample) -> Array:
    """Return the population of every stratum as given, shape (n_strata,)."""
    if isinstance(population, Mapping):
        sizes = {str(plain(key)): float(size) for key, size in population.items()}
        unknown = [name for name in sizes if name not in sample.names]
        absent = [name for name in sample.names if name not in sizes]
        if unknown or absent:
            raise InputError(
                f"Stratum {unknown[0]} is empty: it has a population, but no respondents"
                if unknown
                else f"Stratum {absent[0]} has no population",
                found=f"strata {', '.join(sample.names[:6])} in the survey",
                expected="a population for each of them, and no others",
            )
        return np.array([sizes[name] for name in sample.names])
    if isinstance(population, int | float):
        return np.full(len(sample.names), float(population))
    values = (
        design_column(result, population, "population")
        if isinstance(population, str)
        else np.asarray(population, dtype=np.float64)
    )
    if values.shape != sample.weights.shape:
        raise InputError(
            "The population does not match the table",
            found=f"shape {values.shape}",
            expected=f"{sample.weights.size} values, one per row",
        )
    found = np.full(len(sample.names), np.nan)
    for place, name in enumerate(sample.names):
        here = np.unique(values[sample.sampled & (sample.strata == place)])
        if len(here) > 1 or np.isnan(here).any():
            raise InputError(
                f"The population differs within stratum {name}",
                column=population if isinstance(population, str) else None,
                found=", ".join(f"{value:g}" for value in here[:4]),
                expected="one number for all respondents of a stratum",
            )
        found[place] = here[0]
    return found


def _is_described(result: Imputations, design: SampleDesign) -> bool:
    """Return whether all parts of a design are columns that have these roles."""
    if result.survey is None or design.population is not None:
        return False
    given = [(getattr(design, part), role) for part, role in _ROLES.items()]
    named = {role: [c.name for c in result.survey.schema.of_role(role)] for _, role in given}
    return all(
        part is None or (isinstance(part, str) and part in named[role]) for part, role in given
    )


def _facts(design: SampleDesign, sizes: Codes, described: bool) -> dict[str, Any]:
    def name(part: Any) -> str | None:
        return part if part is None or isinstance(part, str) else "given"

    used = sizes[sizes > 0]
    return {
        "source": "description" if described else "given",
        "weights": name(design.weights),
        "strata": name(design.strata),
        "n_strata": len(used) if design.strata is not None else None,
        "clusters": name(design.clusters),
        "n_clusters": int(used.sum()) if design.clusters is not None else None,
        "population": name(design.population),
        "lonely": design.lonely,
        "n_lonely": int((used == 1).sum()),
    }


def _notes(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return sentences on the design; numbers of strata and clusters are those of the sample."""
    parts = [
        f"{what} {'' if facts[what] == 'given' else facts[what]}".strip()
        + (f" ({facts[f'n_{what}']:,})" if f"n_{what}" in facts else "")
        for what in ("weights", "strata", "clusters", "population")
        if facts[what] is not None
    ]
    source = "Design from the description" if facts["source"] == "description" else "Design"
    notes = [f"{source}: {', '.join(parts)}; variance by linearisation."]
    if facts["n_lonely"] and facts["lonely"] != "fail" and facts["strata"] is not None:
        notes.append(f"Strata with one cluster: {facts['n_lonely']:,}, lonely = {facts['lonely']}.")
    return tuple(notes)
