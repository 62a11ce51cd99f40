"""A request for a design of the sample, as the options of the commands say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tabsoda.analysis.linearisation import LONELY
from tabsoda.analysis.sample_design import SampleDesign
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations


@dataclass(frozen=True)
class DesignRequest:
    """The design of the sample; what is not given comes from the description.

    Attributes
    ----------
    weights, strata, clusters : str or None
        Columns.
    population : str or None
        A column or one number.
    nest : bool
    lonely : str
    no_design : bool
        Ignore the columns with the roles weight, stratum and cluster in the description.

    Examples
    --------
    >>> DesignRequest(weights="WT", nest=True).options()
    ['--weights', 'WT', '--nest']
    """

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    population: str | None = None
    nest: bool = False
    lonely: str = "fail"
    no_design: bool = False

    def of(self, result: Imputations) -> SampleDesign:
        """Return the design for a result."""
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

    def options(self) -> list[str]:
        """Return the options of a command that make this request."""
        words: list[str] = []
        for name in ("weights", "strata", "clusters", "population"):
            value = getattr(self, name)
            words += [f"--{name}", value] if value is not None else []
        words += ["--nest"] if self.nest else []
        words += ["--lonely", self.lonely] if self.lonely != "fail" else []
        return [*words, *["--no-design"] * self.no_design]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> DesignRequest:
        """Read a request from JSON; raise InputError if it is not one."""
        known = {one.name: one.default for one in fields(cls)}
        is_mapping = isinstance(content, Mapping)
        values = {**known, **(content if is_mapping else {})}
        texts = [values[name] for name in ("weights", "strata", "clusters", "population")]
        readable = (
            is_mapping
            and set(values) == set(known)
            and all(text is None or (isinstance(text, str) and text) for text in texts)
            and all(isinstance(values[name], bool) for name in ("nest", "no_design"))
            and values["lonely"] in LONELY
        )
        if not readable:
            raise InputError(
                "The design cannot be read",
                found=repr(content)[:120],
                expected="weights, strata, clusters, population, nest, lonely, no_design",
            )
        return cls(**values)
