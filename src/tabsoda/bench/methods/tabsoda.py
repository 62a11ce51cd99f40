"""TabSODA and its variants as methods under comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.contract import Estimates, ShareDone, SkipView, without_skips
from tabsoda.bench.methods.filling import usual_answers
from tabsoda.bench.methods.point_estimates import level_shares, within_answers
from tabsoda.engines import AnySettings, fit_engine, settings_for
from tabsoda.errors import InputError
from tabsoda.progress import Progress
from tabsoda.skips.miner import SkipMiner
from tabsoda.table import CodedTable


class TabSODA:
    """The engine, with the skips of the table.

    Parameters
    ----------
    quality : {"fast", "balanced", "best"}
    preset : str, optional
        A preset of the paper's engine; see :class:`tabsoda.PaperSettings`.
    settings : dict of dict, optional
        Overrides of its settings.
    device : str

    Examples
    --------
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(200, n_columns=10).true_table
    >>> method = TabSODA(settings={"training": {"max_steps": 10}}, device="cpu")
    >>> estimates = method.impute(table, seed=1, skip_view=SkipView.BLIND)
    >>> bool(np.isfinite(estimates.mode[table.states.missing]).all())
    True
    """

    name = "TabSODA"
    knows_skips = True
    # The settings that the variant changes, for every preset.
    variant: dict[str, dict[str, Any]] = {}  # noqa: RUF012

    def __init__(
        self,
        *,
        quality: str = "balanced",
        preset: str | None = None,
        settings: dict[str, dict[str, Any]] | None = None,
        device: str = "auto",
    ) -> None:
        self.start = preset or quality
        self.changes = settings or {}
        self.settings_for(1, 1)
        self.device = device

    def settings_for(self, n_rows: int, n_columns: int) -> AnySettings:
        """Return the settings for a table of this size."""
        changed = settings_for(self.start, n_rows, n_columns, self.changes)
        return changed.replace(**self.variant)

    def impute(
        self,
        table: CodedTable,
        seed: int,
        skip_view: SkipView = SkipView.LEVEL,
        progress: ShareDone | None = None,
    ) -> Estimates:
        """Estimate every missing cell; ``skip_view`` changes nothing here."""
        shown = self.shown(table)
        settings = self.settings_for(*table.shape)
        update = None if progress is None else _as_share(progress)
        engine = fit_engine(
            shown, settings, seed=seed, device=self.device, draws=False, progress=update
        )
        # As for every method, see within_answers.
        cells = engine.impute(shown, whole_numbers=False)
        # Cells that the engine does not impute get the column's mode or mean, so all are scored.
        mode = np.where(table.states.answered, table.values, usual_answers(table))
        median = mode.copy()
        mode[cells.rows, cells.positions] = cells.mode
        median[cells.rows, cells.positions] = cells.median
        probabilities = engine.level_probabilities(shown)
        for position, given in probabilities.items():
            unknown = np.isnan(given).any(axis=1)
            answers = table.values[table.states.answered[:, position], position]
            given[unknown] = level_shares(answers, given.shape[1])
        return within_answers(table, Estimates(mode, median, probabilities))

    def shown(self, table: CodedTable) -> CodedTable:
        """Return the table with the skips that the method uses."""
        return table


def _as_share(progress: ShareDone) -> Progress:
    """Turn the engine's counts into the completed share of the work."""

    def update(done: int, total: int, what: str) -> None:
        progress(done / max(total, 1))

    return update


class TabSODAN(TabSODA):
    """TabSODA-N: the paper's engine with ordinals as bits, like nominals.

    Parameters
    ----------
    preset : {"small", "path", "nsduh"}
    settings, device
        As in :class:`TabSODA`.
    """

    name = "TabSODA-N"
    variant = {"encoding": {"ordinal": "bits"}}  # noqa: RUF012

    def __init__(
        self,
        *,
        preset: str = "small",
        settings: dict[str, dict[str, Any]] | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__(preset=preset, settings=settings, device=device)


class TabSODASkip(TabSODA):
    """TabSODA+SKIP: the skips are mined; those of the table are not used.

    Missing cells that a mined rule marks as skipped get the column's mode or mean.

    Parameters
    ----------
    mined : ndarray of bool, shape (n_rows, n_columns), optional
        A mask mined before cells were hidden, as a comparison requires: hidden cells are blanks
        that no rule explains. Answered cells in it are ignored. If not given, skips are mined from
        the table itself.
    screen : {"purity", "paper"}
    quality, preset, settings, device
        As in :class:`TabSODA`.
    """

    name = "TabSODA+SKIP"

    def __init__(
        self,
        *,
        mined: NDArray[np.bool_] | None = None,
        screen: str = "purity",
        quality: str = "balanced",
        preset: str | None = None,
        settings: dict[str, dict[str, Any]] | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__(quality=quality, preset=preset, settings=settings, device=device)
        self.mined = mined
        self.miner = SkipMiner(screen=screen)

    def shown(self, table: CodedTable) -> CodedTable:
        """Return the table with the mined skips."""
        blank = without_skips(table)
        if self.mined is None:
            return blank.with_states(self.miner.mine(blank).states)
        if self.mined.shape != table.shape:
            raise InputError(
                "The mined mask does not have the shape of the table",
                found=str(self.mined.shape),
                expected=str(table.shape),
            )
        return blank.with_states(blank.states.with_skips(self.mined & ~blank.states.answered))
