"""``impute_file``: from a survey file to a result folder, like ``tabsoda impute``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabsoda._internal.files import file_hash
from tabsoda._internal.folder_lock import hold_folder
from tabsoda._internal.write_errors import keeping_in
from tabsoda.errors import InputError
from tabsoda.imputer import TabSODAImputer
from tabsoda.imputer.checkpoint import KEPT_MODEL, load_kept, save_whole
from tabsoda.imputer.parameters import check_parameters
from tabsoda.imputer.plan import ImputationPlan, plan_imputation
from tabsoda.imputer.run_identity import imputer_identity
from tabsoda.progress import Progress
from tabsoda.results.imputations import Imputations
from tabsoda.results.rehearsal import rehearse
from tabsoda.results.run_folder import check_folder, claim_folder
from tabsoda.results.saving import write_result
from tabsoda.survey import Survey

# Called with the name of a stage; the context manager yields a progress callback.
Stages = Callable[[str], AbstractContextManager[Progress]]


@contextmanager
def _quiet(stage: str) -> Iterator[Progress]:
    """Show no progress."""
    yield lambda done, total, what: None


@dataclass(frozen=True)
class SurveyFiles:
    """The files of a survey, and how they are read; as in :func:`tabsoda.read_survey`.

    Attributes
    ----------
    data : path
    description : Schema, path, list of dict or None
        The imputer's description is used if None.
    codebook, skip_mask : path or None
    unlisted : {"error", "missing"}
    """

    data: str | Path
    description: Any = None
    codebook: str | Path | None = None
    skip_mask: str | Path | None = None
    unlisted: str = "error"

    def __post_init__(self) -> None:
        for path in self.paths.values():
            if not path.is_file():
                raise InputError(f"The file '{path}' does not exist", next_step="Check its name")

    @property
    def paths(self) -> dict[str, Path]:
        """The files to read."""
        named = {
            "data": self.data,
            "survey": self.description,
            "codebook": self.codebook,
            "skip_mask": self.skip_mask,
        }
        return {name: Path(one) for name, one in named.items() if isinstance(one, str | Path)}

    def identity(self) -> dict[str, Any]:
        """Return plain values that are equal for equal inputs."""
        hashes = {name: file_hash(path) for name, path in self.paths.items()}
        return hashes | {"unlisted": self.unlisted}

    def prepare(self, imputer: TabSODAImputer, progress: Stages) -> Survey:
        """Read the survey and determine the state of every cell."""
        from tabsoda.reading import read_survey

        is_fitted = hasattr(imputer, "engine_")
        own = imputer.schema_ if is_fitted else imputer.description
        survey = read_survey(
            self.data,
            own if self.description is None else self.description,
            codebook=self.codebook,
            skip_mask=self.skip_mask,
            unlisted=self.unlisted,
        )
        if is_fitted or imputer.skips != "mine":
            return imputer.prepare(survey)
        with progress("Mining") as report:
            return imputer.prepare(survey, progress=report)


def plan_file(
    data: str | Path,
    imputer: TabSODAImputer,
    *,
    m: int = 5,
    progress: Stages | None = None,
    **reading: Any,
) -> ImputationPlan:
    """Return what :func:`impute_file` would impute and its cost; writes nothing.

    Parameters
    ----------
    data, imputer, m, progress, **reading
        As in :func:`impute_file`.
    """
    if not hasattr(imputer, "engine_"):
        check_parameters(imputer)
    survey = SurveyFiles(data, **reading).prepare(imputer, progress or _quiet)
    return plan_imputation(imputer, survey, m)


def impute_file(
    data: str | Path,
    imputer: TabSODAImputer,
    folder: str | Path,
    *,
    m: int = 5,
    report: bool = True,
    force: bool = False,
    announce: Callable[[ImputationPlan], None] | None = None,
    progress: Stages | None = None,
    **reading: Any,
) -> Imputations:
    """Impute a survey file and write the result to a folder, as ``tabsoda impute`` does.

    After an interruption, the same call continues from the last finished stage or draw. A trial
    result is written and read back before the fit, so that errors in writing show up early.

    Parameters
    ----------
    data : path
    imputer : TabSODAImputer
        Fitted first unless it is already fitted.
    folder : path
        Where all tables, the model, the settings, the manifest and the report are written;
        :func:`tabsoda.load_result` reads it.
    m : int
        Number of draws.
    report : bool
        Also write report.html and report.json.
    force : bool
        Overwrite the files of an earlier run in the folder.
    announce : callable, optional
        Called with the plan before the long work starts.
    progress : callable, optional
        Called with the name of a stage; returns a context manager that yields the callback
        ``progress(done, total, what)``.
    **reading
        ``description``, ``codebook``, ``skip_mask`` and ``unlisted`` of
        :func:`tabsoda.read_survey`. Without a description, the imputer's is used.

    Examples
    --------
    >>> import tempfile
    >>> from tabsoda.datasets import make_survey
    >>> settings = {"training": {"max_steps": 20}, "trees": {"effort": "none"}}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     paths = make_survey(n_rows=200, n_columns=10).write(place)
    ...     imputer = TabSODAImputer(settings=settings, description=f"{place}/survey.toml")
    ...     result = impute_file(f"{place}/survey.csv", imputer, f"{place}/out", m=1, report=False)
    ...     sorted(path.name for path in Path(f"{place}/out").glob("*.json"))
    ['manifest.json', 'settings.json']
    """
    stages, root, files = progress or _quiet, Path(folder), SurveyFiles(data, **reading)
    if not hasattr(imputer, "engine_"):
        check_parameters(imputer)
    identity = files.identity() | imputer_identity(imputer, root)
    inputs = [*files.paths.values(), *_paths_of(imputer)]
    check_folder(root, inputs, identity, force=force)
    survey = files.prepare(imputer, stages)
    if announce is not None:
        announce(plan_imputation(imputer, survey, m))
    with hold_folder(root):
        # Another run may have finished in the meantime.
        check_folder(root, inputs, identity, force=force)
        checkpoint = claim_folder(root, identity)
        settings = imputer.settings_for(*survey.table.shape).to_dict()
        rehearse(survey, root, m, settings=settings, rules=survey.rules)
        with keeping_in(root):
            _fit(imputer, survey, checkpoint, stages)
            with stages("Imputing") as update:
                result = imputer.impute(survey, m, checkpoint=checkpoint / "draws", progress=update)
        manifest = write_result(result, root)
        if report:
            from tabsoda.report.report import PAGE, write_report

            page = root / PAGE
            with stages("Reporting") as update:
                write_report(result, page, manifest=manifest, imputer=imputer, progress=update)
    return result


def _paths_of(imputer: TabSODAImputer) -> list[Path]:
    """Return the files named in the imputer's parameters."""
    named = (imputer.description, imputer.rules)
    return [Path(one) for one in named if isinstance(one, str | Path)]


def _fit(imputer: TabSODAImputer, survey: Survey, checkpoint: Path, stages: Stages) -> None:
    """Fit the imputer unless it is fitted, or load the fit of an earlier start of the same run."""
    if hasattr(imputer, "engine_") or load_kept(imputer, checkpoint / KEPT_MODEL, survey):
        return
    with stages("Fitting") as update:
        imputer.fit(survey, checkpoint=checkpoint, progress=update)
    save_whole(imputer, checkpoint / KEPT_MODEL, checkpoint)
