"""How much a finding depends on why answers are missing.

Imputation assumes that those who did not answer resemble those who did, given their other answers.
A sensitivity analysis drops that: it shifts the imputed answers by a delta, pools again, and finds
the smallest shift at which the finding changes, the tipping point.

References
----------
Rubin, D. B. (1977). Formalizing subjective notions about the effect of nonrespondents in sample
surveys. Journal of the American Statistical Association, 72(359), 538-543.

Cro, S., Morris, T. P., Kenward, M. G. and Carpenter, J. R. (2020). Sensitivity analysis for
clinical trials with missing continuous outcome data using controlled multiple imputation: a
practical guide. Statistics in Medicine, 39(21), 2815-2842.
"""

from __future__ import annotations

import html
import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabsoda.analysis.models import pooled_model
from tabsoda.analysis.pooled import RATIOS, PooledEstimates
from tabsoda.analysis.shifted_edits import EditedShift, edits_of, keep_edits
from tabsoda.analysis.shifting import PlannedShift, find_gates, plan_shift, shifted_result
from tabsoda.analysis.shifts import Shift
from tabsoda.errors import InputError, InteractionWarning
from tabsoda.progress import Progress

if TYPE_CHECKING:
    import polars as pl

    from tabsoda.edits.edit_set import EditSet
    from tabsoda.results.imputations import Imputations
    from tabsoda.skips.rule_set import RuleSet

# Where the interval lies, compared with the value of the null hypothesis.
Finding = Literal["above", "below", "includes"]
# The grid step in which the finding changes is halved so often; the rest is interpolated.
_HALVINGS = 6
_MOST_POINTS = 400
_UNMOVED = (
    "The estimate is the same at every shift: the shifted answers are not part of the analysis."
)


@dataclass(frozen=True)
class SensitivityPoint:
    """The pooled estimate at one combination of shifts.

    Attributes
    ----------
    deltas : tuple of float
        One per shift.
    estimate, std_error, low, high, p_value : float
        On the scale of the model: for odds ratios, logarithms.
    finding : {"above", "below", "includes"}
        Where the interval lies, compared with the null value.
    n_shifted, n_moved_back : int
        Answers that were shifted, and those of them that were moved back, at least partly, to
        satisfy the edits of the description; summed over the draws.
    """

    deltas: tuple[float, ...]
    estimate: float
    std_error: float
    low: float
    high: float
    p_value: float
    finding: Finding
    n_shifted: int = 0
    n_moved_back: int = 0

    @property
    def moved_back(self) -> float:
        """The share of the shifted answers that were moved back."""
        return self.n_moved_back / self.n_shifted if self.n_shifted else 0.0


