"""Check that a method works: it must beat the mode and the mean on the embedded survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tabsoda.bench.cases import Mining, SurveyCase
from tabsoda.bench.studies.cells import OWN_VIEW, CellSettings, mining_of, run_cell
from tabsoda.errors import TabSODAError

_ROWS, _COLUMNS, _SEED = 800, 25, 11
_RATE = 0.25
_REFERENCE = "mode"


class FailedCheckError(TabSODAError):
    """A method does not beat mode and mean."""


@dataclass(frozen=True)
class SanityCheck:
    """The comparison of a method with mode and mean on the embedded survey.

    A study does not start if one of its methods fails this check, because a comparison with a
    broken method is meaningless.

    Attributes
    ----------
    label : str
    accuracy, mode_accuracy : float
        Share of categorical cells estimated correctly; must exceed that of the mode.
    rmse, mean_rmse : float
        Standardised error of numbers; must be below that of the mean.
    """

    label: str
    accuracy: float
    mode_accuracy: float
    rmse: float
    mean_rmse: float

    @property
    def passed(self) -> bool:
        """Whether the method beats the mode and the mean."""
        return self.accuracy > self.mode_accuracy and self.rmse < self.mean_rmse

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary."""
        return asdict(self) | {"passed": self.passed}

    def __str__(self) -> str:
        return (
            f"{self.label}: accuracy {self.accuracy:.3f} (mode {self.mode_accuracy:.3f}), "
            f"RMSE {self.rmse:.3f} (mean {self.mean_rmse:.3f})"
        )


def check_method(
    method: str,
    label: str = "",
    options: Mapping[str, Any] | None = None,
    skip_view: str = OWN_VIEW,
) -> SanityCheck:
    """Run a method on the embedded survey, a quarter of its answers hidden at random.

    Parameters
    ----------
    method : str
        As in :class:`~tabsoda.bench.studies.cells.CellSettings`.
    label : str
    options : mapping, optional
    skip_view : str

    Returns
    -------
    SanityCheck

    Examples
    --------
    >>> check_method("mode").passed
    False
    """
    case = _embedded_case(mining_of(method, options or {}))
    ours = _metrics(case, method, label or method, dict(options or {}), skip_view)
    reference = _metrics(case, _REFERENCE, _REFERENCE, {}, OWN_VIEW)
    return SanityCheck(
        label or method,
        ours["categorical_accuracy"],
        reference["categorical_accuracy"],
        ours["rmse"],
        reference["rmse"],
    )


def is_reference(method: str) -> bool:
    """Whether a method is the reference that the others must beat."""
    return method == _REFERENCE


def _embedded_case(mining: Mining | None) -> SurveyCase:
    from tabsoda.datasets.synthetic_survey import make_survey

    table = make_survey(n_rows=_ROWS, n_columns=_COLUMNS, seed=_SEED).true_table
    return SurveyCase.of("embedded", table, mine=() if mining is None else (mining,))


def _metrics(
    case: SurveyCase, method: str, label: str, options: dict[str, Any], skip_view: str
) -> dict[str, Any]:
    settings = CellSettings(
        case.name, "", "mcar", 0, method, label, options, skip_view, seed=_SEED, rate=_RATE
    )
    metrics: dict[str, Any] = run_cell(case, settings)["metrics"]["all"]
    return metrics
