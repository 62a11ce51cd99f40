"""A study: its methods, surveys, mechanisms and replications, read from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tabsoda.bench.cases import Mining, SurveyCase
from tabsoda.bench.gates import Track
from tabsoda.bench.masking import DEFAULT_RATE, Mechanism
from tabsoda.bench.methods.contract import SkipView
from tabsoda.bench.studies.cells import OWN_VIEW, CellSettings, method_factory, mining_of
from tabsoda.errors import InputError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MethodEntry(_Strict):
    """A method of a study, with optional restrictions on where it runs.

    Attributes
    ----------
    name : str
        Of the registry, or ``"package.module:factory"``.
    label : str
        The name shown in tables; the method's own name if not given.
    options : dict
    surveys, mechanisms, replications, tracks, skip_views
        Restrict those of the study, for slow methods.
    """

    name: str
    label: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    surveys: tuple[str, ...] | None = None
    mechanisms: tuple[Mechanism, ...] | None = None
    replications: int | None = Field(default=None, ge=1)
    tracks: tuple[Track, ...] | None = None
    skip_views: tuple[SkipView, ...] | None = None


class Study(_Strict):
    """A grid of surveys, mechanisms, replications, methods, skip views and tracks.

    Attributes
    ----------
    name : str
    surveys : tuple of str
        Folders of surveys; any name if the data are given directly.
    methods : tuple of MethodEntry
    mechanisms, tracks, skip_views
    replications : int
    rate : float
        Share of answers to hide.
    rows, columns : int or None
        At most this many of each survey.
    seed : int
    sanity_check : bool

    Examples
    --------
    >>> study = Study(surveys=("demo",), methods=({"name": "mode"},), replications=2)
    >>> study.mechanisms[0].value, study.rate
    ('mcar', 0.3)
    """

    name: str = "study"
    surveys: tuple[str, ...] = Field(min_length=1)
    methods: tuple[MethodEntry, ...] = Field(min_length=1)
    mechanisms: tuple[Mechanism, ...] = tuple(Mechanism)
    tracks: tuple[Track, ...] = (Track.RESOLVED,)
    skip_views: tuple[SkipView, ...] = (SkipView.LEVEL,)
    replications: int = Field(default=5, ge=1)
    rate: float = Field(default=DEFAULT_RATE, gt=0, lt=1)
    rows: int | None = Field(default=None, ge=10)
    columns: int | None = Field(default=None, ge=2)
    seed: int = 0
    sanity_check: bool = True

    @property
    def minings(self) -> tuple[Mining, ...]:
        """The ways in which skips are mined before cells are hidden, each once."""
        asked = (mining_of(entry.name, entry.options) for entry in self.methods)
        return tuple(dict.fromkeys(one for one in asked if one is not None))

    def restricted(self, names: Sequence[str]) -> Study:
        """Return the study with only these methods, by name or label; ``all`` keeps them all."""
        if "all" in names:
            return self
        known = {name for entry in self.methods for name in (entry.name, entry.label) if name}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError(
                f"The study '{self.name}' has no such method",
                found=", ".join(unknown),
                expected=f"some of {', '.join(sorted(known))}",
            )
        kept = tuple(entry for entry in self.methods if {entry.name, entry.label} & set(names))
        return self.model_copy(update={"methods": kept})

    def cells(self, cases: Mapping[str, SurveyCase]) -> list[CellSettings]:
        """Return the cells of the grid, one whole replication after another.

        An interrupted run has then compared all methods on the completed replications.
        """
        fingerprints = {name: case.fingerprint for name, case in cases.items()}
        built = [method_factory(e.name)(**e.options) for e in self.methods]
        for entry, method in zip(self.methods, built, strict=True):
            if not all(hasattr(method, part) for part in ("name", "knows_skips", "impute")):
                raise InputError(
                    f"'{entry.name}' does not return an imputation method",
                    found=type(method).__name__,
                    expected="an object with name, knows_skips and impute",
                )
        labelled = [
            (entry, entry.label or method.name, self._views(entry, knows_skips=method.knows_skips))
            for entry, method in zip(self.methods, built, strict=True)
        ]
        _check_labels([label for _, label, _ in labelled])
        return [
            CellSettings(
                survey,
                fingerprints[survey],
                mechanism.value,
                replication,
                entry.name,
                label,
                entry.options,
                view,
                track.value,
                self.seed,
                self.rate,
            )
            for replication in range(self.replications)
            for survey in self.surveys
            for mechanism in self.mechanisms
            for track in self.tracks
            for entry, label, views in labelled
            if _runs(entry, survey, mechanism, track, replication)
            for view in views
        ]

    def _views(self, entry: MethodEntry, *, knows_skips: bool) -> tuple[str, ...]:
        if knows_skips:
            return (OWN_VIEW,)
        return tuple(view.value for view in entry.skip_views or self.skip_views)


def _check_labels(labels: list[str]) -> None:
    """Raise if two methods would write to the same folders."""
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise InputError(
            "Two methods have the same name",
            found=repr(repeated[0]),
            expected="a different name for each",
            next_step="Give one of them a label in a study file",
        )


def _runs(
    entry: MethodEntry, survey: str, mechanism: Mechanism, track: Track, replication: int
) -> bool:
    return (
        (entry.surveys is None or survey in entry.surveys)
        and (entry.mechanisms is None or mechanism in entry.mechanisms)
        and (entry.tracks is None or track in entry.tracks)
        and (entry.replications is None or replication < entry.replications)
    )


def load_study(path: Path) -> Study:
    """Read a study file."""
    if not path.is_file():
        raise InputError(f"The study '{path}' does not exist", next_step="Check the path")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The study '{path}' is not valid TOML", found=str(error)) from error
    return make_study(content, f"The study '{path.name}'")


def make_study(content: Mapping[str, Any], where: str = "The study") -> Study:
    """Validate a study's settings; the error names the first invalid one."""
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        others = error.error_count() - 1
        is_absent = first["type"] == "missing"
        raise InputError(
            f"{where} lacks the setting '{place}'"
            if is_absent
            else f"{where} has an invalid setting: '{place}'",
            found=None if is_absent else repr(first["input"])[:80],
            expected=None if is_absent else first["msg"].removeprefix("Input should be "),
            next_step=f"{others} more settings are invalid" if place and others else None,
        ) from error


def cases_of(study: Study, tables: Iterator[tuple[str, Any]]) -> dict[str, SurveyCase]:
    """Cut each survey's table to the study's size and find its gates."""
    from tabsoda.datasets.survey_folder import sample_table

    cases = {}
    for name, table in tables:
        cut = sample_table(table, rows=study.rows, columns=study.columns, seed=study.seed)
        cases[name] = SurveyCase.of(name, cut, mine=study.minings)
    return cases


def tables_in(study: Study, folder: Path) -> Iterator[tuple[str, Any]]:
    """Read the surveys of a study from a folder of survey folders, one at a time."""
    from tabsoda.datasets.survey_folder import load_survey_folder

    for name in study.surveys:
        yield name, load_survey_folder(folder / name).table
