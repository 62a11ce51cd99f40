"""The result of imputing: observed answers once, imputed cells per draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.edits.record import EditRecord
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.imputed_cells import ImputedCells
from tabsoda.results.integer_types import fit_integer_types
from tabsoda.results.manifest import RunRecord
from tabsoda.results.restore import restore
from tabsoda.routing.record import RoutingRecord
from tabsoda.schema.column import ColumnRole
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    from tabsoda.analysis.groups import PooledGroups
    from tabsoda.analysis.pooled import PooledEstimates
    from tabsoda.analysis.sample_design import DesignChoice
    from tabsoda.analysis.sensitivity_analysis import Sensitivity
    from tabsoda.imputer import TabSODAImputer

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Imputations:
    """A survey with its missing answers imputed, once as a point estimate and ``m`` times as draws.

    Attributes
    ----------
    table : CodedTable
        The answers and states before imputation.
    cells : ImputedCells
    survey : Survey or None
        The source of the table; None if it was a plain array.
    original : frame, array or None
        The input data frame or array, whose kind, index and types are restored; None for a file
        or an array of float64.
    settings : dict
        All settings of the run.
    history : list of dict
        Losses and movement of the imputed table, one entry per round.
    events : EventLog
    routing : RoutingRecord or None
        How missing gates and the questions that depend on them were imputed; None without rules.
    run : RunRecord or None
        Options, files and imputer of the run, for :meth:`save`; None if the cells were given.
    edits : EditRecord or None
        What was changed to satisfy edits, and what could not be; None without edits.
    """

    table: CodedTable
    cells: ImputedCells
    survey: Survey | None = None
    original: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    events: EventLog = field(default_factory=EventLog)
    routing: RoutingRecord | None = None
    run: RunRecord | None = None
    edits: EditRecord | None = None

    def __post_init__(self) -> None:
        # Done here and not when tables are restored, so that values and completed tables agree.
        cells = fit_integer_types(self.cells, self.table, self.survey, self.original, self.events)
        object.__setattr__(self, "cells", cells)

    def __len__(self) -> int:
        return self.cells.draws.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self.complete(number) for number in range(1, len(self) + 1))

    def values(self, number: int) -> Values:
        """Return draw ``number`` (from 1) as coded values, NaN at skips; shape (n, d)."""
        whole = isinstance(number, int | np.integer)
        if not whole or not 1 <= number <= len(self):
            raise InputError(
                "This imputation does not exist",
                found=str(number),
                expected=f"a whole number from 1 to {len(self)}" if len(self) else "none was drawn",
            )
        return self._filled(self.cells.draws[number - 1])

    def point_values(self, ordinal: str = "mode") -> Values:
        """Return the point estimate as coded values, NaN at skips; shape (n, d).

        Parameters
        ----------
        ordinal : {"mode", "median"}
            As in :meth:`point`.
        """
        if ordinal not in ("mode", "median"):
            raise InputError(
                "Unknown point estimate",
                found=repr(ordinal),
                expected="'mode' (levels by mode, numbers by mean) or 'median' (ordinals and"
                " numbers by median)",
            )
        return self._filled(self.cells.mode if ordinal == "mode" else self.cells.median)

    def skipped_in(self, number: int) -> NDArray[np.bool_]:
        """Return the skips of draw ``number`` (from 1), shape (n, d).

        The skips of the table, and the missing cells that are skipped because of a drawn gate.
        """
        return self.table.states.skipped | self._newly_skipped(self.values(number))

    def complete(self, number: int | str, *, include_observed: bool = False) -> Any:
        """Return draw ``number`` (from 1) as a table of the same kind as the input.

        Parameters
        ----------
        number : int or "long"
            ``"long"`` stacks all draws in one polars table with ``.imp`` and ``.id`` (the row),
            as in R's mice.
        include_observed : bool
            In the long table, include the observed table first, as number 0.
        """
        if isinstance(number, str) and number == "long":
            from tabsoda.results.stacking import long_table

            return long_table(self, include_observed=include_observed)
        return self._restored(self.values(number))  # type: ignore[arg-type]

    def apply(self, analysis: Callable[[Any], Any]) -> list[Any]:
        """Call a function with every completed table, and return its results.

        In these tables every cell without an answer is blank, because the code of a skip, such as
        -1, must not enter calculations.

        Parameters
        ----------
        analysis : callable
            Takes one table, of the same kind as the input.
        """
        from tabsoda.results.stacking import without_codes

        numbers = range(1, len(self) + 1)
        return [analysis(self._in_input_form(without_codes(self, number))) for number in numbers]

    def pool(
        self,
        model: str | Callable[[Any], Any],
        *,
        family: str = "gaussian",
        weights: Any = None,
        where: Any = None,
        design: DesignChoice = "described",
        exponentiate: bool = False,
    ) -> PooledEstimates:
        """Analyse every draw and pool the results by Rubin's rules.

        Parameters
        ----------
        model : str or callable
            A formula, such as ``"income ~ age + C(region)"`` (see
            :func:`tabsoda.analysis.pooled_model`); or a function that takes a completed table
            and returns a fitted model, or a pair of estimates and variances.
        family : {"gaussian", "binomial", "poisson"}
            For a formula only, like the parameters below.
        weights : str, array or ReplicateWeights, optional
        where : str or array of bool, optional
            A subset, such as ``"age >= 18 and sex == 2"``.
        design : SampleDesign, "described" or None
            Weights, strata and clusters; by default the columns with these roles in the
            description. None for a simple random sample. A function does its own weighting.
        exponentiate : bool
            Show odds ratios or rate ratios.
        """
        from tabsoda.analysis import pool, pooled_model

        if isinstance(model, str):
            return pooled_model(
                self,
                model,
                family=family,
                weights=weights,
                where=where,
                design=design,
                exponentiate=exponentiate,
            )
        has_design = design is not None and design != "described"
        if weights is not None or where is not None or exponentiate or has_design:
            raise InputError(
                "The parameters weights, where, design and exponentiate only apply to formulas",
                next_step="Use them inside the function: its table has all columns of the survey",
            )
        pooled = pool(self.apply(model))
        if np.isfinite(pooled.complete_df):
            return pooled
        # A function may not report how many respondents it used: at most all of them.
        df = max(self.table.shape[0] - len(pooled.names), 1)
        return replace(pooled, complete_df=float(df))

    def pool_by(self, by: str, formula: str, **options: Any) -> PooledGroups:
        """Fit a model in every group of respondents and pool; a mapping from level to estimates.

        Parameters
        ----------
        by : str
            A categorical question, or a column with few values; groups are formed in every draw.
        formula : str
        **options
            As in :meth:`pool`. For means, shares and tables see :func:`tabsoda.analysis.pooled_by`.
        """
        from tabsoda.analysis import pooled_by, pooled_model

        return pooled_by(self, by, pooled_model, formula, **options)

    def export(self, to: str, folder: str | Path, *, force: bool = False) -> list[Path]:
        """Write all draws for another program; see :func:`tabsoda.exchange.export`.

        Parameters
        ----------
        to : {"stata", "r", "spss", "sas", "csv", "parquet"}
        folder : str or Path
        force : bool
            Overwrite an earlier export.
        """
        from tabsoda.exchange import export

        return export(self, to, folder, force=force)

    def save(
        self, folder: str | Path, *, report: bool = False, force: bool = False
    ) -> dict[str, Any]:
        """Write the result to a folder, as ``tabsoda impute`` does; return the manifest.

        Writes all tables, the fitted model, the settings and the manifest;
        :func:`tabsoda.load_result` reads them.

        Parameters
        ----------
        folder : str or Path
            Created if it does not exist; must be empty otherwise.
        report : bool
            Also write report.html and report.json.
        force : bool
            Overwrite an earlier result. Files that no run has written are never overwritten.
        """
        from tabsoda.results.saving import save_result

        return save_result(self, folder, report=report, force=force)

    def report(
        self,
        path: str | Path,
        *,
        imputer: TabSODAImputer | None = None,
        strata: Iterable[str] = (),
        suppress_below: int = 0,
        sensitivity: Iterable[Sensitivity] = (),
    ) -> dict[str, Any]:
        """Write an HTML report, and the same summary as JSON next to it; return the summary.

        Parameters
        ----------
        path : str or Path
            Ends in ``.html``.
        imputer : TabSODAImputer, optional
            Adds rules, routing and calibration; by default the imputer that made the result.
        strata : iterable of str
            Columns whose groups are also compared.
        suppress_below : int
            Withhold counts below this number, for a report to be published.
        sensitivity : iterable of Sensitivity
            Analyses of this result to show, from :func:`tabsoda.sensitivity`.
        """
        from tabsoda.report.report import write_report
        from tabsoda.results.manifest import result_manifest

        if imputer is None and self.run is not None:
            imputer = self.run.imputer
        return write_report(
            self,
            path,
            manifest=None if self.run is None else result_manifest(self, {}),
            imputer=imputer,
            strata=strata,
            suppress_below=suppress_below,
            sensitivity=sensitivity,
        )

    def _repr_html_(self) -> str:
        from tabsoda._internal.notebook import imputations_html

        return imputations_html(self)

    @property
    def weights(self) -> Any:
        """The columns described as weights, as a polars frame; None without a survey."""
        if self.survey is None:
            return None
        columns = self.survey.schema.of_role(ColumnRole.WEIGHT)
        return self.survey.frame.select([column.name for column in columns])

    @property
    def interactions(self) -> tuple[tuple[str, str], ...]:
        """Products and curves found in the answers and used for draws, as (question, term).

        ``("INCOME", "AGE:SEX")``: the effect of age on income differs by sex.
        ``("INCOME", "AGE:AGE")``: the effect of age is curved. Those that the imputer's parameter
        of this name requested for all questions are in :attr:`requested_interactions`.
        """
        return tuple(
            (str(event.column), ":".join(event.counts["questions"]))
            for event in self.events
            if event.kind == "interaction_in_draws"
        )

    @property
    def requested_interactions(self) -> tuple[str, ...]:
        """Terms in the regressions of all other questions, by the parameter ``interactions``."""
        return tuple(
            ":".join(event.counts["questions"])
            for event in self.events
            if event.kind == "interaction_requested"
        )

    def point(self, ordinal: str = "mode") -> Any:
        """Return the point estimate as a table of the same kind as the input.

        Parameters
        ----------
        ordinal : {"mode", "median"}
            ``"mode"``: the most probable level, which is correct most often; numbers by their mean,
            which minimises the squared error. ``"median"``: ordinals and numbers by their median,
            which minimises the absolute error. Nominals are the same in both.
        """
        return self._restored(self.point_values(ordinal))

    def counts(self) -> dict[str, int]:
        """Return how many cells were imputed, by column; some may be skipped in some draws."""
        counts = np.bincount(self.cells.positions, minlength=self.table.shape[1])
        return {name: int(count) for name, count in zip(self.table.names, counts, strict=True)}

    def _restored(self, values: Values) -> Any:
        skipped = self._newly_skipped(values)
        return self._in_input_form(restore(values, self.table, self.survey, skipped))

    def _in_input_form(self, table: Any) -> Any:
        if self.original is None:
            return table
        if isinstance(self.original, np.ndarray):
            values = table if self.survey is None else table.to_numpy()
            is_widened = values.dtype.kind == "f" and self.original.dtype.kind in "iu"
            return values if is_widened else values.astype(self.original.dtype)
        from tabsoda.reading.frames import like_input

        return like_input(table, self.original)

    def _newly_skipped(self, values: Values) -> NDArray[np.bool_]:
        """Return the imputed cells without an answer: those skipped because of a drawn gate."""
        cells = np.zeros(values.shape, dtype=bool)
        cells[self.cells.rows, self.cells.positions] = True
        return cells & np.isnan(values)

    def _filled(self, imputed: Values) -> Values:
        values = self.table.values.copy()
        values[self.cells.rows, self.cells.positions] = imputed
        return values