@dataclass(frozen=True)
class TippingPoint:
    """Where the finding changes along the first shift.

    Attributes
    ----------
    delta : float
        Interpolated between the ends.
    inner, outer : float
        The shift closest to it at which the finding still holds, and the one at which it does not.
    others : tuple of float
        The other shifts.
    finding : {"above", "below", "includes"}
        The finding beyond.
    """

    delta: float
    inner: float
    outer: float
    others: tuple[float, ...]
    finding: Finding


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A sensitivity analysis: estimates at every shift, and the tipping points.

    Attributes
    ----------
    term : str
        The estimate that the finding is about.
    kind : str
        As in :class:`~tabsoda.analysis.PooledEstimates`.
    null : float
        The value that the finding compares with, on the scale of the model.
    level : float
        Confidence level of the intervals.
    planned : tuple of PlannedShift
    reference : SensitivityPoint
        Without a shift.
    points : tuple of SensitivityPoint
        In increasing order of the shifts.
    tipping : tuple of TippingPoint
    notes, warnings : tuple of str
    formula : str
        Empty if the estimate is not that of a model.
    """

    term: str
    kind: str
    null: float
    level: float
    planned: tuple[PlannedShift, ...]
    reference: SensitivityPoint
    points: tuple[SensitivityPoint, ...]
    tipping: tuple[TippingPoint, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    formula: str = ""

    @property
    def is_ratio(self) -> bool:
        """Whether estimates are logarithms and shown as ratios."""
        return self.kind in RATIOS

    def curve(self, others: tuple[float, ...]) -> list[SensitivityPoint]:
        """Return the points with given other shifts, in the order of the first shift."""
        return [point for point in self.points if point.deltas[1:] == others]

    @property
    def curves(self) -> list[tuple[float, ...]]:
        """The combinations of the other shifts."""
        return list(dict.fromkeys(point.deltas[1:] for point in self.points))

    def table(self) -> pl.DataFrame:
        """Return a row per combination of shifts; a column for each shift."""
        import polars as pl

        names = [str(plan.shift) for plan in self.planned]
        shifts = {name: [p.deltas[k] for p in self.points] for k, name in enumerate(names)}
        kept = ("estimate", "std_error", "low", "high", "p_value", "finding", "moved_back")
        return pl.DataFrame(shifts | {one: [getattr(p, one) for p in self.points] for one in kept})

    def sentence(self) -> str:
        """Return the result in words, for the paper."""
        from tabsoda.analysis.sensitivity_text import paper_sentence

        return paper_sentence(self)

    def picture(self) -> str:
        """Return a picture of estimates and intervals by shift, as SVG."""
        from tabsoda.analysis.sensitivity_picture import draw_sensitivity

        return str(draw_sensitivity(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""

        def number(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        return {
            "formula": self.formula,
            "term": self.term,
            "kind": self.kind,
            "null": self.null,
            "level": self.level,
            "shifts": [
                {
                    "shift": str(plan.shift),
                    **asdict(plan.shift),
                    "imputed_answers": plan.n_cells,
                    "standard_deviation": plan.size,
                }
                for plan in self.planned
            ],
            "points": [
                {
                    "deltas": list(point.deltas),
                    "estimate": number(point.estimate),
                    "std_error": number(point.std_error),
                    "low": number(point.low),
                    "high": number(point.high),
                    "p_value": number(point.p_value),
                    "finding": point.finding,
                    "shifted": point.n_shifted,
                    "moved_back": point.n_moved_back,
                }
                for point in self.points
            ],
            "tipping_points": [
                {
                    "delta": point.delta,
                    "between": sorted((point.inner, point.outer)),
                    "other_shifts": list(point.others),
                    "finding": point.finding,
                }
                for point in self.tipping
            ],
            "sentence": self.sentence(),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Sensitivity:
        """Read what :meth:`to_dict` returned; its shifts cannot be applied again."""
        points = tuple(_read_point(one) for one in content["points"])
        return cls(
            content["term"],
            content["kind"],
            content["null"],
            content["level"],
            tuple(PlannedShift.from_dict(one) for one in content["shifts"]),
            next(point for point in points if not any(point.deltas)),
            points,
            tuple(_read_tip(one) for one in content["tipping_points"]),
            tuple(content["notes"]),
            tuple(content["warnings"]),
            content["formula"],
        )

    def __str__(self) -> str:
        from tabsoda.analysis.sensitivity_text import sensitivity_text

        return sensitivity_text(self)

    def _repr_html_(self) -> str:
        return f"{self.picture()}<pre>{html.escape(str(self))}</pre>"


def _read_point(content: Mapping[str, Any]) -> SensitivityPoint:
    names = ("estimate", "std_error", "low", "high", "p_value")
    return SensitivityPoint(
        deltas=tuple(content["deltas"]),
        finding=content["finding"],
        # Counts that a report withholds are None.
        n_shifted=content["shifted"] or 0,
        n_moved_back=content["moved_back"] or 0,
        **{name: np.nan if content[name] is None else content[name] for name in names},
    )


def _read_tip(content: Mapping[str, Any]) -> TippingPoint:
    inner, outer = sorted(content["between"], key=abs)
    others = tuple(content["other_shifts"])
    return TippingPoint(content["delta"], inner, outer, others, content["finding"])


def sensitivity(
    result: Imputations,
    estimate: str | Callable[[Imputations], PooledEstimates],
    shifts: str | Shift | Sequence[str | Shift],
    *,
    term: str | None = None,
    null: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
    within_range: bool = False,
    rules: RuleSet | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Sensitivity:
    """Shift imputed answers, pool again, and find where the finding changes.

    Parameters
    ----------
    result : Imputations
    estimate : str or callable
        A formula, or a function that takes a result and returns pooled estimates, such as
        ``lambda result: pooled_mean(result, "INCOME")``.
    shifts : str, Shift or sequence of them
        Such as ``"INCOME=-1..1"``; see :class:`Shift`. Of several shifts, all combinations are
        tried, and the tipping point is looked for along the first.
    term : str, optional
        The estimate that the finding is about, by name or label; by default the first one that is
        not an intercept.
    null : float
        The finding is whether the interval lies above this value, below it, or includes it. On the
        scale of the model: 0 for no effect, also for odds ratios.
    level : float
        Of the intervals.
    seed : int
        Seed of the random numbers that decide which categorical answers change.
    within_range : bool
        Keep shifted numbers within the range of the observed ones.
    rules : RuleSet, optional
        The routing rules, which name the questions that decide who is asked others; by default
        those of the imputer that made the result. Gates are also found from the skips.
    progress : callable, optional
        Called as ``progress(done, total, what)``.
    **options
        Of :func:`~tabsoda.analysis.pooled_model`, for a formula.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> from tabsoda import CodedTable, Column, ColumnKind, Imputations
    >>> from tabsoda.analysis import pooled_mean
    >>> from tabsoda.results import ImputedCells
    >>> values = np.r_[np.arange(1.0, 20.0), np.nan][:, None]
    >>> table = CodedTable.from_values((Column("age", ColumnKind.CONTINUOUS),), values)
    >>> cells = ImputedCells(np.array([19]), np.array([0]), np.array([[9.0], [11.0]]),
    ...                      np.array([10.0]), np.array([10.0]))
    >>> found = sensitivity(
    ...     Imputations(table, cells), lambda r: pooled_mean(r, "age"), "age=-20..0:10 units"
    ... )
    >>> [(point.deltas[0], round(point.estimate, 2)) for point in found.points]
    [(-20.0, 9.0), (-10.0, 9.5), (0.0, 10.0)]
    """
    given = [shifts] if isinstance(shifts, str | Shift) else list(shifts)
    wanted = [one if isinstance(one, Shift) else Shift.parse(one) for one in given]
    if not wanted:
        raise InputError("There is no shift", expected="a shift such as INCOME=-1..1")
    gates, edits = find_gates(result, rules), edits_of(result)
    planned = tuple(
        plan_shift(result, shift, seed=seed, within_range=within_range, gates=gates, edits=edits)
        for shift in wanted
    )
    null = float(null)
    grids = [shift.deltas.tolist() for shift in wanted]
    n_points = int(np.prod([len(grid) for grid in grids]))
    if n_points > _MOST_POINTS:
        raise InputError(
            "The shifts have too many combinations",
            found=f"{n_points:,}",
            expected=f"at most {_MOST_POINTS}",
            next_step="Give fewer shifts, or larger steps, such as INCOME=-1..1:0.5",
        )
    shifting = _Shifting(result, planned, gates, edits)
    run = _Run(shifting, estimate, options, term, null, level, progress, n_points)
    reference = run.at((0.0,) * len(planned))
    points = tuple(sorted((run.at(d) for d in itertools.product(*grids)), key=lambda p: p.deltas))
    others = list(dict.fromkeys(point.deltas[1:] for point in points))
    tipping = tuple(
        tip for rest in others for tip in _tipping_points(run, reference, grids[0], rest)
    )
    notes = dict.fromkeys(note for plan in planned for note in plan.notes)
    unmoved = all(
        (point.estimate, point.low, point.high)
        == (reference.estimate, reference.low, reference.high)
        for point in points
    )
    unused = (_UNMOVED,) if unmoved and len(points) > 1 else ()
    return Sensitivity(
        run.name(),
        run.first.kind,
        null,
        level,
        planned,
        reference,
        points,
        tipping,
        (*run.first.notes, *notes),
        (*run.first.warnings, *unused),
        estimate if isinstance(estimate, str) else "",
    )


@dataclass(frozen=True, eq=False)
class _Shifting:
    """Shifts of one result that keep its edits."""

    result: Imputations
    planned: tuple[PlannedShift, ...]
    gates: NDArray[np.bool_]
    edits: EditSet

    def at(self, deltas: tuple[float, ...]) -> EditedShift:
        shifted = shifted_result(self.result, self.planned, deltas)
        return keep_edits(self.edits, self.result, shifted, self.gates)


class _Run:
    """Estimates at shifts, each computed once."""

    def __init__(
        self,
        shifting: _Shifting,
        estimate: str | Callable[[Imputations], PooledEstimates],
        options: dict[str, Any],
        term: str | None,
        null: float,
        level: float,
        progress: Progress | None,
        n_points: int,
    ) -> None:
        self.shifting, self.estimate, self.options = shifting, estimate, options
        self.null, self.level = null, level
        self.progress, self.n_points = progress, n_points
        self.known: dict[tuple[float, ...], SensitivityPoint] = {}
        self.first = self._pooled(shifting.result)
        self.place = _place(self.first, term)

    def name(self) -> str:
        """Return the label of the estimate."""
        return self.first.label_texts[self.place]

    def at(self, deltas: tuple[float, ...]) -> SensitivityPoint:
        """Return the estimate at a combination of shifts."""
        if deltas not in self.known:
            if self.progress is not None:
                done = len(self.known)
                self.progress(done, max(self.n_points, done + 1), f"shift {deltas[0]:g}")
            shifted = self.shifting.at(deltas)
            pooled = self.first if not any(deltas) else self._pooled(shifted.result)
            if pooled.names != self.first.names:
                raise InputError(
                    "The shifted answers give other terms",
                    found=", ".join(sorted(set(pooled.names) ^ set(self.first.names))[:4]),
                    next_step="Merge rare levels, or choose a smaller shift",
                )
            self.known[deltas] = self._point(deltas, pooled, shifted)
        return self.known[deltas]

    def _pooled(self, result: Imputations) -> PooledEstimates:
        with warnings.catch_warnings():
            # In the warnings of the result, once and not for every shift.
            warnings.simplefilter("ignore", InteractionWarning)
            if isinstance(self.estimate, str):
                return pooled_model(result, self.estimate, **self.options)
            return self.estimate(result)

    def _point(
        self, deltas: tuple[float, ...], pooled: PooledEstimates, shifted: EditedShift
    ) -> SensitivityPoint:
        low, high = (float(end) for end in pooled.intervals(self.level)[self.place])
        finding: Finding = "includes"
        if low > self.null:
            finding = "above"
        elif high < self.null:
            finding = "below"
        numbers = (pooled.estimates, pooled.std_errors, pooled.p_values)
        estimate, error, p_value = (float(one[self.place]) for one in numbers)
        counts = shifted.n_shifted, shifted.n_moved_back
        return SensitivityPoint(deltas, estimate, error, low, high, p_value, finding, *counts)


def _place(pooled: PooledEstimates, term: str | None) -> int:
    """Return the position of the estimate that the finding is about."""
    if term is None:
        return next((k for k, name in enumerate(pooled.names) if name != "Intercept"), 0)
    for names in (pooled.names, pooled.label_texts):
        if term in names:
            return names.index(term)
    raise InputError(
        "The term is not in the model",
        found=repr(term),
        expected=", ".join(dict.fromkeys((*pooled.names, *pooled.label_texts))),
    )


def _tipping_points(
    run: _Run, reference: SensitivityPoint, grid: list[float], others: tuple[float, ...]
) -> list[TippingPoint]:
    """Find where the finding changes first, below and above a shift of 0."""
    start = run.at((0.0, *others))
    if start.finding != reference.finding:
        return [TippingPoint(0.0, 0.0, 0.0, others, start.finding)]
    found = []
    for side in (-1.0, 1.0):
        inner = 0.0
        for outer in sorted((delta for delta in grid if delta * side > 0), key=abs):
            if run.at((outer, *others)).finding != reference.finding:
                found.append(_refined(run, reference.finding, inner, outer, others))
                break
            inner = outer
    return found


def _refined(
    run: _Run, finding: Finding, inner: float, outer: float, others: tuple[float, ...]
) -> TippingPoint:
    for _ in range(_HALVINGS):
        middle = float(f"{(inner + outer) / 2:.12g}")
        if run.at((middle, *others)).finding == finding:
            inner = middle
        else:
            outer = middle
    ends = [_margin(run.at((delta, *others)), finding, run.null) for delta in (inner, outer)]
    span = ends[0] - ends[1]
    share = ends[0] / span if span > 0 else 0.5
    beyond = run.at((outer, *others)).finding
    return TippingPoint(float(inner + share * (outer - inner)), inner, outer, others, beyond)


def _margin(point: SensitivityPoint, finding: Finding, null: float) -> float:
    """Return how far the interval is from changing the finding; negative once it has changed."""
    if finding == "above":
        return point.low - null
    if finding == "below":
        return null - point.high
    return min(point.high - null, null - point.low)
